// Runs every JSON case file of a folder in the TCK's form and prints the score per category.
// `npm run tck -- DIR [--failures] [--only TEXT]`
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RunFault } from '../../src/engine/errors.ts'
import { compileRowsQuery } from '../../src/engine/rows.ts'
import type { GraphStore } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/lmdb/environment.ts'
import { type Fixture, loadFixture, type TckCase, toValue } from './case.ts'
import { difference } from './compare.ts'

const limits = { stepsMax: 50_000_000, timeMs: 2_000 }

/** `null`: passed. */
export type Outcome = string | null

export function runCase(item: TckCase, store: GraphStore): Outcome {
  const { expect } = item
  const compiled = compileRowsQuery(item.query)
  if (!compiled.ok) {
    const issue = compiled.error[0]!
    if (expect.kind !== 'error') return `refused: ${issue.code}: ${issue.message}`
    if (expect.phase === 'runtime') return `refused at compile time instead of run time: ${issue.code}`
    const codes = compiled.error.map((i) => i.code)
    return expect.detail === '*' || codes.includes(expect.detail)
      ? null
      : `expected ${expect.detail}, got ${codes.join(', ')}: ${issue.message}`
  }
  const snapshot = store.snapshot()
  try {
    const parameters = new Map(Object.entries(item.params).map(([name, value]) => [name, toValue(value)]))
    const rows = compiled.value.run({ snapshot, parameters, limits })
    return expect.kind === 'error' ? `expected ${expect.detail} at ${expect.phase}, got rows` : difference(rows, expect)
  } catch (fault) {
    if (!(fault instanceof RunFault)) throw fault
    if (expect.kind !== 'error') return `failed: ${fault.message}`
    if (expect.phase === 'compile time')
      return `expected ${expect.detail} at compile time, failed at run time: ${fault.message}`
    return expect.detail === '*' || fault.detail === expect.detail
      ? null
      : `expected ${expect.detail}, got ${fault.detail ?? fault.code}: ${fault.message}`
  } finally {
    snapshot.close()
  }
}

export class Fixtures {
  private readonly folder = mkdtempSync(join(tmpdir(), 'verdigraph-tck-'))
  private readonly open = new Map<string, LmdbEnvironment>()
  private readonly named: Readonly<Record<string, Fixture>>
  private count = 0

  constructor(named: Readonly<Record<string, Fixture>>) {
    this.named = named
  }

  async store(item: TckCase): Promise<GraphStore> {
    const fixture = item.fixture ?? this.named[item.graph] ?? { nodes: [], rels: [] }
    const key = JSON.stringify(fixture)
    const known = this.open.get(key)
    if (known) return known
    if (this.open.size >= 50) await this.closeAll()
    const environment = openEnvironment(join(this.folder, String(this.count++)), { clock: systemClock, sync: false })
    await environment.write((batch) => loadFixture(fixture, batch))
    this.open.set(key, environment)
    return environment
  }

  private async closeAll(): Promise<void> {
    for (const environment of this.open.values()) await environment.close()
    this.open.clear()
  }

  async close(): Promise<void> {
    await this.closeAll()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

export function readCases(folder: string): { cases: TckCase[]; named: Readonly<Record<string, Fixture>> } {
  const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))
  const cases: TckCase[] = []
  let named: Record<string, Fixture> = {}
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
    if (!entry.endsWith('.json') || entry.endsWith('index.json')) continue
    const content = read(join(folder, entry))
    if (entry.endsWith('named-graphs.json')) named = content as Record<string, Fixture>
    else if (Array.isArray(content)) cases.push(...(content as TckCase[]).filter((item) => item.query !== undefined))
  }
  if (Object.keys(named).length === 0) {
    try {
      named = read(join(folder, '..', 'named-graphs.json')) as Record<string, Fixture>
    } catch {
      // A folder without named graphs: cases that name one run on an empty graph and say so by failing.
    }
  }
  return { cases, named }
}

async function main(args: readonly string[]): Promise<void> {
  const folder = args.find((arg) => !arg.startsWith('--'))
  if (!folder) throw new Error('usage: npm run tck -- DIR [--failures] [--only=TEXT]')
  const only = args.find((arg) => arg.startsWith('--only='))?.slice('--only='.length)
  const { cases, named } = readCases(folder)
  const fixtures = new Fixtures(named)
  const score = new Map<string, { passed: number; failed: number }>()
  let passed = 0
  let failed = 0
  for (const item of cases) {
    if (only && !item.id.includes(only) && !item.category.includes(only)) continue
    let outcome: Outcome
    try {
      outcome = runCase(item, await fixtures.store(item))
    } catch (fault) {
      outcome = `crashed: ${fault instanceof Error ? fault.message : String(fault)}`
    }
    const row = score.get(item.category) ?? { passed: 0, failed: 0 }
    score.set(item.category, row)
    if (outcome === null) {
      row.passed += 1
      passed += 1
    } else {
      row.failed += 1
      failed += 1
      if (args.includes('--failures'))
        console.log(`${item.id}\n  ${item.query.replaceAll('\n', '\n  ')}\n  -> ${outcome}`)
    }
  }
  await fixtures.close()
  for (const [category, row] of [...score].sort())
    console.log(`${category.padEnd(36)} ${row.passed} / ${row.passed + row.failed}`)
  console.log(`${passed} passed, ${failed} failed`)
}

if (import.meta.main) await main(process.argv.slice(2))
