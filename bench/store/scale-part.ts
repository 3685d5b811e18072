// One step of the bench `scale` in a process of its own, so that its memory is its own:
// bun bench/store/scale-part.ts STEP '{"folder": …, "relationships": …, "seed": …}'. Prints one JSON object.
import { readFileSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { backup } from '../../src/backup/backup.ts'
import { restore } from '../../src/backup/restore.ts'
import { Graph } from '../../src/engine/graph.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openCollections } from '../../src/store/documents/collections.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { openStore } from '../../src/store/graph/open-store.ts'
import { verifyFolder } from '../../src/store/integrity/verify-folder.ts'
import { migrateFolder } from '../../src/store/lmdb/migrate-folder.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { exportFolder } from '../../src/transfer/export/export.ts'
import { graphFolder } from '../../src/transfer/import/graph-importer.ts'
import { importFile } from '../../src/transfer/import/import.ts'
import { mustEqual, randomFrom, round } from '../harness.ts'
import { output } from '../http/processes.ts'
import { documentId, mayRead, owns, personId } from '../ownership-graph.ts'
import { writeEarlierGraph } from './earlier-layout.ts'
import {
  groupOf,
  isOwned,
  isReadable,
  ownedDocument,
  readableDocument,
  scaleGraph,
  scaleNode,
  scaleRelationship,
} from './scale-graph.ts'

interface PartOptions {
  readonly folder: string
  readonly relationships: number
  readonly seed: number
  readonly questions: number
}

type PartRecord = Record<string, number>

const NODES_PER_BATCH = 12_500
const RELATIONSHIPS_PER_BATCH = 125_000
const INPUTS = 10_000
/** The median of them is reported. */
const START_RUNS = 5
const PROJECT = 'gid:AAAAAAAAAAAAAAAAAAAAAAAAAA'

const [step = '', text = '{}'] = process.argv.slice(2)
const options = JSON.parse(text) as PartOptions
const { folder, seed } = options
const graph = scaleGraph(options.relationships)
const { nodes, relationships } = graph
const elements = nodes + relationships
const dataDir = join(folder, 'data')
const exported = join(folder, 'export.ndjson')
const archive = join(folder, 'backup.tar')

/** The greatest resident memory seen: of the process alone, and with the part of files that the system keeps mapped. */
const memory = { own: 0, all: 0 }

function sample(): void {
  const status = readFileSync('/proc/self/status', 'utf8')
  const mib = (field: string): number =>
    Math.round(Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024)
  memory.own = Math.max(memory.own, mib('RssAnon'))
  memory.all = Math.max(memory.all, mib('VmHWM'))
}

async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await work()
  return (performance.now() - start) / 1000
}

const perSecond = (count: number, seconds: number): number => Math.round(count / seconds)

const steps: Readonly<Record<string, () => Promise<PartRecord>>> = {
  async load() {
    const documents = openCollections(join(dataDir, 'config'), {})
    const document = { id: PROJECT, kind: 'projects', project_id: '', fields: { ikg_status: 'ACTIVE' } }
    await documents.transact((changes) => changes.put('configuration', PROJECT, document))
    await documents.close()
    const catalog = openCatalog(dataDir, { clock: systemClock })
    await catalog.create(PROJECT)
    await catalog.close()
    const environment = openEnvironment(graphFolder(dataDir, { project: PROJECT, part: 'default' }), {
      clock: systemClock,
    })
    const nodeSeconds = await secondsOf(async () => {
      for (let from = 0; from < nodes; from += NODES_PER_BATCH) {
        await environment.bulkLoad((batch) => {
          for (let at = from; at < Math.min(nodes, from + NODES_PER_BATCH); at++) batch.upsertNode(scaleNode(graph, at))
        })
        sample()
      }
    })
    mustEqual('a sorted load', await environment.beginSortedLoad(), true)
    // Not timed: a program that loads has its data already.
    let inputSeconds = 0
    const loadSeconds = await secondsOf(async () => {
      for (let from = 0; from < relationships; from += RELATIONSHIPS_PER_BATCH) {
        const to = Math.min(relationships, from + RELATIONSHIPS_PER_BATCH)
        await environment.bulkLoad((batch) => {
          for (let at = from; at < to; at += INPUTS) {
            const start = performance.now()
            const inputs = Array.from({ length: Math.min(INPUTS, to - at) }, (_, i) => scaleRelationship(graph, at + i))
            inputSeconds += (performance.now() - start) / 1000
            for (const input of inputs) mustEqual('an end that is missing', batch.loadRelationship(input), null)
          }
        })
        sample()
      }
    })
    const readSeconds = loadSeconds - inputSeconds
    const listSeconds = await secondsOf(() => environment.finishSortedLoad(sample))
    sample()
    const snapshot = environment.snapshot()
    mustEqual('the number of relationships', snapshot.relationshipCount(null), relationships)
    snapshot.close()
    await environment.close()
    return {
      nodes_per_s: perSecond(nodes, nodeSeconds),
      relationships_per_s: perSecond(relationships, readSeconds + listSeconds),
      load_s: round(readSeconds, 1),
      lists_s: round(listSeconds, 1),
      file_mib: fileMib(),
      bytes_per_relationship: round((fileMib() * 2 ** 20) / relationships, 1),
    }
  },

  async verify() {
    const seconds = await secondsOf(async () => {
      const findings = await verifyFolder(graphFolder(dataDir, { project: PROJECT, part: 'default' }), sample)
      mustEqual('the findings', findings.join(), '')
    })
    return { elements_per_s: perSecond(elements, seconds), seconds: round(seconds, 1) }
  },

  async questions() {
    const store = openStore(graphFolder(dataDir, { project: PROJECT, part: 'default' }), { readOnly: true })
    const reader = new Graph(store)
    const record: PartRecord = {}
    // The second time, all pages that the questions need are mapped.
    for (const pass of ['', 'again_'])
      for (const name of ['one_hop', 'two_hops'] as const) {
        const before = process.resourceUsage()
        const times = timesOf(name, reader, randomFrom(seed))
        const after = process.resourceUsage()
        const percentile = (share: number): number => round(times[Math.floor((times.length - 1) * share)]!, 1)
        record[`${pass}${name}_p50_us`] = percentile(0.5)
        record[`${pass}${name}_p99_us`] = percentile(0.99)
        record[`${pass}${name}_p999_us`] = percentile(0.999)
        record[`${pass}${name}_minor_faults`] = after.minorPageFault - before.minorPageFault
        record[`${pass}${name}_major_faults`] = after.majorPageFault - before.majorPageFault
      }
    await store.close()
    return record
  },

  /** From the start of the program that opens the graph to its first answer. */
  async open() {
    const start = performance.now()
    const store = openStore(graphFolder(dataDir, { project: PROJECT, part: 'default' }), { readOnly: true })
    const ends = {
      subject: ['Person', personId(0)],
      resource: ['Document', documentId(ownedDocument(graph, 0, 0))],
    } as const
    mustEqual('the first answer', new Graph(store).prepare(owns).exists(ends), true)
    const ms = performance.now() - start
    await store.close()
    return { ms: round(ms, 1) }
  },

  /** From the layout before checksums. The folder that is migrated is written before, and not timed. */
  async migrate() {
    const earlier = join(folder, 'earlier')
    await writeEarlierGraph(graphFolder(dataDir, { project: PROJECT, part: 'default' }), earlier)
    const before = process.cpuUsage()
    const seconds = await secondsOf(async () => {
      mustEqual('a migration', await migrateFolder(earlier, sample), true)
    })
    const { user, system } = process.cpuUsage(before)
    const store = openStore(earlier, { readOnly: true })
    const ends = {
      subject: ['Person', personId(0)],
      resource: ['Document', documentId(ownedDocument(graph, 0, 0))],
    } as const
    mustEqual('an answer after the migration', new Graph(store).prepare(owns).exists(ends), true)
    await store.close()
    mustEqual('the findings after the migration', (await verifyFolder(earlier, sample)).join(), '')
    return {
      elements_per_s: perSecond(elements, seconds),
      seconds: round(seconds, 1),
      migrate_cpu_s: round((user + system) / 1e6, 1),
    }
  },

  /** From the start of the program to its readiness, and to its first answer, with the graph as that of a project. */
  async start() {
    const served = join(folder, 'served')
    const program = join('src', 'main.ts')
    const { token, organization_id } = JSON.parse(await output([program, 'init', '--data', served, '--json']))
    const { project, key } = await withServer(served, async (url) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const post = async (kind: string, body: object): Promise<Record<string, string>> => {
        const answer = await fetch(`${url}/configs/v1/${kind}`, { method: 'POST', headers, body: JSON.stringify(body) })
        mustEqual(`the status of ${kind}`, answer.status, 201)
        return (await answer.json()) as Record<string, string>
      }
      const { id: project_id = '' } = await post('projects', { organization_id, name: 'scale', region: 'local' })
      const read = async () => (await fetch(`${url}/configs/v1/projects/${project_id}`, { headers })).json()
      while (((await read()) as { ikg_status: string }).ikg_status !== 'ACTIVE') await Bun.sleep(20)
      const { id: application_id } = await post('applications', { project_id, name: 'scale' })
      const permissions = { api_permissions: ['Authorization'] }
      const agent = await post('application-agents', { application_id, name: 'scale', ...permissions })
      const credential = await post('application-agent-credentials', { application_agent_id: agent.id })
      const policy = {
        meta: { policy_version: '3.0-kbac' },
        subject: { type: 'Person' },
        actions: ['own'],
        resource: { type: 'Document' },
        condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)' },
      }
      await post('authorization-policies', {
        project_id,
        name: 'own',
        status: 'ACTIVE',
        policy: JSON.stringify(policy),
      })
      return { project: project_id, key: credential.api_key ?? '' }
    })
    const path = (root: string, id: string): string =>
      join(graphFolder(root, { project: id, part: 'default' }), 'data.mdb')
    renameSync(path(dataDir, PROJECT), path(served, project))
    const question = {
      subject: { type: 'Person', id: personId(0) },
      action: { name: 'own' },
      resource: { type: 'Document', id: documentId(ownedDocument(graph, 0, 0)) },
    }
    const times: { readonly readyMs: number; readonly answerMs: number }[] = []
    try {
      for (let run = 0; run < START_RUNS; run++) {
        const startMs = performance.now()
        times.push(
          await withServer(served, async (url) => {
            while (!(await fetch(`${url}/ready`)).ok) await Bun.sleep(5)
            const readyMs = performance.now() - startMs
            const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
            const asked = { method: 'POST', headers, body: JSON.stringify(question) }
            const answer = await (await fetch(`${url}/access/v1/evaluation`, asked)).text()
            mustEqual('the first answer', answer, '{"decision":true}')
            return { readyMs, answerMs: performance.now() - startMs }
          }),
        )
      }
    } finally {
      renameSync(path(served, project), path(dataDir, PROJECT))
    }
    const median = (value: (time: (typeof times)[number]) => number): number =>
      round(times.map(value).sort((a, b) => a - b)[START_RUNS >> 1]!, 0)
    return { ready_ms: median(({ readyMs }) => readyMs), first_answer_ms: median(({ answerMs }) => answerMs) }
  },

  async export() {
    const seconds = await secondsOf(() => exportFolder({ dataDir, out: exported, progress: sample }))
    return { elements_per_s: perSecond(elements, seconds), seconds: round(seconds, 1), mib: mib(exported) }
  },

  async import() {
    const seconds = await secondsOf(async () => {
      const request = {
        dataDir: join(folder, 'imported'),
        from: exported,
        dryRun: false,
        resume: false,
        progress: sample,
      }
      mustEqual('the number of relationships', (await importFile(request)).relationships, relationships)
    })
    return {
      elements_per_s: perSecond(elements, seconds),
      relationships_per_s: perSecond(relationships, seconds),
      seconds: round(seconds, 1),
    }
  },

  async backup() {
    const seconds = await secondsOf(() =>
      backup({ dataDir, out: archive, madeBy: 'bench', nowMs: Date.now(), progress: sample }),
    )
    return { seconds: round(seconds, 1), mib_per_s: Math.round(mib(archive) / seconds), mib: mib(archive) }
  },

  async restore() {
    const seconds = await secondsOf(() =>
      restore({ from: archive, dataDir: join(folder, 'restored'), progress: sample }),
    )
    return { seconds: round(seconds, 1), mib_per_s: Math.round(mib(archive) / seconds) }
  },
}

/** Starts `serve` on a data folder, calls `use` with its address, and stops it. */
async function withServer<T>(data: string, use: (url: string) => Promise<T>): Promise<T> {
  const command = [process.execPath, join('src', 'main.ts'), 'serve', '--data', data, '--port', '0']
  // The lanes of a busy machine start slowly.
  const env = { ...process.env, VERDIGRAPH_LANE_WAIT_MS: '60000' }
  const child = Bun.spawn(command, { env, stdout: 'pipe', stderr: 'inherit' })
  try {
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
    for (let printed = ''; ; ) {
      const { value, done } = await reader.read()
      if (done) throw new Error(`the server did not start: ${printed}`)
      printed += value
      const url = /http:\/\/[\d.]+:\d+/.exec(printed)?.[0]
      if (url !== undefined) return await use(url)
    }
  } finally {
    child.kill('SIGTERM')
    await child.exited
  }
}

/** Microseconds of each question, ascending. Half of the questions are granted; each answer is compared with the graph. */
function timesOf(name: 'one_hop' | 'two_hops', reader: Graph, random: (below: number) => number): Float64Array {
  const query = reader.prepare(name === 'one_hop' ? owns : mayRead)
  const reaches = name === 'one_hop' ? isOwned : isReadable
  const times = new Float64Array(options.questions)
  for (let at = 0; at < times.length; at++) {
    const person = random(graph.people)
    const group = groupOf(graph, person, random(5))
    const right =
      name === 'one_hop' ? ownedDocument(graph, person, random(5)) : readableDocument(graph, group, random(10))
    const resource = at % 2 === 0 ? right : random(graph.documents)
    const ends = { subject: ['Person', personId(person)], resource: ['Document', documentId(resource)] } as const
    const start = performance.now()
    const answer = query.exists(ends)
    times[at] = (performance.now() - start) * 1000
    mustEqual(`${name} of person ${person} and document ${resource}`, answer, reaches(graph, person, resource))
  }
  return times.sort()
}

function mib(path: string): number {
  return Math.round(statSync(path).size / 2 ** 20)
}

function fileMib(): number {
  return mib(join(graphFolder(dataDir, { project: PROJECT, part: 'default' }), 'data.mdb'))
}

const run = steps[step]
if (run === undefined) throw new Error(`unknown step ${step}`)
const result = await run()
sample()
const { user, system } = process.cpuUsage()
console.log(
  JSON.stringify({ ...result, cpu_s: round((user + system) / 1e6, 1), own_mib: memory.own, resident_mib: memory.all }),
)
