// Neo4j as the other side. A graph exists only within a transaction that is rolled back, so that several programs can share one
// server.
import neo4j, { type Driver } from 'neo4j-driver-lite'
import { toDriver } from '../../src/bolt/driver-values.ts'
import type { PropertyValue, Value } from '../../src/engine/value/value.ts'
import type { JudgedGraph } from './judge-graph.ts'
import { BeyondLimits, type JudgedError, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'
import { ElementNumber, JudgedPath, type JudgedValue, OtherValue, ofDriver } from './judged-value.ts'

/** A graph with the server that answers on it. */
export interface Neo4jSide {
  /** In the order of the queries. */
  answers(queries: readonly JudgedQuery[]): Promise<(JudgedOutcome | BeyondLimits)[]>
}

/** A connection to a running server. Calls of several sides may overlap. */
export class Neo4jConnection {
  private readonly driver: Driver

  constructor(url: string) {
    this.driver = neo4j.driver(
      url,
      { scheme: 'none', principal: '', credentials: '' },
      { encrypted: false, useBigInt: true },
    )
  }

  /** The graph is written with each call, within transactions that are rolled back. */
  open(graph: JudgedGraph): Neo4jSide {
    const written = driverGraph(graph)
    const ask = async (queries: readonly JudgedQuery[]): Promise<(JudgedOutcome | BeyondLimits)[]> => {
      const session = this.driver.session()
      try {
        const { records } = await session.run('CALL judge.answers($nodes, $relationships, $queries)', {
          ...written,
          queries: queries.map(({ text, parameters }) => ({ text, parameters: driverParameters(parameters) })),
        })
        return records.map((record) => ofAnswer(record.toObject() as unknown as DriverAnswer))
      } finally {
        await session.close()
      }
    }
    return {
      answers: async (queries) => {
        const found = await ask(queries)
        // The limits are those of a transaction, which may have answered other queries before, and of a busy machine: once more, alone.
        for (const [index, query] of queries.entries()) {
          if (found[index] instanceof BeyondLimits) found[index] = (await ask([query]))[0]!
        }
        return found
      },
    }
  }

  async close(): Promise<void> {
    await this.driver.close()
  }
}

function driverGraph({ nodes, relationships }: JudgedGraph): Record<string, unknown> {
  return {
    nodes: nodes.map(({ key, isIdentity, labels, properties }, index) => ({
      index: BigInt(index),
      labels,
      properties: {
        ...driverProperties(properties),
        ...(key === null ? {} : { external_id: key.externalId, type: key.type, is_identity: isIdentity }),
      },
    })),
    relationships: relationships.map(({ source, target, type, properties }, index) => ({
      index: BigInt(index),
      source: BigInt(source),
      target: BigInt(target),
      type,
      properties: driverProperties(properties),
    })),
  }
}

/** A record of the procedure `judge.answers` of Neo4jMain.java. */
interface DriverAnswer {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  /** Empty without an error. */
  readonly code: string
  readonly message: string
}

function ofAnswer({ columns, rows, code, message }: DriverAnswer): JudgedOutcome | BeyondLimits {
  const limit = limitOf(code, message)
  if (limit !== null) return limit
  if (code !== '') return { error: errorOf(code, message) }
  return { error: null, columns, rows: rows.map((row) => row.map(ofDriverValue)) }
}

// ---------------------------------------------------------------- values

function driverProperties(properties: ReadonlyMap<string, PropertyValue>): Record<string, unknown> {
  return Object.fromEntries([...properties].map(([name, value]) => [name, toDriver(neo4j, value)]))
}

function driverParameters(parameters: ReadonlyMap<string, Value>): Record<string, unknown> {
  return Object.fromEntries([...parameters].map(([name, value]) => [name, toDriver(neo4j, value)]))
}

function ofDriverValue(value: unknown): JudgedValue {
  if (value === null || value === undefined) return null
  if (typeof value !== 'object') return value as JudgedValue
  if (Array.isArray(value)) return value.map(ofDriverValue)
  if (neo4j.isDate(value)) return ofDriver.date(value as never)
  if (neo4j.isTime(value)) return ofDriver.time(value as never)
  if (neo4j.isLocalTime(value)) return ofDriver.localTime(value as never)
  if (neo4j.isDateTime(value)) return ofDriver.dateTime(value as never)
  if (neo4j.isLocalDateTime(value)) return ofDriver.localDateTime(value as never)
  if (neo4j.isDuration(value)) return ofDriver.duration(value as never)
  if (neo4j.isPoint(value)) return new OtherValue(String(value))
  const entries = Object.entries(value)
  return ofElement(entries[0]) ?? new Map(entries.map(([key, item]) => [key, ofDriverValue(item)]))
}

/** Neo4jMain.java returns an element as a map of one entry. */
function ofElement(entry: readonly [string, unknown] | undefined): JudgedValue | null {
  switch (entry?.[0]) {
    case '\0node':
      return new ElementNumber('node', Number(entry[1]))
    case '\0relationship':
      return new ElementNumber('relationship', Number(entry[1]))
    case '\0path':
      return new JudgedPath(ofDriverValue(entry[1]) as ElementNumber[])
    default:
      return null
  }
}

// ---------------------------------------------------------------- errors

/** The kinds of run-time errors by the last part of Neo4j's code. */
const kinds: Readonly<Record<string, string>> = {
  TypeError: 'type',
  ArgumentError: 'argument',
  ArithmeticError: 'arithmetic',
  ParameterMissing: 'missing-parameter',
  EntityNotFound: 'entity',
  // A function refuses a value, such as a temporal one.
  ProcedureCallFailed: 'argument',
}

/** Whether the time or the memory of a transaction is used up. */
function limitOf(code: string, message: string): BeyondLimits | null {
  const [, limit] =
    /^Neo\.(?:ClientError|TransientError)\.(?:Transaction|General)\.\w*?(TimedOut|OutOfMemory|Terminated)/.exec(code) ??
    []
  if (limit === undefined) return null
  return new BeyondLimits(limit === 'OutOfMemory' ? 'too large' : 'timed out', `Neo4j: ${message}`)
}

function errorOf(code: string, message: string): JudgedError {
  // The code of this refusal is that of a failure of the server.
  if (message.startsWith('The shortest path algorithm does not work'))
    return { phase: 'run', kind: 'argument', message }
  // An expression that fails within the server, such as a null where it expects a number.
  if (code === 'Neo.DatabaseError.Statement.ExecutionFailed') return { phase: 'run', kind: 'internal', message }
  const [, category, title] = /^Neo\.ClientError\.(\w+)\.(\w+)$/.exec(code) ?? []
  // Everything else is a failure of the server, not an answer.
  if ((category !== 'Statement' && category !== 'Procedure') || title === undefined)
    throw new Error(`Neo4j failed: ${code}: ${message}`)
  if (title === 'SyntaxError' || title === 'SemanticError') return { phase: 'compile', kind: 'syntax', message }
  return { phase: 'run', kind: kinds[title] ?? title, message }
}
