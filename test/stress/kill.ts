// Kills a server during a mixed capture load, again and again, and checks its guarantees: every acknowledged batch is
// stored, no batch is stored in part, all stored data is consistent, and the server restarts by itself.
// Run alone: bun test/stress/kill.ts [--rounds 20] [--seed N]
import { readFileSync } from 'node:fs'
import { readGraphNow } from '../../src/engine/read-graph.ts'
import { createChunk, type Snapshot } from '../../src/engine/store.ts'
import type { Server } from '../support/cli-process.ts'
import { type KillModel, type KillRun, killProgram } from './kill-harness.ts'
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
/**
 * Waits for so many responses, which is independent of the speed of the disk, and then a little more: the kill can hit
 * any point.
 */
const LOAD = { answersMin: 4, answersMax: 100, moreMsMax: 10 }

interface CaptureFigures {
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

/** The state of each group by its last acknowledged batch. */
export class CaptureKills implements KillModel<CaptureFigures> {
  readonly settings = {
    VERDIGRAPH_DECISION_TIME_MS: '60000',
    // All items on one page.
    VERDIGRAPH_SEARCH_PAGE_MAX: String(WRITERS * GROUPS_PER_WRITER * GROUP_ITEMS),
  }
  private readonly groups = new Map<string, AcknowledgedState>()
  private readonly byPath: Record<string, number> = {}
  private readonly counts = { whole: 0, absent: 0, lost: 0, halves: 0 }
  private readonly starts: number[] = []
  private readonly bare: number[] = []
  private readonly spent: number[] = []
  private project!: KilledProject

  async prepare(run: KillRun): Promise<void> {
    const { projectId, key } = await run.createFleet(['Authorization', 'Capture'])
    this.project = { id: projectId, key }
    for (const [action, cypher] of [
      ['know', 'MATCH (subject:Robot), (resource:Item)'],
      ['hold', 'MATCH (subject:Robot)-[:HOLDS]->(resource:Item)'],
    ] as const) {
      await run.createPolicy(projectId, action, HOLDER.type, ITEM, cypher)
    }
    await post(run.server, '/capture/v1/nodes', this.project, { nodes: [HOLDER] })
  }

  async round(run: KillRun, round: number): Promise<string> {
    const { project, groups, starts, spent } = this
    const answers = run.random.between(LOAD.answersMin, LOAD.answersMax)
    await this.loadUntilKilled(run, round, answers, run.random.between(0, LOAD.moreMsMax))
    const start = performance.now()
    await run.start()
    starts.push(performance.now() - start)
    const spentMs = processorMs(run.server.pid)
    if (spentMs !== null) spent.push(spentMs)
    if (round % 10 === 1) this.bare.push(await bareStartMs())
    const { findings, states } = await readBeside(run, project, [...groups.keys()])
    run.faults.push(...findings)
    for (const [group, promised] of groups) {
      const fault = this.compareGroup(group, promised, states.get(group) as GroupState[])
      if (fault !== null) run.faults.push(fault)
    }
    await expectServed(run.server, project, groups, (fault) => run.faults.push(fault))
    return `killed after ${answers} answers`
  }

  figures(): CaptureFigures {
    const { byPath, counts, starts, bare, spent } = this
    const acknowledged = Object.values(byPath).reduce((sum, count) => sum + count, 0)
    const cpuMs = spent.length === 0 ? null : median(spent)
    const startMs = { median: median(starts), max: Math.round(Math.max(...starts)), bareMs: median(bare), cpuMs }
    return { acknowledged, byPath, ...counts, startMs }
  }

  /** Returns the fault of a group; null: it is in the acknowledged state, or in that of the batch without an answer. */
  private compareGroup(group: string, promised: AcknowledgedState, found: readonly GroupState[]): string | null {
    const { state, pending } = promised
    const [first] = found as [GroupState]
    const next = pending === null ? '' : `, then sent ${pending.path}`
    const expected = `group ${group}, promised ${JSON.stringify(state)}${next}, found`
    promised.state = first
    promised.pending = null
    if (found.some((one) => !isSame(one, first))) {
      this.counts.halves += 1
      return `${expected} several: ${JSON.stringify([...new Set(found.map((one) => JSON.stringify(one)))])}`
    }
    if (pending !== null && isSame(first, pending.after)) {
      // A batch that changes nothing proves nothing.
      if (!isSame(state, pending.after)) this.counts.whole += 1
      return null
    }
    if (isSame(first, state)) {
      this.counts.absent += pending === null ? 0 : 1
      return null
    }
    this.counts.lost += 1
    return `${expected} ${JSON.stringify(first)}`
  }

  /** Each writer has its own groups and sends one batch after another until the server is gone. */
  private async loadUntilKilled(run: KillRun, round: number, answers: number, moreMs: number): Promise<void> {
    const { project, groups, byPath } = this
    const { server, random } = run
    const answered = Promise.withResolvers<void>()
    let missing = answers
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
    await run.killService(false)
    await Promise.all(writers)
  }
}

/** Inconsistencies, and every item of these groups, read from the files while the server runs. */
function readBeside(run: KillRun, project: KilledProject, groups: readonly string[]) {
  return run.readBeside((catalog) => {
    const graph = catalog.graph(project.id, 'default')
    if (graph === null) throw new Error('the graph of the project is missing')
    const findings = catalog.check(project.id, 'default') as string[]
    const states = readGraphNow(graph, (snapshot) => new Map(groups.map((group) => [group, statesOf(snapshot, group)])))
    return { findings, states }
  })
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

function post(server: Server, path: string, project: KilledProject, body: unknown): Promise<Response> {
  return fetch(`${server.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-svc-clientkey': project.key },
    body: JSON.stringify(body),
  })
}

if (import.meta.main) await killProgram(new CaptureKills(), 20)
