// Kills a server during a mixed capture load, again and again, and checks its guarantees: every acknowledged batch is
// stored, no batch is stored in part, all stored data is consistent, and the server restarts by itself.
// Run alone: bun test/stress/kill.ts [--rounds 20] [--seed N]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { numberAfter } from './flags.ts'
import {
  GROUP_ITEMS,
  type GroupState,
  type GroupStep,
  HOLDER,
  ITEM,
  isSame,
  itemsOf,
  NOTHING,
  stateOf,
  stepFrom,
} from './kill-model.ts'

const WRITERS = 4
/** Few, so that each is written repeatedly: created, changed, stripped and deleted. */
const GROUPS_PER_WRITER = 6
/** All items on one page. */
const PATIENT = {
  VERDIGRAPH_DECISION_TIME_MS: '60000',
  VERDIGRAPH_SEARCH_PAGE_MAX: String(WRITERS * GROUPS_PER_WRITER * GROUP_ITEMS),
}
/**
 * Waits for so many responses, which is independent of the speed of the disk, and then a little more: the kill can hit
 * any point.
 */
const LOAD = { answersMin: 4, answersMax: 100, moreMsMax: 10 }

export interface KillOutcome {
  readonly rounds: number
  readonly acknowledged: number
  /** Acknowledged batches by kind. */
  readonly byPath: Readonly<Record<string, number>>
  /** Batches that had no response before the kill and were found complete. */
  readonly whole: number
  readonly absent: number
  readonly lost: number
  readonly halves: number
  /**
   * From the command to the line that it listens; an empty program takes `bareMs`, and `cpuMs` is the processor time.
   */
  readonly startMs: {
    readonly median: number
    readonly max: number
    readonly bareMs: number
    readonly cpuMs: number | null
  }
  /** Empty if all checks pass. */
  readonly faults: readonly string[]
}

interface KilledProject {
  readonly id: string
  readonly key: string
}

/** Of one group: the last acknowledged batch, and the next one, which has no response. */
interface AcknowledgedState {
  state: GroupState
  pending: GroupStep | null
}

type AcknowledgedStates = ReadonlyMap<string, AcknowledgedState>

export async function killRounds(rounds: number, seed: number): Promise<KillOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-kill-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const groups = new Map<string, AcknowledgedState>()
  const byPath: Record<string, number> = {}
  const faults: string[] = []
  const starts: number[] = []
  const bare: number[] = []
  const spent: number[] = []
  let [whole, absent, lost, halves] = [0, 0, 0, 0]
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    let server = await startServer(['--data', data], PATIENT)
    const project = await setUp(server, token, organization_id)
    for (let round = 0; round < rounds; round++) {
      const answers = random.between(LOAD.answersMin, LOAD.answersMax)
      const moreMs = random.between(0, LOAD.moreMsMax)
      await loadUntilKilled(server, project, { round, answers, moreMs, groups, random, byPath })
      const start = performance.now()
      server = await startServer(['--data', data], PATIENT)
      starts.push(performance.now() - start)
      const spentMs = processorMs(server.pid)
      if (spentMs !== null) spent.push(spentMs)
      if (round % 10 === 0) bare.push(await bareStartMs())
      const { findings, states } = await readBeside(data, project, [...groups.keys()])
      faults.push(...findings.map((finding) => `round ${round}: ${finding}`))
      for (const [group, promised] of groups) {
        const found = states.get(group) as GroupState[]
        const { state, pending } = promised
        const [first] = found as [GroupState]
        const next = pending === null ? '' : `, then sent ${pending.path}`
        const told = `round ${round}: group ${group}, promised ${JSON.stringify(state)}${next}, found`
        if (found.some((one) => !isSame(one, first))) {
          halves += 1
          faults.push(`${told} several: ${JSON.stringify([...new Set(found.map((one) => JSON.stringify(one)))])}`)
        } else if (pending !== null && isSame(first, pending.after)) {
          // A batch that changes nothing proves nothing.
          if (!isSame(state, pending.after)) whole += 1
        } else if (isSame(first, state)) absent += pending === null ? 0 : 1
        else {
          lost += 1
          faults.push(`${told} ${JSON.stringify(first)}`)
        }
        promised.state = first
        promised.pending = null
      }
      await expectServed(server, project, groups, (fault) => faults.push(`round ${round}: ${fault}`))
    }
    const ended = await server.kill('SIGTERM')
    if (ended !== 0) faults.push(`the last server ended with ${ended}`)
    const { exitCode, stdout } = await runCommand(['verify', '--data', data])
    if (exitCode !== 0) faults.push(`verify says: ${stdout}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const acknowledged = Object.values(byPath).reduce((sum, count) => sum + count, 0)
  const cpuMs = spent.length === 0 ? null : median(spent)
  const startMs = { median: median(starts), max: Math.round(Math.max(...starts)), bareMs: median(bare), cpuMs }
  return { rounds, acknowledged, byPath, whole, absent, lost, halves, startMs, faults }
}

interface CaptureLoad {
  readonly round: number
  readonly answers: number
  readonly moreMs: number
  readonly groups: Map<string, AcknowledgedState>
  readonly random: Random
  readonly byPath: Record<string, number>
}

/** Each writer has its own groups and sends one batch after another until the server is gone. */
async function loadUntilKilled(server: Server, project: KilledProject, load: CaptureLoad): Promise<void> {
  const { round, moreMs, groups, random, byPath } = load
  const answered = Promise.withResolvers<void>()
  let missing = load.answers
  const writers = Array.from({ length: WRITERS }, async (_, writer) => {
    for (let n = 0; ; n++) {
      const group = `w${writer}-g${random.between(0, GROUPS_PER_WRITER - 1)}`
      let promised = groups.get(group)
      if (promised === undefined) {
        promised = { state: NOTHING, pending: null }
        groups.set(group, promised)
      }
      const step = stepFrom(promised.state, group, `r${round}-w${writer}-n${n}`, random)
      promised.pending = step
      const response = await post(server, `/capture/v1/${step.path}`, project, step.body).catch(() => null)
      if (response === null) return
      if (response.status !== 200) {
        throw new Error(`${step.path} was answered with ${response.status}: ${await response.text()}`)
      }
      promised.state = step.after
      promised.pending = null
      byPath[step.path] = (byPath[step.path] ?? 0) + 1
      missing -= 1
      if (missing === 0) answered.resolve()
    }
  })
  await Promise.race([answered.promise, Promise.all(writers)])
  await Bun.sleep(moreMs)
  await server.kill('SIGKILL')
  await Promise.all(writers)
}

/** Inconsistencies, and every item of these groups, read from the files while the server runs. */
async function readBeside(data: string, project: KilledProject, groups: readonly string[]) {
  const catalog = openCatalog(data, { clock: systemClock, readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
  try {
    const graph = catalog.graph(project.id, 'default')
    if (graph === null) throw new Error('the graph of the project is missing')
    const findings = catalog.check(project.id, 'default') as string[]
    const snapshot = graph.snapshot()
    try {
      return { findings, states: new Map(groups.map((group) => [group, statesOf(snapshot, group)])) }
    } finally {
      snapshot.close()
    }
  } finally {
    await catalog.close()
  }
}

function statesOf(snapshot: Snapshot, group: string): GroupState[] {
  const holder = snapshot.findNode(snapshot.symbol('label', HOLDER.type), HOLDER.external_id)
  const label = snapshot.symbol('label', ITEM)
  const holds = snapshot.symbol('type', 'HOLDS')
  const chunk = createChunk()
  return itemsOf(group).map((externalId) => {
    const node = label === 0 ? 0 : snapshot.findNode(label, externalId)
    if (node === 0) return NOTHING
    if (holds !== 0) snapshot.relationshipsBetween(holder, holds, node, chunk)
    const held = holds === 0 || chunk.length === 0 ? null : chunk.relationships[0]!
    return stateOf(
      snapshot.nodeStoredProperties(node),
      held === null ? null : snapshot.relationshipStoredProperties(held),
    )
  })
}

/** The responses of the server match its files. */
async function expectServed(
  server: Server,
  project: KilledProject,
  groups: AcknowledgedStates,
  tell: (fault: string) => void,
) {
  for (const [action, isThere] of [
    ['know', ({ node }: GroupState) => node !== null],
    ['hold', ({ held }: GroupState) => held !== null],
  ] as const) {
    const expected = [...groups].filter(([, { state }]) => isThere(state)).flatMap(([group]) => itemsOf(group))
    const found = await idsFound(server, project, action)
    const lacking = expected.filter((id) => !found.has(id))
    if (lacking.length > 0) tell(`a search for what it may ${action} lacks ${lacking.join(', ')}`)
    if (found.size > expected.length) tell(`a search for what it may ${action} finds what is not there`)
  }
}

async function idsFound(server: Server, project: KilledProject, action: string): Promise<Set<string>> {
  const response = await post(server, '/access/v1/search/resource', project, {
    subject: { type: HOLDER.type, id: HOLDER.external_id },
    action: { name: action },
    resource: { type: ITEM },
  })
  if (response.status !== 200) throw new Error(`the search answered ${response.status}: ${await response.text()}`)
  const { results } = (await response.json()) as { results: { id: string }[] }
  return new Set(results.map(({ id }) => id))
}

/** The time of an empty program. */
async function bareStartMs(): Promise<number> {
  const start = performance.now()
  await Bun.spawn([process.execPath, '-e', '0'], { stdout: 'ignore', stderr: 'ignore' }).exited
  return performance.now() - start
}

/**
 * The processor time of a process, which is more reliable on a busy machine; null if the system does not provide it.
 */
function processorMs(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // In hundredths of a second.
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return null
  }
}

function median(values: readonly number[]): number {
  return Math.round(values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0)
}

async function setUp(server: Server, token: string, organization_id: string): Promise<KilledProject> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const create = async (kind: string, body: object): Promise<Record<string, string>> => {
    const url = `${server.url}/configs/v1/${kind}`
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    if (response.status !== 201)
      throw new Error(`creating ${kind} answered ${response.status}: ${await response.text()}`)
    return (await response.json()) as Record<string, string>
  }
  const project_id = (await create('projects', { organization_id, name: 'kill', region: 'local' })).id
  for (;;) {
    const read = await fetch(`${server.url}/configs/v1/projects/${project_id}`, { headers })
    if (((await read.json()) as { ikg_status: string }).ikg_status === 'ACTIVE') break
  }
  const application_id = (await create('applications', { project_id, name: 'kill' })).id
  const api_permissions = ['Authorization', 'Capture']
  const agent = await create('application-agents', { application_id, name: 'kill', api_permissions })
  const credential = await create('application-agent-credentials', { application_agent_id: agent.id })
  for (const [action, cypher] of [
    ['know', 'MATCH (subject:Robot), (resource:Item)'],
    ['hold', 'MATCH (subject:Robot)-[:HOLDS]->(resource:Item)'],
  ] as const) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: HOLDER.type },
      actions: [action],
      resource: { type: ITEM },
      condition: { cypher },
    })
    await create('authorization-policies', { project_id, name: action, policy, status: 'ACTIVE' })
  }
  const project = { id: project_id as string, key: credential.api_key as string }
  await post(server, '/capture/v1/nodes', project, { nodes: [HOLDER] })
  return project
}

function post(server: Server, path: string, project: KilledProject, body: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-clientkey': project.key },
    body: JSON.stringify(body),
  })
}

if (import.meta.main) {
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const outcome = await killRounds(numberAfter('--rounds', 20), seed)
  console.log(JSON.stringify(outcome, null, 2))
  process.exit(outcome.faults.length === 0 ? 0 : 1)
}
