// Search in an audit log of many records: fills the index and the bundles of a log with random records, then measures pages of
// records over HTTP, by filter, and how long the service takes for another request during searches and an export.
// Run alone: bun test/stress/audit-search.ts [--records 10000000] [--pages 200] [--page-ms 1000] [--seed N]
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { EntryActor, EntryTermFacts } from '../../src/audit/entry-terms.ts'
import { encodeEntries } from '../../src/audit/log/entry-bundle.ts'
import { leafHash } from '../../src/audit/log/merkle.ts'
import { TILE_WIDTH, tilePath } from '../../src/audit/log/tile-path.ts'
import { BundleTerms } from '../../src/audit/seal/bundle-terms.ts'
import { AuditIndex } from '../../src/store/audit/audit-index.ts'
import { comparePostings } from '../../src/store/audit/audit-terms.ts'
import type { AuditGeneration, AuditLog } from '../../src/store/audit/audit-types.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { createFleet } from '../support/fleet.ts'
import { numberAfter } from './flags.ts'

const records = numberAfter('--records', 10_000_000)
const pages = numberAfter('--pages', 200)
const seed = stressSeed()
const random = new Random(seed)
console.log(`seed ${seed}, ${records} records`)

/** Types of entries; the last one is rare. */
const TYPES = ['capture.upsert.node', 'capture.upsert.relationship', 'authorization.evaluation', 'config.read']
const RARE_TYPE = 'svc.audit.config.delete'
const RARE_EVERY = 200_000
const ACTORS = 50
const RARE_ACTOR = 'gid:RAREACTOR0000000000000000A'
const RESOURCES = 2_000_000
const BUNDLES_PER_WRITE = 2000
const STEP_MS = 8
const START_MS = Date.UTC(2026, 0, 1)
/** A page of a log of this size must be found within this time at the 99th percentile. */
const pageMsMax = numberAfter('--page-ms', 1000)
/** By id: entries of one actor share the object, as those of one record do. */
const actors = new Map<string, EntryActor>()

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-audit-search-'))
const data = join(folder, 'data')
let server: Server | null = null
let failed = false
try {
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  server = await startServer(['--data', data], { VERDIGRAPH_LOG_LEVEL: 'error' })
  const { projectId, key } = await createFleet(server, token, organization_id, ['Audit'])
  await untilSealed(projectId)
  await server.kill('SIGTERM')
  const filledMs = performance.now()
  await fill(projectId)
  console.log(`filled in ${((performance.now() - filledMs) / 1000).toFixed(0)} s`)
  server = await startServer(['--data', data], { VERDIGRAPH_LOG_LEVEL: 'error' })
  await measure(server.url, projectId, key)
} finally {
  await server?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}
process.exit(failed ? 1 : 0)

/** The log exists when its first entries are sealed. */
async function untilSealed(projectId: string): Promise<void> {
  const limit = performance.now() + 300_000
  while (performance.now() < limit) {
    const index = new AuditIndex(join(data, 'audit/index'), { readOnly: true })
    const log = index.state(projectId.slice('gid:'.length))
    await index.close()
    if (log !== null) return
    await Bun.sleep(100)
  }
  throw new Error('the log was not sealed')
}

/** Adds a generation before the present one, with random records. The sealer continues the present one. */
async function fill(projectId: string): Promise<void> {
  const index = new AuditIndex(join(data, 'audit/index'), { sync: false })
  const log = index.state(projectId.slice('gid:'.length)) as AuditLog
  const present = log.generations.at(-1) as AuditGeneration
  const generation: AuditGeneration = { ...present, number: 100_000, name: 'syntheticx', size: records, prunedTo: 0 }
  await index.write((edits) => edits.putLog({ ...log, generations: [generation, present] }))
  const path = join(data, 'audit/logs', log.id, generation.name)
  const folders = new Set<string>()
  const put = (file: string, bytes: Uint8Array): void => {
    if (!folders.has(dirname(file))) mkdirSync(dirname(file), { recursive: true })
    folders.add(dirname(file))
    writeFileSync(file, bytes)
  }
  const bundles = Math.ceil(records / TILE_WIDTH)
  for (let at = 0; at < bundles; at += BUNDLES_PER_WRITE) {
    const last = Math.min(bundles, at + BUNDLES_PER_WRITE)
    await index.write((edits) => {
      const described: BundleTerms[] = []
      for (let bundle = at; bundle < last; bundle++) {
        const width = Math.min(TILE_WIDTH, records - bundle * TILE_WIDTH)
        const terms = new BundleTerms(generation.number, bundle, null)
        const entries = Array.from({ length: width }, (_, i) => {
          const { facts, entry } = entryAt(bundle * TILE_WIDTH + i)
          terms.add(facts)
          return entry
        })
        edits.putBundle(terms.times())
        described.push(terms)
        put(join(path, tilePath({ level: 'entries', index: bundle, width })), encodeEntries(entries))
        // Readers compare the entries with their hashes.
        put(join(path, tilePath({ level: 0, index: bundle, width })), Buffer.concat(entries.map(leafHash)))
      }
      // As the sealer does: in the order of the index.
      const postings = described.flatMap((terms) => terms.takePostings()).sort(comparePostings)
      for (const posting of postings) edits.putPosting(posting)
    })
  }
  await index.close()
}

function entryAt(index: number): { readonly facts: EntryTermFacts; readonly entry: Uint8Array } {
  const isRare = index % RARE_EVERY === RARE_EVERY - 1
  const type = isRare ? RARE_TYPE : `svc.audit.${TYPES[random.between(0, TYPES.length - 1)]}`
  const actor = isRare ? RARE_ACTOR : actorAt(random.between(0, ACTORS - 1))
  // Streams of different sources are sealed slightly out of order.
  const timeMs = timeOf(index) - random.between(0, 2000 - 1)
  const resource = `nodes/Car/car${random.between(0, RESOURCES - 1)}`
  const time = new Date(timeMs).toISOString()
  const entry = Buffer.from(
    `{"specversion":"1.0","id":"abcdefghij-${index}","source":"/projects/p/audit/graph/abcdefghij","type":"${type}","subject":"${resource}","time":"${time}","datacontenttype":"application/json","sequence":"${String(index).padStart(16, '0')}","data":{"eventType":"${type}","version":1,"actor":{"type":"agent","id":"${actor}","keyId":"gid:KEY"},"requestId":"request-${index}","address":"127.0.0.1"}}`,
  )
  return { facts: { type, subject: resource, timeMs, actor: actorOf(actor) }, entry }
}

function actorOf(id: string): EntryActor {
  const actor = actors.get(id) ?? { id, keyId: 'gid:KEY' }
  actors.set(id, actor)
  return actor
}

function actorAt(at: number): string {
  return `gid:ACTOR${String(at).padStart(21, '0')}`
}

function timeOf(index: number): number {
  return START_MS + index * STEP_MS
}

async function measure(url: string, projectId: string, key: string): Promise<void> {
  const headers = { 'x-svc-clientkey': key }
  const ask = async (query: Readonly<Record<string, string>>): Promise<number> => {
    const all = new URLSearchParams({ project_id: projectId, ...query })
    const response = await fetch(`${url}/audit/v1/records?${all}`, { headers })
    const text = await response.text()
    if (!response.ok) throw new Error(`${all}: ${response.status} ${text}`)
    return (JSON.parse(text) as { items: readonly unknown[] }).items.length
  }
  const span = records * STEP_MS
  const anyTime = () => START_MS + random.between(0, Math.max(1, span - 3_600_000) - 1)
  const window = () => {
    const fromMs = anyTime()
    return { from: new Date(fromMs).toISOString(), to: new Date(fromMs + 600_000).toISOString() }
  }
  const type = () => `svc.audit.${TYPES[random.between(0, TYPES.length - 1)]}`
  const resource = () => `car${random.between(0, RESOURCES - 1)}`
  const actor = () => actorAt(random.between(0, ACTORS - 1))
  const order = () => (random.between(0, 2 - 1) === 0 ? 'oldest' : 'newest')
  const filters: Readonly<Record<string, () => Record<string, string>>> = {
    'no filter': () => ({ order: order() }),
    type: () => ({ type: type(), order: order() }),
    'rare type': () => ({ type: RARE_TYPE, order: order() }),
    'types by wildcard': () => ({ type: 'svc.audit.capture.*', order: order() }),
    actor: () => ({ actor: actor(), order: order() }),
    'rare actor': () => ({ actor: RARE_ACTOR, order: order() }),
    'absent actor': () => ({ actor: 'gid:ABSENT', order: order() }),
    resource: () => ({ resource: resource(), order: order() }),
    'type, actor and resource': () => ({ type: type(), actor: actor(), resource: resource() }),
    'time window': () => ({ ...window(), order: order() }),
    'time window, type and actor': () => ({ ...window(), type: type(), actor: actor() }),
    'time window and rare actor': () => ({ ...window(), actor: RARE_ACTOR }),
  }
  const alone = await pinging(url, () => Bun.sleep(2000))
  console.log(`another request, alone: ${alone}`)
  const during = await pinging(url, async () => {
    for (const [name, filter] of Object.entries(filters)) {
      const times: number[] = []
      let items = 0
      // The first answers open the index and fill the page cache.
      for (let i = 0; i < 5; i++) await ask(filter())
      for (let i = 0; i < pages; i++) {
        const startMs = performance.now()
        items += await ask(filter())
        times.push(performance.now() - startMs)
      }
      const p99 = percentile(times, 0.99)
      console.log(`${name}: ${quantiles(times)}, ${(items / pages).toFixed(1)} records a page`)
      if (p99 > pageMsMax) {
        console.log(`  too slow: a page takes ${p99.toFixed(0)} ms at the 99th percentile`)
        failed = true
      }
    }
  })
  console.log(`another request, during searches: ${during}`)
  // The synthetic records have only the lowest tiles of hashes, so their export ends at the first proof: the filter selects none of them.
  const exporting = await pinging(url, async () => {
    const query = new URLSearchParams({ project_id: projectId, generation: 'syntheticx', actor: 'gid:ABSENT' })
    const response = await fetch(`${url}/audit/v1/export?${query}`, { headers })
    await response.text()
  })
  console.log(`another request, during an export: ${exporting}`)
}

/** Sends requests to `/health` until `work` is done. Resolves with their times. */
async function pinging(url: string, work: () => Promise<void>): Promise<string> {
  let isDone = false
  const times: number[] = []
  const loop = async () => {
    while (!isDone) {
      const startMs = performance.now()
      await (await fetch(`${url}/health`)).text()
      times.push(performance.now() - startMs)
      await Bun.sleep(2)
    }
  }
  const running = loop()
  await work()
  isDone = true
  await running
  return quantiles(times)
}

function quantiles(times: readonly number[]): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(times, share).toFixed(1))
  return `p50 ${p50} ms, p99 ${p99} ms, max ${max} ms`
}

function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? 0
}
