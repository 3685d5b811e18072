// Kills the process that delivers events, the receiver and the service in turn during captures. Every event must arrive, the events
// of each element in order, and the copy of the graph that is built from the events alone must equal the graph.
// Run alone: bun test/stress/event-kills.ts [--rounds 6] [--events 6000] [--kafka] [--seed N]
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GRAPH_STREAM } from '../../src/store/graph/write-batch.ts'
import type { Random } from '../generate/random.ts'
import { runCommand, type Server } from '../support/cli-process.ts'
import { BrokerProcess, freePorts } from '../support/counterparts/broker-process.ts'
import { createTopic, prepareKafka, readTopic } from '../support/counterparts/kafka.ts'
import { sinkBody } from '../support/events.ts'
import { type ChangePayload, GraphCopy, hashOfLines, isChange, linesOfExport } from '../support/graph-copy.ts'
import { hasFlag, numberAfter } from './flags.ts'
import { type KillLoad, type KillModel, type KillRun, killProgram } from './kill-harness.ts'

const WRITERS = 3
const BATCH_MAX = 60
/** Few, so that each node is created, changed and deleted repeatedly. */
const NODES = 400
const TOPIC = 'events'
/** One of the capture, and one of the change. */
const EVENTS_PER_ELEMENT = 2

export interface EventKillOptions {
  readonly rounds: number
  /** Events of captures and changes of all rounds, about. */
  readonly events: number
  readonly kafka: boolean
}

interface EventFigures {
  readonly events: number
  readonly arrived: number
  readonly duplicates: number
  readonly missing: number
  readonly elements: number
  readonly graphHash: string
  readonly copyHash: string
  /** From the last capture until everything had arrived. */
  readonly drainMs: number
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

/** The events that arrived, and the copy of the graph that is built from them. */
export class EventKills implements KillModel<EventFigures> {
  readonly settings = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1,localhost', VERDIGRAPH_CAPTURE_ITEMS_MAX: '1000' }
  private readonly options: EventKillOptions
  private receiver: KilledReceiver | null = null
  private load!: EventLoad
  private ends: ReadonlyMap<string, number> = new Map()
  private drainMs = 0
  private found: Omit<EventFigures, 'events' | 'drainMs'> | null = null

  constructor(options: EventKillOptions) {
    this.options = options
  }

  /** Rejects with `CounterpartMissing` if Kafka is asked for and cannot be installed. */
  async prepare(run: KillRun): Promise<void> {
    this.receiver = this.options.kafka ? await kafkaReceiver(run.folder) : await httpReceiver(run.folder)
    await this.receiver.start()
    const { projectId, key } = await run.createFleet()
    this.load = new EventLoad(projectId, key)
    // Elements that only the initial snapshot contains.
    await this.load.run(run.server, run.random, 300)
    const changes = { ...this.receiver.provider, include_cdc_events: true, snapshot: 'initial' }
    await run.configure('POST', 'event-sinks', sinkBody(projectId, [{ type: 'svc.audit.*' }], { main: changes }))
    this.load.sent = 0
  }

  async round(run: KillRun, round: number): Promise<string> {
    const { load, options } = this
    const victim = (['background', 'receiver', 'service'] as const)[(round - 1) % 3]!
    await run.killDuring(load, Math.ceil((options.events * round) / options.rounds), () => {
      if (victim === 'service') return run.killService(false)
      if (victim === 'background') return run.killChild(victim)
      run.count(victim)
      return restart(this.receiver as KilledReceiver, run.random.between(0, 500))
    })
    return `killed the ${victim}, ${load.sent} events`
  }

  async settle(run: KillRun): Promise<void> {
    const start = performance.now()
    this.ends = await untilDelivered(run, this.load.projectId)
    this.drainMs = Math.round(performance.now() - start)
  }

  async compare(run: KillRun): Promise<void> {
    const exported = await runCommand(['export', '--data', run.data, '--out', '-'])
    const graph = linesOfExport(exported.stdout)
    const arrived = await (this.receiver as KilledReceiver).arrived()
    const { duplicates, missing, copy } = check(arrived, this.ends, run.faults)
    const [graphHash, copyHash] = [hashOfLines(graph), hashOfLines(copy.lines())]
    if (graphHash !== copyHash) run.faults.push(differenceOf(graph, copy.lines()))
    this.found = { arrived: arrived.length, duplicates, missing, elements: graph.length, graphHash, copyHash }
  }

  figures(): EventFigures {
    const events = [...this.ends.values()].reduce((sum, next) => sum + next - 1, 0)
    return { events, ...(this.found as NonNullable<typeof this.found>), drainMs: this.drainMs }
  }

  close(): void {
    this.receiver?.kill()
  }
}

async function restart(receiver: KilledReceiver, downMs: number): Promise<void> {
  receiver.kill()
  await Bun.sleep(downMs)
  await receiver.start()
}

/** Captures at random: nodes and relationships are created, changed and deleted. */
class EventLoad implements KillLoad {
  /** Events of answered requests. */
  sent = 0
  readonly projectId: string
  private readonly key: string
  private count = 0

  constructor(projectId: string, key: string) {
    this.projectId = projectId
    this.key = key
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

/** Waits until the graph has no event to deliver. Resolves with the end of its stream, by source. */
async function untilDelivered(run: KillRun, projectId: string): Promise<Map<string, number>> {
  const limit = performance.now() + 600_000
  for (;;) {
    const ends = await run.readBeside((catalog) =>
      catalog.withOutboxes(projectId, async ([graph]) => {
        const status = graph?.outbox.status(GRAPH_STREAM) ?? null
        const cursor = graph?.outbox.cursors(GRAPH_STREAM).get('main')
        const isDone = status !== null && cursor?.next === status.next && cursor.snapshot === 'complete'
        return isDone ? new Map([[`/projects/${projectId}/graph/${status.origin}`, status.next]]) : null
      }),
    )
    if (ends !== null) return ends
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
  const rounds = numberAfter('--rounds', 6)
  const events = numberAfter('--events', 6000)
  await killProgram(new EventKills({ rounds, events, kafka: hasFlag('--kafka') }), rounds)
}
