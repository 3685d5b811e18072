// Verdigraph as one of the two sides: a graph in a store of its own, and the answers of the engine to queries.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ExecutionError, type ExecutionErrorCode } from '../../src/engine/errors.ts'
import { compileRowsQuery, type ResultValue } from '../../src/engine/rows-query.ts'
import { isTemporal } from '../../src/engine/value/temporal/temporal.ts'
import { Float } from '../../src/kernel/float.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import type { Rules } from '../support/store-engine.ts'
import { type ElementNumbers, type JudgedGraph, writeJudgedGraph } from './judge-graph.ts'
import { BeyondLimits, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'
import { ElementNumber, JudgedPath, type JudgedValue } from './judged-value.ts'

/** One graph with the engine that answers on it. */
export interface EngineSide {
  /** Throws BeyondLimits beyond the limits of a query. */
  answer(query: JudgedQuery, rules?: Rules): JudgedOutcome
  close(): Promise<void>
}

/** Steps of one query. */
const STEPS_MAX = 5_000_000

/** Opens a store in a temporary folder with the graph. */
export async function openEngineSide(graph: JudgedGraph, stepsMax = STEPS_MAX): Promise<EngineSide> {
  const limits = { stepsMax, timeMs: 20_000 }
  const folder = await mkdtemp(join(tmpdir(), 'verdigraph-judge-'))
  // Short chunks turn the lists of small graphs into long ones.
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 3 })
  const close = async (): Promise<void> => {
    await environment.close()
    await rm(folder, { recursive: true, force: true })
  }
  let numbers: ElementNumbers
  try {
    numbers = await environment.write((batch) => writeJudgedGraph(graph, batch))
  } catch (fault) {
    await close()
    throw fault
  }
  const answer = (query: JudgedQuery, rules: Rules = 'on'): JudgedOutcome => {
    const compiled = compileRowsQuery(query.text, { rules })
    if (!compiled.ok) {
      const message = compiled.error.map((issue) => `${issue.code}: ${issue.message}`).join('; ')
      return { error: { phase: 'compile', kind: 'syntax', message } }
    }
    const snapshot = environment.snapshot()
    try {
      const { columns, rows } = compiled.value.run({ snapshot, parameters: query.parameters, limits })
      return { error: null, columns, rows: rows.map((row) => row.map((cell) => ofResult(cell, numbers))) }
    } catch (fault) {
      if (!(fault instanceof ExecutionError)) throw fault
      if (fault.code === 'budget')
        throw new BeyondLimits(
          fault.subject === 'decisionTimeMs' ? 'timed out' : 'too large',
          `Verdigraph: ${fault.message}`,
        )
      return { error: { phase: 'run', kind: fault.code satisfies ExecutionErrorCode, message: fault.message } }
    } finally {
      snapshot.close()
    }
  }
  return { answer, close }
}

/** A value of a row in the form that is compared. */
export function ofResult(value: ResultValue, numbers: ElementNumbers): JudgedValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'bigint')
    return value
  if (typeof value === 'number') return BigInt(value)
  if (value instanceof Float) return value.value
  if (isTemporal(value)) return value
  if (Array.isArray(value)) return (value as readonly ResultValue[]).map((item) => ofResult(item, numbers))
  if (value instanceof Map)
    return new Map(
      [...(value as ReadonlyMap<string, ResultValue>)].map(([key, item]) => [key, ofResult(item, numbers)]),
    )
  const element = value as Extract<ResultValue, { kind: 'node' | 'relationship' | 'path' }>
  switch (element.kind) {
    case 'node':
      return new ElementNumber('node', numbers.nodes.get(element.id)!)
    case 'relationship':
      return new ElementNumber('relationship', numbers.relationships.get(element.id)!)
    case 'path':
      return new JudgedPath(
        element.nodes.flatMap((node, index) => {
          const next = element.relationships[index]
          const number = new ElementNumber('node', numbers.nodes.get(node.id)!)
          return next ? [number, new ElementNumber('relationship', numbers.relationships.get(next.id)!)] : [number]
        }),
      )
  }
}
