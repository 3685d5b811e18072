// Kills workers of a served composite project, and their supervisor, during captures at several locations. Every
// acknowledged batch is complete with its proxies, no batch is present in part, and decisions match the stored graph.
// Run alone: bun test/stress/composite-served.ts [--rounds 20] [--seed N]
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { killAll, runCommand, type Server, startServer } from '../support/cli-process.ts'
import { connectionsTo, HttpConnection } from '../support/http-connection.ts'
import { numberAfter } from './flags.ts'

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

export interface ServedOutcome {
  readonly acknowledged: number
  readonly unanswered: number
  readonly whole: number
  readonly workersKilled: number
  readonly parentsKilled: number
  readonly decisions: number
  readonly faults: readonly string[]
}

/** The car that a person may see and the one that the person may not, both at one place. */
interface SentBatch {
  readonly name: string
  readonly place: ServedPlace
  /** The acknowledged nodes, and then the relationships of all of them. */
  stage: 'nothing' | 'nodes' | 'relationships'
  pending: boolean
}

export async function servedRounds(rounds: number, seed: number): Promise<ServedOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-served-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const faults: string[] = []
  let [acknowledged, unanswered, whole, workersKilled, parentsKilled, decisions] = [0, 0, 0, 0, 0, 0]
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    let server = await startServer(['--data', data, '--workers', '2'])
    const { id, key } = await setUp(server, token, organization_id)
    for (let round = 0; round < rounds; round++) {
      const batches: SentBatch[] = []
      const isParent = random.between(0, 2) === 0
      const answersMin = random.between(6, 60)
      let answers = 0
      let stopped = false
      const enough = Promise.withResolvers<void>()
      const writers = Array.from({ length: WRITERS }, async (_, writer) => {
        let line: HttpConnection | null = null
        for (let n = 0; !stopped; n++) {
          const batch: SentBatch = {
            name: `r${round}-${writer}-${n}`,
            place: PLACES[n % 3]!,
            stage: 'nothing',
            pending: true,
          }
          batches.push(batch)
          try {
            line ??= await HttpConnection.to(server.url)
            for (const stage of ['nodes', 'relationships'] as const) {
              batch.pending = true
              const reply = await line.request(
                'POST',
                `/capture/v1/${stage}`,
                { 'x-svc-clientkey': key },
                bodyFor(batch, stage),
              )
              if (reply.status !== 200) faults.push(`${batch.name}: ${stage} answered ${reply.status} ${reply.body}`)
              else batch.stage = stage
              batch.pending = false
              if (++answers === answersMin) enough.resolve()
            }
          } catch {
            line = null
            await Bun.sleep(5)
          }
        }
      })
      await enough.promise
      await Bun.sleep(random.between(0, 10))
      if (isParent) {
        parentsKilled += 1
        await server.kill('SIGKILL')
        stopped = true
        await Promise.all(writers)
        server = await startServer(['--data', data, '--workers', '2'])
      } else {
        workersKilled += 1
        const victim = random.pick(childrenOf(server.pid))
        process.kill(victim, 'SIGKILL')
        // The other worker continues, and the new one starts.
        while (childrenOf(server.pid).includes(victim) || childrenOf(server.pid).length < 2) await Bun.sleep(10)
        await Bun.sleep(random.between(0, 200))
        // A replacement repairs what the previous worker left unfinished before it listens.
        for (const line of (await connectionsTo(server.url, 2, 1)).flat()) line.close()
        stopped = true
        await Promise.all(writers)
        if (random.between(0, 1) === 0) {
          const code = await server.kill('SIGTERM')
          if (code !== 0) faults.push(`round ${round}: stopping ended with ${code}`)
          server = await startServer(['--data', data, '--workers', '2'])
        }
      }
      const states = readBeside(data, id, batches, (finding) => faults.push(`round ${round}: ${finding}`))
      const line = await HttpConnection.to(server.url)
      for (const batch of batches) {
        const found = states.get(batch.name)!
        acknowledged += batch.stage === 'nothing' ? 0 : batch.stage === 'nodes' ? 1 : 2
        unanswered += batch.pending ? 1 : 0
        const told = `round ${round}: ${batch.name} at ${batch.place}, acknowledged ${batch.stage}, found ${JSON.stringify(found)}`
        if (found.nodes % BATCH !== 0 || found.relationships % BATCH !== 0) faults.push(`${told}: half a batch`)
        if (found.nodes !== found.proxies) faults.push(`${told}: proxies`)
        if (batch.stage !== 'nothing' && found.nodes === 0) faults.push(`${told}: lost`)
        if (batch.stage === 'relationships' && found.relationships === 0) faults.push(`${told}: lost`)
        if (batch.pending && (batch.stage === 'nothing' ? found.nodes : found.relationships) > 0) whole += 1
        const asked = random.between(0, BATCH - 1)
        for (const [car, expected] of [
          [asked, found.relationships > 0],
          [(asked + 1) % BATCH, false],
        ] as const) {
          decisions += 1
          const reply = await line.request(
            'POST',
            '/access/v1/evaluation',
            { 'x-svc-clientkey': key },
            {
              subject: { type: 'Person', id: `${batch.name}-${asked}` },
              action: { name: 'see' },
              resource: { type: 'Car', id: `${batch.name}-${car}` },
              context: { input_params: { region: batch.place } },
            },
          )
          if (!reply.body.startsWith(`{"decision":${expected}`))
            faults.push(`${told}: car ${car} ${reply.status} ${reply.body}`)
        }
      }
    }
    const code = await server.kill('SIGTERM')
    if (code !== 0) faults.push(`the last server ended with ${code}`)
    const { exitCode, stdout } = await runCommand(['verify', '--data', data])
    if (exitCode !== 0) faults.push(`verify says: ${stdout}`)
  } finally {
    await killAll()
    rmSync(folder, { recursive: true, force: true })
  }
  return { acknowledged, unanswered, whole, workersKilled, parentsKilled, decisions, faults }
}

function bodyFor({ name, place }: SentBatch, stage: 'nodes' | 'relationships'): object {
  const node = (type: string, i: number) => ({ type, external_id: `${name}-${i}`, location: place })
  const of = <T>(make: (i: number) => T): T[] => Array.from({ length: BATCH }, (_, i) => make(i))
  return stage === 'nodes'
    ? { nodes: [...of((i) => node('Person', i)), ...of((i) => node('Car', i))] }
    : { relationships: of((i) => ({ source: node('Person', i), target: node('Car', i), type: 'SEES' })) }
}

/** Empty for a process that has ended. */
export function childrenOf(pid: number): number[] {
  if (!existsSync(`/proc/${pid}`)) return []
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children === '' ? [] : children.split(' ').map(Number)
}

function readBeside(data: string, project: string, batches: readonly SentBatch[], tell: (finding: string) => void) {
  const catalog = openCatalog(data, { clock: systemClock, readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  const snapshots = Object.fromEntries(
    (
      [
        ['home', 'default'],
        ['eu', PARTS[1]],
        ['us', PARTS[2]],
        ['global', 'global'],
      ] as const
    ).map(([name, part]) => {
      for (const finding of catalog.check(project, part) ?? ['it is missing']) tell(`${name}: ${finding}`)
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
    void catalog.close()
  }
}

async function setUp(server: Server, token: string, organization_id: string): Promise<{ id: string; key: string }> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const call = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const response = await fetch(`${server.url}/configs/v1/${path}`, init)
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  const project = { organization_id, name: 'served', region: 'local', db_connection: CONNECTION }
  const id = (await call('POST', 'projects', project)).id!
  while ((await call('GET', `projects/${id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(5)
  const application_id = (await call('POST', 'applications', { project_id: id, name: 'served' })).id
  const api_permissions = ['Authorization', 'Capture']
  const agent = await call('POST', 'application-agents', { application_id, name: 'served', api_permissions })
  const credential = await call('POST', 'application-agent-credentials', { application_agent_id: agent.id })
  const policy = JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: ['see'],
    resource: { type: 'Car' },
    condition: {
      cypher: 'USE graph.byName($region) MATCH (subject:Person)-[:SEES]->(resource:Car)',
    },
  })
  await call('POST', 'authorization-policies', { project_id: id, name: 'see', policy, status: 'ACTIVE' })
  return { id, key: credential.api_key! }
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const outcome = await servedRounds(numberAfter('--rounds', 20), seed)
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.faults.length === 0 ? 0 : 1)
}
