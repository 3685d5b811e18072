// The load of the run of database faults: writers with families of their own, and readers that ask for decisions all the time.
import { Random } from '../generate/random.ts'
import type { Server } from '../support/cli-process.ts'
import { createFleet } from '../support/fleet.ts'
import { runOnServer } from '../support/graph-servers.ts'
import {
  CARS,
  carOf,
  Family,
  type FamilyAction,
  type FamilyState,
  familyActions,
  faultPolicies,
  personOf,
  receiptOf,
} from './database-fault-model.ts'

const WRITERS = 3
const FAMILIES_PER_WRITER = 4
const READERS = 2
/** Time for a request, milliseconds. */
const ANSWER_MS_MAX = 240_000
/** Few, because the time is that of the whole request. */
const EVALUATIONS_PER_REQUEST = 8
/** Clients wait after a refusal, a little. */
const REFUSED_PAUSE_MS = 100

/** The time limit of a decision, milliseconds. A decision that is not found in it is a denial. */
export const DECISION_MS = 3_000

/** Asked for, and never acknowledged to own or to see anything. */
const WITNESS = 'witness'
const STRANGER = 'stranger'

interface LoadAnswer {
  readonly status: number
  readonly body: Record<string, unknown>
}

interface EvaluationItem {
  readonly subject: { readonly type: string; readonly id: string }
  readonly action: { readonly name: string }
  readonly resource: { readonly type: string; readonly id: string }
}

/** Counts of a run. */
export interface LoadCounts {
  acknowledged: number
  /** Captures without an answer, or with 503. */
  refused: number
  /** Refused captures that are stored. */
  refusedAndStored: number
  decisions: number
  undecided: number
  /** Denials at the time limit of a decision: the server has not answered in time. */
  late: number
}

/** The load. Its project is in a database server. */
export class FaultLoad {
  readonly counts: LoadCounts = {
    acknowledged: 0,
    refused: 0,
    refusedAndStored: 0,
    decisions: 0,
    undecided: 0,
    late: 0,
  }
  /** Sentences: an acknowledged capture that is lost, a capture in part, a wrong decision, an answer that no fault explains. */
  readonly lost: string[] = []
  readonly partial: string[] = []
  readonly wrong: string[] = []
  readonly unexpected: string[] = []
  readonly projectId: string
  /** Null: killed. */
  private server: Server | null
  private readonly key: string
  /** Of the server, past the service and the proxy. */
  private readonly databaseUrl: string
  private readonly families: readonly Family[]
  private readonly seed: number
  private last = 0
  private undecidedBefore = 0
  /** Captures with a receipt that were not verified yet, by number; true: acknowledged. */
  private readonly receipts = new Map<number, boolean>()
  private waiting: { readonly fromMs: number; readonly resolve: (endMs: number) => void }[] = []
  private running: Promise<unknown> | null = null
  private isRunning = false

  private constructor(server: Server, project: { projectId: string; key: string }, databaseUrl: string, seed: number) {
    this.server = server
    this.projectId = project.projectId
    this.key = project.key
    this.databaseUrl = databaseUrl
    this.seed = seed
    this.families = Array.from({ length: WRITERS * FAMILIES_PER_WRITER }, (_, at) => new Family(`f${at}`))
  }

  /** Creates the project. `sink`: the body of its event sink. `url`: of the server, as the service reaches it. */
  static async create(options: {
    readonly server: Server
    readonly token: string
    readonly organizationId: string
    readonly url: string
    readonly databaseUrl: string
    readonly seed: number
    sink(projectId: string): object
  }): Promise<FaultLoad> {
    const { server, token, organizationId, url, databaseUrl, seed } = options
    const project = await createFleet(server, token, organizationId, ['Authorization', 'Capture'], {
      db_connection: { url },
    })
    for (const [action, { resource, cypher }] of Object.entries(faultPolicies)) {
      const policy = JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: 'Person' },
        actions: [action],
        resource: { type: resource },
        condition: { cypher },
      })
      const fields = { project_id: project.projectId, name: action, policy, status: 'ACTIVE' }
      await project.configure('POST', 'authorization-policies', fields)
    }
    await project.configure('POST', 'event-sinks', options.sink(project.projectId))
    const load = new FaultLoad(server, project, databaseUrl, seed)
    const people = [WITNESS, STRANGER].map((id) => personOf(id))
    if (!(await load.capture('nodes', { nodes: people }))) throw new Error('the first capture was refused')
    return load
  }

  /** The service was started again; null: it was killed. */
  use(server: Server | null): void {
    this.server = server
  }

  start(): void {
    this.isRunning = true
    const writers = Array.from({ length: WRITERS }, (_, at) => this.write(at))
    const readers = Array.from({ length: READERS }, (_, at) => this.read(new Random(this.seed + 1000 + at)))
    this.running = Promise.all([...writers, ...readers])
  }

  /** Resolves when so many captures are acknowledged from now on. */
  async acknowledges(count: number): Promise<void> {
    const enough = this.counts.acknowledged + count
    const endMs = performance.now() + ANSWER_MS_MAX
    while (this.counts.acknowledged < enough) {
      if (performance.now() > endMs) throw new Error('the service does not store captures')
      await Bun.sleep(5)
    }
  }

  /** Resolves when no request is in progress. */
  async pause(): Promise<void> {
    this.isRunning = false
    await this.running
  }

  /** The time at which a capture is acknowledged that was sent at `fromMs` or later, in milliseconds; null: none is in time. */
  async recovered(fromMs: number, limitMs: number): Promise<number | null> {
    const { promise, resolve } = Promise.withResolvers<number | null>()
    this.waiting.push({ fromMs, resolve })
    const timer = setTimeout(resolve, limitMs, null)
    const endMs = await promise
    clearTimeout(timer)
    return endMs
  }

  private async send(path: string, body: object): Promise<LoadAnswer | null> {
    const { server } = this
    if (server === null) {
      await Bun.sleep(20)
      return null
    }
    const sentMs = performance.now()
    try {
      const response = await fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'x-svc-clientkey': this.key, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      const answer = { status: response.status, body: (await response.json()) as Record<string, unknown> }
      // 408: a write has waited for longer than the time limit of a transaction.
      if ([200, 408, 503].includes(answer.status)) return answer
      this.unexpected.push(`${path} was answered with ${answer.status} ${JSON.stringify(answer.body)}`)
      return answer
    } catch {
      if (performance.now() - sentMs >= ANSWER_MS_MAX) this.unexpected.push(`${path} had no answer in time`)
      return null
    }
  }

  /** Whether the capture was acknowledged. */
  private async capture(path: string, body: object): Promise<boolean> {
    const fromMs = performance.now()
    const isAcknowledged = (await this.send(`/capture/v1/${path}`, body))?.status === 200
    this.counts[isAcknowledged ? 'acknowledged' : 'refused'] += 1
    if (!isAcknowledged) return false
    const endMs = performance.now()
    this.waiting = this.waiting.filter((one) => {
      if (fromMs < one.fromMs) return true
      one.resolve(endMs)
      return false
    })
    return true
  }

  private async write(writer: number): Promise<void> {
    const random = new Random(this.seed + 1 + writer + this.last)
    const own = this.families.slice(writer * FAMILIES_PER_WRITER, (writer + 1) * FAMILIES_PER_WRITER)
    while (this.isRunning) {
      const family = random.pick(own)
      this.last += 1
      const step = family.next(this.last, random)
      const before = family.possible
      family.begin(step)
      if (step.hasReceipt) this.receipts.set(step.number, false)
      const isAcknowledged = await this.capture(step.path, step.body)
      if (isAcknowledged) {
        if (step.hasReceipt) this.receipts.set(step.number, true)
        family.acknowledge(step, before)
      } else await Bun.sleep(REFUSED_PAUSE_MS)
      await this.decideOn(family)
    }
  }

  private async read(random: Random): Promise<void> {
    while (this.isRunning) {
      await this.decideOn(random.pick(this.families))
      await this.askForStranger(random.pick(this.families))
      const { undecided } = this.counts
      await Bun.sleep(undecided > this.undecidedBefore ? REFUSED_PAUSE_MS : 10)
      this.undecidedBefore = undecided
    }
  }

  /** The decisions about a family must follow from a possible state, unless it has changed in between. */
  private async decideOn(family: Family): Promise<void> {
    const { version } = family
    const items = itemsOf(family)
    const decisions = await this.decide(items)
    if (decisions === null || family.version !== version) return
    for (const [at, item] of items.entries()) this.check(family, item, decisions[at])
  }

  private check(family: Family, { action, resource }: EvaluationItem, decision: boolean | null | undefined): void {
    if (decision == null || family.decisions(action.name as FamilyAction).has(decision)) return
    const states = JSON.stringify(family.possible)
    this.wrong.push(`${family.name} may${decision ? '' : ' not'} ${action.name} ${resource.id}, in ${states}`)
  }

  /** Persons who own nothing. */
  private async askForStranger(family: Family): Promise<void> {
    const items = CARS.map((car) => itemOf(STRANGER, 'drive', carOf(family.name, car)))
    for (const decision of (await this.decide(items)) ?? [])
      if (decision === true) this.wrong.push(`${STRANGER} may drive a car of ${family.name}`)
  }

  /** The decisions; null: there is no answer. A null among them is a denial at the time limit, or because the server is away. */
  private async decide(evaluations: readonly EvaluationItem[]): Promise<readonly (boolean | null)[] | null> {
    const sentMs = performance.now()
    const answer = await this.send('/access/v1/evaluations', { evaluations })
    const isLate = performance.now() - sentMs >= DECISION_MS
    if (answer?.status !== 200) {
      this.counts.undecided += evaluations.length
      return null
    }
    const items = answer.body.evaluations as { readonly decision: boolean; readonly context?: { reason?: string } }[]
    // Of a server that is away.
    const isUnanswered = ({ context }: (typeof items)[number]): boolean =>
      context?.reason?.startsWith('unavailable:') === true
    const unanswered = items.filter(isUnanswered).length
    const decisions = items.map((item) => (isUnanswered(item) || (isLate && !item.decision) ? null : item.decision))
    const late = decisions.filter((decision) => decision === null).length - unanswered
    this.counts.undecided += unanswered
    this.counts.late += late
    this.counts.decisions += decisions.length - late - unanswered
    return decisions
  }

  /** The decisions; repeats the request until all are there. */
  private async decided(evaluations: readonly EvaluationItem[]): Promise<readonly (boolean | null)[]> {
    const endMs = performance.now() + ANSWER_MS_MAX
    while (performance.now() < endMs) {
      const decisions = await this.decide(evaluations)
      if (decisions?.every((decision) => decision !== null) === true) return decisions
      await Bun.sleep(REFUSED_PAUSE_MS)
    }
    throw new Error('the service does not decide any more')
  }

  /** Compares the graph, and what the service decides on it, with what was acknowledged. Call it between `pause` and `start`. */
  async verify(): Promise<void> {
    // A capture that the server still works on has the lock of the graph: the next one ends after it.
    const fence = { nodes: [personOf(WITNESS)] }
    for (let tries = 0; !(await this.capture('nodes', fence)); tries++) {
      if (tries > 500) throw new Error('the service does not store any more')
      await Bun.sleep(50)
    }
    const stored = await this.storedFamilies()
    for (const family of this.families) {
      const state = this.wholeState(family.name, stored)
      const isPossible = family.possible.some((each) => JSON.stringify(each) === JSON.stringify(state))
      if (!isPossible) {
        this.lost.push(`${family.name} is ${JSON.stringify(state)}, expected one of ${JSON.stringify(family.possible)}`)
      }
      if (state !== null) family.possible = [state]
      const items = itemsOf(family)
      for (const [at, decision] of (await this.decided(items)).entries()) this.check(family, items[at]!, decision)
    }
    await this.verifyReceipts()
  }

  private async verifyReceipts(): Promise<void> {
    const unverified = [...this.receipts]
    this.receipts.clear()
    const found = await runOnServer(
      this.databaseUrl,
      'MATCH (r:Receipt) WHERE r.external_id IN $ids RETURN r.external_id AS id',
      { ids: unverified.map(([number]) => String(number)) },
    )
    const stored = new Set(found.map(({ id }) => Number(id)))
    for (let at = 0; at < unverified.length; at += EVALUATIONS_PER_REQUEST) {
      const part = unverified.slice(at, at + EVALUATIONS_PER_REQUEST)
      const decisions = await this.decided(part.map(([number]) => itemOf(WITNESS, 'see', receiptOf(number))))
      part.forEach(([number, isAcknowledged], index) => {
        const isStored = stored.has(number)
        if (isAcknowledged && !isStored) this.lost.push(`the acknowledged capture ${number} is not stored`)
        if (!isAcknowledged && isStored) this.counts.refusedAndStored += 1
        if (decisions[index] !== isStored) this.wrong.push(`capture ${number}: ${isStored} is stored, and not decided`)
      })
    }
  }

  /** All elements of families, past the service. */
  private async storedFamilies(): Promise<ReadonlyMap<string, unknown>> {
    const nodes = await runOnServer(
      this.databaseUrl,
      'MATCH (n:Person|Car) RETURN n.external_id AS name, coalesce(n.n, -1) AS n',
    )
    const relationships = await runOnServer(
      this.databaseUrl,
      "MATCH (p:Person)-[r]->(c:Car) RETURN p.external_id + ' ' + type(r) + ' ' + c.external_id AS name, coalesce(r.n, -1) AS n",
    )
    return new Map([...nodes, ...relationships].map(({ name, n }) => [String(name), Number(n)]))
  }

  /** The state of a family; null: a capture is stored in part. */
  private wholeState(family: string, stored: ReadonlyMap<string, unknown>): FamilyState | null {
    const numbersOf = (names: readonly string[]): readonly unknown[] => [
      ...new Set(names.map((name) => stored.get(name) ?? null)),
    ]
    const cars = CARS.map((car) => carOf(family, car).external_id)
    const nodes = numbersOf([family, ...cars])
    const owns = numbersOf(cars.map((car) => `${family} OWNS ${car}`))
    const bans = numbersOf(cars.map((car) => `${family} BANNED ${car}`))
    if (nodes.length > 1 || owns.length > 1 || bans.length > 1) {
      this.partial.push(`${family} is stored in part: ${JSON.stringify({ nodes, owns, bans })}`)
      return null
    }
    return { nodes: nodes[0] as number | null, owns: owns[0] as number | null, isBanned: bans[0] !== null }
  }
}

function itemsOf({ name }: Family): readonly EvaluationItem[] {
  return familyActions.flatMap((action) => CARS.map((car) => itemOf(name, action, carOf(name, car))))
}

function itemOf(
  person: string,
  name: string,
  { type, external_id }: { readonly type: string; readonly external_id: string },
): EvaluationItem {
  return { subject: { type: 'Person', id: person }, action: { name }, resource: { type, id: external_id } }
}
