// Kills the process that delivers events, the receiver and the service in turn during captures. Every event must arrive, the events
// of each element in order, and the copy of the graph that is built from the events alone must equal the graph.
// Run alone: bun test/stress/event-kills.ts [--rounds 6] [--events 6000] [--kafka] [--seed N]
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { GRAPH_STREAM } from '../../src/store/graph/write-batch.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../src/store/lmdb/open-lock.ts'
import { openCatalog } from '../../src/store/tenancy/catalog.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { BrokerProcess, freePorts } from '../support/counterparts/broker-process.ts'
import { createTopic, prepareKafka, readTopic } from '../support/counterparts/kafka.ts'
import { sinkBody } from '../support/events.ts'
import { type ChangePayload, GraphCopy, hashOfLines, isChange, linesOfExport } from '../support/graph-copy.ts'
import { hasFlag, numberAfter } from './flags.ts'

const WRITERS = 3
const BATCH_MAX = 60
/** Few, so that each node is created, changed and deleted repeatedly. */
const NODES = 400
const SETTINGS = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1,localhost', VERDIGRAPH_CAPTURE_ITEMS_MAX: '1000' }
const TOPIC = 'events'
/** One of the capture, and one of the change. */
const EVENTS_PER_ELEMENT = 2

export interface EventKillOptions {
  readonly rounds: number
  /** Events of captures and changes, about. */
  readonly events: number
  readonly seed: number
  readonly kafka: boolean
  readonly note?: (line: string) => void
}

export interface EventKillOutcome {
  readonly events: number
  readonly arrived: number
  readonly duplicates: number
  readonly missing: number
  readonly kills: Readonly<Record<string, number>>
  readonly elements: number
  readonly graphHash: string
  readonly copyHash: string
  /** From the last capture until everything had arrived. */
  readonly drainMs: number
  readonly faults: readonly string[]
}

/** An event as the receiver has stored it. */
interface Arrived {
  readonly id: string
  readonly source: string
  readonly type: string
  readonly subject: string
  readonly sequence: string
  readonly data: Record<string, unknown>
  readonly text: string
}

/** Where events are sent to. */
export interface KilledReceiver {
  readonly provider: object
  kill(): void
  start(): Promise<void>
  arrived(): Promise<Arrived[]>
}

/** Runs the rounds. Throws `CounterpartMissing` if Kafka is asked for and cannot be installed. */
export async function eventKillRounds(options: EventKillOptions): Promise<EventKillOutcome> {
  const { rounds, seed, note = () => undefined } = options
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-event-kills-'))
  const data = join(folder, 'data')
  const random = new Random(seed)
  const receiver = options.kafka ? await kafkaReceiver(folder) : await httpReceiver(folder)
  await receiver.start()
  const kills: Record<string, number> = { dispatcher: 0, receiver: 0, service: 0 }
  let server: Server | null = null
  try {
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const start = (): Promise<Server> => startServer(['--data', data], SETTINGS)
    server = await start()
    const load = await EventLoad.create(server, token, organization_id)
    // Elements that only the initial snapshot contains.
    await load.run(server, random, 300)
    await load.addSink(server, receiver.provider)
    load.sent = 0
    for (let round = 0; round < rounds; round++) {
      const victim = (['dispatcher', 'receiver', 'service'] as const)[round % 3]!
      const until = Math.ceil((options.events * (round + 1)) / rounds)
      const killAt = random.between(load.sent, until)
      let killed: Promise<void> | null = null
      while (load.sent < until) {
        const running: Server = server
        await load.run(server, random, until, () => {
          if (killed !== null || load.sent < killAt) return
          kills[victim] = kills[victim]! + 1
          if (victim === 'service') killed = running.kill('SIGKILL').then(() => undefined)
          else if (victim === 'receiver') killed = restart(receiver, random.between(0, 500))
          else killed = killDispatcher(running)
        })
        await killed
        if (!isRunning(server.pid)) server = await start()
      }
      note(`round ${round + 1}: killed the ${victim}, ${load.sent} events`)
    }
    const drainStart = performance.now()
    const ends = await untilDelivered(data, load.projectId)
    const drainMs = Math.round(performance.now() - drainStart)
    const faults: string[] = []
    if ((await server.kill('SIGTERM')) !== 0) faults.push('the service did not end cleanly')
    server = null
    const exported = await runCommand(['export', '--data', data, '--out', '-'])
    const graph = linesOfExport(exported.stdout)
    const arrived = await receiver.arrived()
    const { duplicates, missing, copy } = check(arrived, ends, faults)
    const [graphHash, copyHash] = [hashOfLines(graph), hashOfLines(copy.lines())]
    if (graphHash !== copyHash) faults.push(differenceOf(graph, copy.lines()))
    const verified = await runCommand(['verify', '--data', data])
    if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
    const events = [...ends.values()].reduce((sum, next) => sum + next - 1, 0)
    const counts = { events, arrived: arrived.length, duplicates, missing, kills, elements: graph.length }
    return { ...counts, graphHash, copyHash, drainMs, faults }
  } finally {
    await server?.kill('SIGKILL')
    receiver.kill()
    rmSync(folder, { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function restart(receiver: KilledReceiver, downMs: number): Promise<void> {
  receiver.kill()
  await Bun.sleep(downMs)
  await receiver.start()
}

async function killDispatcher(server: Server): Promise<void> {
  for (let tries = 0; tries < 3000; tries++) {
    const found = childrenOf(server.pid).find(({ words }) => words.includes('background'))
    if (found !== undefined) {
      killProcess(found.pid)
      return
    }
    await Bun.sleep(20)
  }
  throw new Error('no process delivers events')
}

/** Captures at random: nodes and relationships are created, changed and deleted. */
class EventLoad {
  /** Events of answered requests. */
  sent = 0
  readonly projectId: string
  private readonly token: string
  private readonly key: string
  private count = 0

  private constructor(projectId: string, token: string, key: string) {
    this.projectId = projectId
    this.token = token
    this.key = key
  }

  static async create(server: Server, token: string, organization_id: string): Promise<EventLoad> {
    const { projectId, key } = await createFleet(server, token, organization_id)
    return new EventLoad(projectId, token, key)
  }

  async addSink(server: Server, provider: object): Promise<void> {
    const changes = { ...provider, include_cdc_events: true, snapshot: 'initial' }
    const body = sinkBody(this.projectId, [{ type: 'svc.audit.*' }], { main: changes })
    await configure(server, this.token, 'POST', 'event-sinks', body)
  }

  /** Sends requests until so many elements were sent or the server is gone. `onSent` is called after each request. */
  async run(server: Server, random: Random, until: number, onSent: () => void = () => undefined): Promise<void> {
    const writer = async (): Promise<void> => {
      while (this.sent < until) {
        const { path, body } = this.next(random)
        const written = await this.post(server, path, body)
        if (written === null) return
        this.sent += EVENTS_PER_ELEMENT * written
        onSent()
      }
    }
    await Promise.all(Array.from({ length: WRITERS }, writer))
  }

  private next(random: Random): { path: string; body: object } {
    const name = (): string => `c${random.between(0, NODES - 1)}`
    const names = [...new Set(Array.from({ length: random.between(1, BATCH_MAX) }, name))]
    this.count += 1
    const properties = [{ type: 'n', value: this.count }]
    const node = (external_id: string): object => ({ type: 'Car', external_id })
    const relationship = (external_id: string): object => ({
      source: node(external_id),
      type: 'NEXT_TO',
      target: node(name()),
    })
    const kind = random.between(0, 9)
    if (kind === 0) return { path: 'nodes/delete', body: { nodes: names.slice(0, 5).map(node) } }
    if (kind === 1) {
      return { path: 'relationships/delete', body: { relationships: names.map(relationship) } }
    }
    if (kind <= 3) {
      const relationships = names.map((external_id) => ({ ...relationship(external_id), properties }))
      return { path: 'relationships', body: { relationships, on_missing_end: 'skip' } }
    }
    return { path: 'nodes', body: { nodes: names.map((id) => ({ ...node(id), properties })) } }
  }

  /** Returns the number of elements that were written or deleted; null if the server is gone. */
  private async post(server: Server, path: string, body: object): Promise<number | null> {
    const headers = { 'x-svc-clientkey': this.key, 'content-type': 'application/json' }
    const sent = fetch(`${server.url}/capture/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    const response = await sent.catch(() => null)
    const text = await response?.text().catch(() => null)
    if (response == null || text == null) return null
    if (response.status === 503) {
      // On a busy machine a lane does not start in time after a kill. By its answer, the request can be repeated.
      await Bun.sleep(100)
      return 0
    }
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return (JSON.parse(text).results as { id?: string }[]).filter(({ id }) => id !== undefined && id !== '').length
  }
}

/** Creates a project and an agent that may capture. */
export async function createFleet(
  server: Server,
  token: string,
  organization_id: string,
  permissions: readonly string[] = ['Capture'],
  fields: object = {},
) {
  const call = (method: string, path: string, body?: object) => configure(server, token, method, path, body)
  const project = await call('POST', 'projects', { organization_id, name: 'fleet', region: 'local', ...fields })
  while ((await call('GET', `projects/${project.id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(10)
  const application = await call('POST', 'applications', { project_id: project.id, name: 'shop' })
  const agent = { application_id: application.id, name: 'agent', api_permissions: permissions }
  const application_agent_id = (await call('POST', 'application-agents', agent)).id
  const { api_key } = await call('POST', 'application-agent-credentials', { application_agent_id })
  return { projectId: project.id as string, key: api_key as string, configure: call }
}

async function configure(
  server: Server,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${server.url}/configs/v1/${path}`, { method, headers, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Waits until the graph has no event to deliver. Resolves with the end of its stream, by source. */
async function untilDelivered(data: string, projectId: string): Promise<Map<string, number>> {
  const limit = performance.now() + 600_000
  for (;;) {
    const catalog = openCatalog(data, { clock: systemClock, readOnly: true, lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS })
    try {
      const ends = await catalog.withOutboxes(projectId, async ([graph]) => {
        const status = graph?.outbox.status(GRAPH_STREAM) ?? null
        const cursor = graph?.outbox.cursors(GRAPH_STREAM).get('main')
        const isDone = status !== null && cursor?.next === status.next && cursor.snapshot === 'complete'
        return isDone ? new Map([[`/projects/${projectId}/graph/${status.origin}`, status.next]]) : null
      })
      if (ends !== null) return ends
    } finally {
      await catalog.close()
    }
    if (performance.now() > limit) throw new Error('the events are not delivered within 10 minutes')
    await Bun.sleep(250)
  }
}

function check(arrived: readonly Arrived[], ends: ReadonlyMap<string, number>, faults: string[]) {
  const copy = new GraphCopy()
  const texts = new Map<string, string>()
  const sequences = new Map<string, Set<number>>()
  const last = new Map<string, string>()
  let duplicates = 0
  for (const { id, source, type, subject, sequence, data, text } of arrived) {
    const isSnapshot = data.snapshot === true
    const name = `${source} ${id}`
    const known = texts.get(name)
    if (known !== undefined) {
      duplicates += 1
      if (known !== text && !isSnapshot) faults.push(`${name} arrived with other bytes: ${known} and ${text}`)
      continue
    }
    texts.set(name, text)
    if (isChange(type)) copy.apply(name, data as unknown as ChangePayload)
    if (isSnapshot) continue
    if (sequence <= (last.get(`${source} ${subject}`) ?? '')) faults.push(`${subject}: ${sequence} is out of order`)
    last.set(`${source} ${subject}`, sequence)
    const seen = sequences.get(source) ?? new Set()
    sequences.set(source, seen.add(Number(sequence)))
  }
  let missing = 0
  for (const [source, next] of ends) {
    const seen = sequences.get(source) ?? new Set()
    for (let sequence = 1; sequence < next; sequence++) if (!seen.has(sequence)) missing += 1
  }
  if (missing > 0) faults.push(`${missing} events are missing`)
  return { duplicates, missing, copy }
}

function differenceOf(graph: readonly string[], copy: readonly string[]): string {
  const [inGraph, inCopy] = [new Set(graph), new Set(copy)]
  const only = graph.filter((line) => !inCopy.has(line))
  const extra = copy.filter((line) => !inGraph.has(line))
  const show = (lines: readonly string[]): string => `${lines.length}, for example ${lines[0] ?? 'none'}`
  return `the copy differs: only in the graph ${show(only)}; only in the copy ${show(extra)}`
}

export async function httpReceiver(folder: string): Promise<KilledReceiver> {
  const [port] = (await freePorts(1)) as [number]
  const file = join(folder, 'arrived')
  const program = join(import.meta.dirname, '..', 'support', 'event-receiver-process.ts')
  const receiver = new BrokerProcess([process.execPath, program, String(port), file], [port])
  return {
    provider: { event_topic: { topic_endpoint: `http://127.0.0.1:${port}/events`, access_key: 'key' } },
    kill: () => receiver.kill(),
    start: () => receiver.start(),
    async arrived() {
      // A kill can end a line early; its batch was not acknowledged and arrived again.
      const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
      return lines.flatMap((line) => {
        const start = line.lastIndexOf('[{"specversion"')
        try {
          const batch = JSON.parse(start < 0 ? '[]' : line.slice(start)) as Omit<Arrived, 'text'>[]
          return batch.map((event) => ({ ...event, text: JSON.stringify(event) }))
        } catch {
          return []
        }
      })
    },
  }
}

export async function kafkaReceiver(folder: string): Promise<KilledReceiver> {
  const broker = await prepareKafka(join(folder, 'kafka'))
  const port = broker.ports.plaintext
  let isNew = true
  return {
    provider: { streaming_broker: { brokers: [`127.0.0.1:${port}`], topic: TOPIC, disable_tls: true } },
    kill: () => broker.kill(),
    async start() {
      await broker.start()
      if (isNew) await createTopic(port, TOPIC, 3)
      isNew = false
    },
    async arrived() {
      const records = await readTopic(port, TOPIC)
      return records.map(({ value, headers }) => ({
        id: headers.ce_id ?? '',
        source: headers.ce_source ?? '',
        type: headers.ce_type ?? '',
        subject: headers.ce_subject ?? '',
        sequence: headers.ce_sequence ?? '',
        data: JSON.parse(value),
        text: `${JSON.stringify(headers)} ${value}`,
      }))
    },
  }
}

if (import.meta.main) {
  const given = numberAfter('--seed', Number.NaN)
  const seed = Number.isNaN(given) ? stressSeed() : given
  const rounds = numberAfter('--rounds', 6)
  const events = numberAfter('--events', 6000)
  console.log(`seed ${seed}`)
  const options = { rounds, events, seed, kafka: hasFlag('--kafka'), note: (line: string) => console.log(line) }
  const { faults, ...outcome } = await eventKillRounds(options)
  console.log(JSON.stringify(outcome, null, 2))
  for (const fault of faults.slice(0, 20)) console.error(fault)
  process.exit(faults.length === 0 ? 0 : 1)
}
