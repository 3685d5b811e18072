// How fast is a graph loaded, and how much disk space does it need? In the same run the same keys and values are put
// into another file without any processing: the lower bound of the database itself.
import { createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { DATA_FILE } from '../../src/kernel/folder/data-folder.ts'
import { mintGid } from '../../src/kernel/ids.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { checkGraph } from '../../src/store/integrity/check-graph.ts'
import type { Database } from '../../src/store/lmdb/database.ts'
import { type Databases, GRAPH_DESCRIPTION, openDatabases, openMeta } from '../../src/store/lmdb/databases.ts'
import { LmdbFile } from '../../src/store/lmdb/lmdb-file.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { type Bench, type BenchOptions, mustEqual, round } from '../harness.ts'
import { documentId, groupId, type OwnershipGraph, ownershipGraph, personId } from '../ownership-graph.ts'

/** Of the values of one transaction of raw puts. */
const VALUES_BYTES_MAX = 256 * 2 ** 20

/** As large as those of an import. */
const NODES_PER_BATCH = 100_000
const RELATIONSHIPS_PER_BATCH = 1_000_000

export const ingest: Bench = {
  name: 'ingest',
  question: 'how fast is a graph loaded, and how much disk space does it need?',
  async run(options) {
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-ingest-'))
    try {
      await measure(options, folder)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

async function measure({ small, seed, report }: BenchOptions, folder: string): Promise<void> {
  const graph = ownershipGraph(small ? 20_000 : 1_000_000, seed)
  const nodes = graph.people + graph.groups + graph.documents
  const counts = { nodes, relationships: graph.relationships }
  const path = join(folder, 'loaded')
  const store = openEnvironment(path, { clock: systemClock })
  const loaded = await load(store, graph, (record) => report.line(record))
  const loadMs = loaded.nodesMs + loaded.relationshipsMs
  report.line({
    record: 'load',
    ...counts,
    nodes_per_s: rate(nodes, loaded.nodesMs),
    relationships_per_s: rate(graph.relationships, loaded.relationshipsMs),
  })
  mustBeWhole(store, graph)
  const findings = checkGraph(store)
  mustEqual('the number of findings of the checker', findings.length, 0)

  const raw = await rawPuts(store, join(folder, 'raw'), 'own')
  const lean = await rawPuts(store, join(folder, 'lean'), 'shared')
  report.line({
    record: 'raw_puts',
    keys: raw.keys,
    bytes: raw.bytes,
    order: 'of the keys, each once',
    keys_per_s: rate(raw.keys, raw.ms),
    lean_keys_per_s: rate(lean.keys, lean.ms),
    ratio_to_raw_puts: round(raw.ms / loadMs),
    ratio_to_lean_puts: round(lean.ms / loadMs),
  })
  for (const each of sizes(store)) report.line({ record: 'size', ...each })
  const fileBytes = statSync(join(path, DATA_FILE)).size
  report.line({ record: 'file', bytes: fileBytes, bytes_per_relationship: round(fileBytes / graph.relationships, 1) })
  await store.close()
  rmSync(path, { recursive: true })

  const ms = await importLines(graph, folder, report.note)
  report.line({
    record: 'import',
    items_per_s: rate(nodes + graph.relationships, ms),
    ratio_to_raw_puts: round(raw.ms / ms),
    ratio_to_lean_puts: round(lean.ms / ms),
  })
}

type IngestItem = readonly [type: string, externalId: string]

function nodeAt(graph: OwnershipGraph, at: number): IngestItem {
  if (at < graph.people) return ['Person', personId(at)]
  const group = at - graph.people
  return group < graph.groups ? ['Group', groupId(group)] : ['Document', documentId(group - graph.groups)]
}

function relationshipAt(graph: OwnershipGraph, at: number): readonly [IngestItem, string, IngestItem] {
  const fromPeople = graph.ofPerson.length
  if (at >= fromPeople) {
    const i = at - fromPeople
    const document = documentId(graph.ofGroup[i] as number)
    return [['Group', groupId(Math.floor(i / 10))], 'MAY_READ', ['Document', document]]
  }
  const end = graph.ofPerson[at] as number
  const person: IngestItem = ['Person', personId(Math.floor(at / 10))]
  return at % 10 < 5 ? [person, 'OWNS', ['Document', documentId(end)]] : [person, 'MEMBER', ['Group', groupId(end)]]
}

const keyOf = ([type, externalId]: IngestItem) => ({ type, externalId })

async function load(
  store: LmdbEnvironment,
  graph: OwnershipGraph,
  line: (record: Record<string, string | number>) => void,
): Promise<{ nodesMs: number; relationshipsMs: number }> {
  const nodes = graph.people + graph.groups + graph.documents
  const nodesMs = await inBatches(nodes, NODES_PER_BATCH, async (from, to) => {
    await store.bulkLoad((batch) => {
      for (let at = from; at < to; at++) batch.upsertNode(keyOf(nodeAt(graph, at)))
    })
  })
  let told = 0
  const step = Math.ceil(graph.relationships / 5)
  const relationshipsMs = await inBatches(graph.relationships, RELATIONSHIPS_PER_BATCH, async (from, to) => {
    await store.bulkLoad((batch) => {
      for (let at = from; at < to; at++) {
        const [source, type, target] = relationshipAt(graph, at)
        const missing = batch.loadRelationship({ source: keyOf(source), type, target: keyOf(target) })
        if (missing !== null) throw new Error(`the ${missing} of relationship ${at} is missing`)
      }
    })
    if (to < told + step && to < graph.relationships) return
    told = to
    line({ record: 'memory', relationships: to, ...memory() })
  })
  return { nodesMs, relationshipsMs }
}

/** Resident memory: of the process alone, and of the database file as far as the system keeps it mapped. */
function memory(): { own_mib: number; mapped_mib: number } {
  const status = readFileSync('/proc/self/status', 'utf8')
  const kib = (field: string): number => Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0)
  return { own_mib: Math.round(kib('RssAnon') / 1024), mapped_mib: Math.round(kib('RssFile') / 1024) }
}

async function inBatches(
  count: number,
  size: number,
  take: (from: number, to: number) => Promise<void>,
): Promise<number> {
  const start = performance.now()
  for (let from = 0; from < count; from += size) await take(from, Math.min(count, from + size))
  return performance.now() - start
}

function mustBeWhole(store: LmdbEnvironment, graph: OwnershipGraph): void {
  const snapshot = store.snapshot()
  mustEqual('the number of nodes', snapshot.nodeCount(null), graph.people + graph.groups + graph.documents)
  mustEqual('the number of relationships', snapshot.relationshipCount(null), graph.relationships)
  snapshot.close()
}

function all(databases: Databases): readonly Database<unknown>[] {
  return Object.values(databases) as unknown as Database<unknown>[]
}

const LOWEST: Readonly<Record<string, unknown>> = {
  meta: { kind: 0, symbol: 0 },
  symbols: { kind: 0, symbol: 0 },
  'upsert-keys': { type: 0, externalId: '' },
  adjacency: { node: 0, side: 0 },
  'chunk-index': { node: 0, side: 0, neighbour: 0, relationship: 0 },
  labels: { label: 0, block: 0 },
  index: { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 },
  outbox: { kind: 0, stream: '', provider: '', sequence: 0 },
}

/**
 * Each key once, in order, flushed as often as the load. Reading them is not timed. Each value has its own memory, like
 * a caller's, or all values of a transaction share one buffer: the package asks the system for the address of each
 * buffer once, which is a large part of a put.
 */
async function rawPuts(
  store: LmdbEnvironment,
  folder: string,
  memory: 'own' | 'shared',
): Promise<{ keys: number; bytes: number; ms: number }> {
  mkdirSync(folder)
  const file = new LmdbFile(folder, {})
  const targets = all(openDatabases(file, openMeta(file, GRAPH_DESCRIPTION)))
  let keys = 0
  let bytes = 0
  let ms = 0
  for (const [i, source] of store.inspect((databases) => all(databases)).entries()) {
    let start: unknown = LOWEST[source.name] ?? 0
    for (let more = true; more; ) {
      const piece = Buffer.allocUnsafeSlow(memory === 'shared' ? VALUES_BYTES_MAX : 0)
      let used = 0
      const copyOf = (value: Uint8Array): Uint8Array => {
        if (memory === 'own') return Uint8Array.from(value)
        piece.set(value, used)
        used += value.length
        return piece.subarray(used - value.length, used)
      }
      const entries = store.inspect((_, reading) => {
        const found: { key: unknown; value: Uint8Array }[] = []
        for (const { key, value } of source.raw.getRange({
          start,
          end: undefined,
          limit: RELATIONSHIPS_PER_BATCH + 1,
          ...reading,
        }))
          found.push({ key, value: copyOf(value) })
        return found
      })
      more = entries.length > RELATIONSHIPS_PER_BATCH
      if (more) start = entries.pop()!.key
      const target = targets[i]!.raw
      const began = performance.now()
      await file.transaction(() => {
        for (const { key, value } of entries) target.put(key, value)
      })
      ms += performance.now() - began
      keys += entries.length
      for (const { value } of entries) bytes += value.length
    }
  }
  await file.close()
  return { keys, bytes, ms }
}

function sizes(store: LmdbEnvironment): { database: string; entries: number; bytes: number }[] {
  return store.inspect((databases) =>
    all(databases).map(({ name, raw }) => {
      const { entryCount, treeBranchPageCount, treeLeafPageCount, overflowPages, pageSize } = (
        raw as unknown as { getStats(): Record<string, number> }
      ).getStats()
      const pages = (treeBranchPageCount ?? 0) + (treeLeafPageCount ?? 0) + (overflowPages ?? 0)
      return { database: name, entries: entryCount ?? 0, bytes: pages * (pageSize ?? 4096) }
    }),
  )
}

/** As an operator does it: from a file of lines into a project of a data folder. */
async function importLines(graph: OwnershipGraph, folder: string, note: (text: string) => void): Promise<number> {
  const path = join(folder, 'lines')
  function* lines(): Iterable<string> {
    const key = ([type, external_id]: IngestItem) => ({ type, external_id })
    const nodes = graph.people + graph.groups + graph.documents
    for (let at = 0; at < nodes; at++) yield `${JSON.stringify({ node: key(nodeAt(graph, at)) })}\n`
    for (let at = 0; at < graph.relationships; at++) {
      const [source, type, target] = relationshipAt(graph, at)
      yield `${JSON.stringify({ relationship: { source: key(source), type, target: key(target) } })}\n`
    }
  }
  await pipeline(joined(lines()), createWriteStream(path))
  note(`wrote ${statSync(path).size} bytes of lines`)
  const project = mintGid(systemClock.now())
  const dataDir = join(folder, 'data')
  const catalog = openCatalog(dataDir, { clock: systemClock })
  await catalog.create(project)
  await catalog.close()
  const start = performance.now()
  const result = await importFile({
    dataDir,
    from: path,
    projectId: project,
    dryRun: false,
    resume: false,
    progress: () => {},
  })
  const ms = performance.now() - start
  mustEqual('the number of relationships imported', result.relationships, graph.relationships)
  return ms
}

function* joined(lines: Iterable<string>): Iterable<string> {
  let text = ''
  for (const line of lines) {
    text += line
    if (text.length < 1 << 20) continue
    yield text
    text = ''
  }
  if (text !== '') yield text
}

function rate(count: number, ms: number): number {
  return Math.round((count / ms) * 1000)
}
