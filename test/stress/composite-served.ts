// Kills workers of a served composite project, and their supervisor, during captures at several locations. Every
// acknowledged batch is complete with its proxies, no batch is present in part, and decisions match the stored graph.
// Run alone: bun test/stress/composite-served.ts [--rounds 20] [--seed N]
import type { Catalog } from '../../src/store/tenancy/catalog.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { connectionsTo, HttpConnection } from '../support/http-connection.ts'
import { type KillModel, type KillRun, killProgram } from './kill-harness.ts'

const WRITERS = 6
const BATCH = 5
const PLACES = ['eu', 'us', 'home'] as const
export const CONNECTION = {
  url: 'lmdb:',
  name: 'main-db',
  composite_db_name: 'joined-db',
  alias_mapping: 'eu=eu-db&us=us-db&home=main-db&all=joined-db',
}
const PARTS = ['default', { database: 'eu-db' }, { database: 'us-db' }, 'global'] as const
type ServedPlace = (typeof PLACES)[number]

interface ServedFigures {
  readonly acknowledged: number
  readonly unanswered: number
  readonly whole: number
  readonly decisions: number
}

/** The car that a person may see and the one that the person may not, both at one place. */
interface SentBatch {
  readonly name: string
  readonly place: ServedPlace
  /** The acknowledged nodes, and then the relationships of all of them. */
  stage: 'nothing' | 'nodes' | 'relationships'
  pending: boolean
}

/** The batches of a round, and the parts of each that were acknowledged. */
class ServedKills implements KillModel<ServedFigures> {
  readonly serveArguments = ['--workers', '2']
  private readonly counts = { acknowledged: 0, unanswered: 0, whole: 0, decisions: 0 }
  private projectId = ''
  private key = ''

  async prepare(run: KillRun): Promise<void> {
    const permissions = ['Authorization', 'Capture']
    const { projectId, key } = await run.createFleet(permissions, { db_connection: CONNECTION })
    this.projectId = projectId
    this.key = key
    const cypher = 'USE graph.byName($region) MATCH (subject:Person)-[:SEES]->(resource:Car)'
    await run.createPolicy(projectId, 'see', 'Person', 'Car', cypher)
  }

  async round(run: KillRun, round: number): Promise<string> {
    const { random } = run
    const isParent = random.between(0, 2) === 0
    const load = new ServedLoad(run, this.key, round, random.between(6, 60))
    await load.enough
    await Bun.sleep(random.between(0, 10))
    if (isParent) {
      await run.killService(false)
      await load.stop()
      await run.start()
    } else await this.killWorker(run, load)
    const { batches } = load
    const states = await run.readBeside((catalog) =>
      statesOf(catalog, this.projectId, batches, (finding) => run.faults.push(finding)),
    )
    const line = await HttpConnection.to(run.server.url)
    for (const batch of batches) await this.compareBatch(run, line, batch, states.get(batch.name)!)
    return `killed the ${isParent ? 'service' : 'worker'}, ${batches.length} batches`
  }

  figures(): ServedFigures {
    return this.counts
  }

  private async killWorker(run: KillRun, load: ServedLoad): Promise<void> {
    const { random, server } = run
    const workers = (): number[] => childrenOf(server.pid).map(({ pid }) => pid)
    const victim = random.pick(workers())
    run.count('worker')
    killProcess(victim)
    // The other worker continues, and the new one starts.
    for (let now = workers(); now.includes(victim) || now.length < 2; now = workers()) await Bun.sleep(10)
    await Bun.sleep(random.between(0, 200))
    // A replacement repairs what the previous worker left unfinished before it listens.
    for (const line of (await connectionsTo(server.url, 2, 1)).flat()) line.close()
    await load.stop()
    if (random.between(0, 1) === 0) {
      await run.stop()
      await run.start()
    }
  }

  private async compareBatch(run: KillRun, line: HttpConnection, batch: SentBatch, found: FoundBatch): Promise<void> {
    const { counts } = this
    const { name, place, stage, pending } = batch
    counts.acknowledged += stage === 'nothing' ? 0 : stage === 'nodes' ? 1 : 2
    counts.unanswered += pending ? 1 : 0
    const expected = `${name} at ${place}, acknowledged ${stage}, found ${JSON.stringify(found)}`
    const { nodes, proxies, relationships } = found
    if (nodes % BATCH !== 0 || relationships % BATCH !== 0) run.faults.push(`${expected}: half a batch`)
    if (nodes !== proxies) run.faults.push(`${expected}: proxies`)
    if (stage !== 'nothing' && nodes === 0) run.faults.push(`${expected}: lost`)
    if (stage === 'relationships' && relationships === 0) run.faults.push(`${expected}: lost`)
    if (pending && (stage === 'nothing' ? nodes : relationships) > 0) counts.whole += 1
    const asked = run.random.between(0, BATCH - 1)
    for (const [car, decision] of [
      [asked, relationships > 0],
      [(asked + 1) % BATCH, false],
    ] as const) {
      counts.decisions += 1
      const body = {
        subject: { type: 'Person', id: `${name}-${asked}` },
        action: { name: 'see' },
        resource: { type: 'Car', id: `${name}-${car}` },
        context: { input_params: { region: place } },
      }
      const reply = await line.request('POST', '/access/v1/evaluation', { 'x-svc-clientkey': this.key }, body)
      if (!reply.body.startsWith(`{"decision":${decision}`))
        run.faults.push(`${expected}: car ${car} ${reply.status} ${reply.body}`)
    }
  }
}

/** Captures batches until it is stopped, also while a worker is gone. */
class ServedLoad {
  readonly batches: SentBatch[] = []
  /** Resolves after enough answers. */
  readonly enough: Promise<void>
  private isStopped = false
  private readonly writers: readonly Promise<void>[]

  constructor(run: KillRun, key: string, round: number, answersMin: number) {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.enough = promise
    const { url } = run.server
    let answers = 0
    this.writers = Array.from({ length: WRITERS }, async (_, writer) => {
      let line: HttpConnection | null = null
      for (let n = 0; !this.isStopped; n++) {
        const name = `r${round}-${writer}-${n}`
        const batch: SentBatch = { name, place: PLACES[n % 3]!, stage: 'nothing', pending: true }
        this.batches.push(batch)
        try {
          line ??= await HttpConnection.to(url)
          for (const stage of ['nodes', 'relationships'] as const) {
            batch.pending = true
            const headers = { 'x-svc-clientkey': key }
            const reply = await line.request('POST', `/capture/v1/${stage}`, headers, bodyFor(batch, stage))
            if (reply.status !== 200) run.faults.push(`${name}: ${stage} answered ${reply.status} ${reply.body}`)
            else batch.stage = stage
            batch.pending = false
            if (++answers === answersMin) resolve()
          }
        } catch {
          line = null
          await Bun.sleep(5)
        }
      }
    })
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await Promise.all(this.writers)
  }
}

function bodyFor({ name, place }: SentBatch, stage: 'nodes' | 'relationships'): object {
  const node = (type: string, i: number) => ({ type, external_id: `${name}-${i}`, location: place })
  const of = <T>(make: (i: number) => T): T[] => Array.from({ length: BATCH }, (_, i) => make(i))
  return stage === 'nodes'
    ? { nodes: [...of((i) => node('Person', i)), ...of((i) => node('Car', i))] }
    : { relationships: of((i) => ({ source: node('Person', i), target: node('Car', i), type: 'SEES' })) }
}

/** The stored elements of a batch. */
interface FoundBatch {
  readonly nodes: number
  readonly proxies: number
  readonly relationships: number
}

function statesOf(
  catalog: Catalog,
  project: string,
  batches: readonly SentBatch[],
  onFinding: (finding: string) => void,
): ReadonlyMap<string, FoundBatch> {
  const snapshots = Object.fromEntries(
    (
      [
        ['home', 'default'],
        ['eu', PARTS[1]],
        ['us', PARTS[2]],
        ['global', 'global'],
      ] as const
    ).map(([name, part]) => {
      for (const finding of catalog.check(project, part) ?? ['it is missing']) onFinding(`${name}: ${finding}`)
      return [name, catalog.graph(project, part)!.snapshot()]
    }),
  )
  try {
    return new Map(
      batches.map(({ name, place }) => {
        const at = { own: snapshots[place]!, global: snapshots.global! }
        let [nodes, proxies, relationships] = [0, 0, 0]
        for (let i = 0; i < BATCH; i++) {
          for (const type of ['Person', 'Car']) {
            if (at.own.findNode(at.own.symbol('label', type), `${name}-${i}`) > 0) nodes += 1
            if (at.global.findNode(at.global.symbol('label', type), `${name}-${i}`) > 0) proxies += 1
          }
          const person = at.own.findNode(at.own.symbol('label', 'Person'), `${name}-${i}`)
          if (person > 0 && at.own.degree(person, 'out', at.own.symbol('type', 'SEES')) > 0) relationships += 1
        }
        return [name, { nodes, proxies, relationships }] as const
      }),
    )
  } finally {
    for (const snapshot of Object.values(snapshots)) snapshot.close()
  }
}

if (import.meta.main) await killProgram(new ServedKills(), 20)
