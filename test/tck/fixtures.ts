// The graphs of the cases in real stores: written through the write API, one store for each distinct graph.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { GraphStore } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { loadFixture, type TckCase, type TckFixture } from './case.ts'

const OPEN_MAX = 50
const NO_DATA: TckFixture = { nodes: [], rels: [] }

export class Fixtures {
  private readonly folder = mkdtempSync(join(tmpdir(), 'verdigraph-tck-'))
  private readonly open = new Map<string, LmdbEnvironment>()
  private readonly named: Readonly<Record<string, TckFixture>>
  private count = 0

  constructor(named: Readonly<Record<string, TckFixture>>) {
    this.named = named
  }

  async store(item: TckCase): Promise<GraphStore> {
    const fixture = this.fixtureOf(item)
    const key = JSON.stringify(fixture)
    const known = this.open.get(key)
    if (known) return known
    if (this.open.size >= OPEN_MAX) await this.closeAll()
    const environment = openEnvironment(join(this.folder, String(this.count++)), { clock: systemClock, sync: false })
    await environment.write((batch) => loadFixture(fixture, batch))
    this.open.set(key, environment)
    return environment
  }

  private fixtureOf(item: TckCase): TckFixture {
    if (item.fixture) return item.fixture
    if ((item.setup ?? []).length > 0) throw new Error('the case has a set-up, but no fixture to load')
    // `any`: the result must not depend on the data.
    if (item.graph === 'empty' || item.graph === 'any' || item.graph === undefined) return NO_DATA
    const named = this.named[item.graph]
    if (!named) throw new Error(`the graph \`${item.graph}\` is not among the named graphs`)
    return named
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
