// The commands `events tail` and `events test`: print the events of a project as they happen, and test the routes of its sink.
import { readFileSync } from 'node:fs'
import { typesOf } from '../events/routes.ts'
import type { FollowAnswer, RoutingTestAnswer } from '../events/sink-operations.ts'
import type { Settings } from '../settings.ts'
import { CliError, UsageError } from './cli-error.ts'
import { colours } from './colours.ts'
import { printNotice } from './print.ts'
import { ServiceClient, ServiceUnreachableError } from './service-client.ts'

/** Pause between two reads if there was nothing more to read, in milliseconds. */
const POLL_MS = 500
/** Pause while the service cannot be reached, in milliseconds. */
const RETRY_MS = 1000

/** The options that both commands have. */
interface EventFlags {
  readonly project: string
  readonly url?: string
  readonly json: boolean
}

/** The options of `events tail`. */
export interface TailFlags extends EventFlags {
  readonly type: string
  readonly oldest: boolean
  /** Number of events after which the command ends. */
  readonly count?: string
}

/** The options of `events test`. */
export interface RoutingTestFlags extends EventFlags {
  readonly type: string
  /** `key=value`; a key may occur several times. */
  readonly context: readonly string[]
  readonly send: boolean
  /** A file with the body of a sink that is not stored. */
  readonly draft?: string
}

interface ReadSink {
  readonly id: string
  readonly name: string
  readonly routes: readonly { readonly event_type_key_values_filter: { readonly event_type: string } }[]
}

/**
 * Runs `events tail`. Resolves after `count` events. Rejects with CliError if the project has no sink, or the service refuses the
 * caller; waits while the service cannot be reached after the first answer.
 */
export async function tailEvents(settings: Settings, flags: TailFlags): Promise<void> {
  const left = flags.count === undefined ? Number.POSITIVE_INFINITY : countFrom(flags.count)
  const client = new ServiceClient(settings, flags.url ?? null)
  const sink = await sinkOf(client, flags.project)
  announce(sink, flags.type)
  // The reader of a pipe may end first.
  process.stdout.on('error', () => process.exit(0))
  await printEvents(client, sink.id, flags, left)
}

async function printEvents(client: ServiceClient, sinkId: string, flags: TailFlags, count: number): Promise<void> {
  let printed = 0
  let position: string | undefined
  let isUnreachable = false
  while (printed < count) {
    const start = position === undefined ? { start: flags.oldest ? 'oldest' : 'now' } : { position }
    const request = { ...start, event_type: flags.type, limit: Math.min(500, count - printed) }
    let part: FollowAnswer
    try {
      part = (await client.call('POST', `event-sinks/${sinkId}/follow`, request)) as FollowAnswer
    } catch (failure) {
      // Before the first answer, waiting would hide a wrong address.
      if (!(failure instanceof ServiceUnreachableError) || position === undefined) throw failure
      if (!isUnreachable) printNotice(`${failure.lines[0]}; trying again`)
      isUnreachable = true
      await Bun.sleep(RETRY_MS)
      continue
    }
    if (isUnreachable) printNotice('the service answers again')
    isUnreachable = false
    if (part.missed > 0) printNotice(`${part.missed} events were delivered and removed before they were read`)
    for (const one of part.events) console.log(flags.json ? JSON.stringify(one.event) : eventLine(one))
    printed += part.events.length
    position = part.position
    if (!part.has_more && printed < count) await Bun.sleep(POLL_MS)
  }
}

function eventLine({ event, providers }: FollowAnswer['events'][number]): string {
  return `${colours.dim(event.time)} ${event.type} ${event.subject} ${colours.dim(`→ ${providers.join(', ')}`)}`
}

/** Events exist only where a route matches: an empty output would otherwise look like an error. */
function announce(sink: ReadSink, type: string): void {
  const filters = [...new Set(sink.routes.map((route) => route.event_type_key_values_filter.event_type))]
  printNotice(
    `following the sink ${sink.name}; events exist only where one of its routes matches: ${filters.join(', ')}`,
  )
  const routed = new Set(filters.flatMap((filter) => typesOf(filter)))
  if (!typesOf(type).some((name) => routed.has(name))) printNotice(`no route sends events of the type ${type}`)
}

/** Runs `events test`. Rejects with CliError if a provider did not accept the test event. */
export async function testRoutes(settings: Settings, flags: RoutingTestFlags): Promise<void> {
  const client = new ServiceClient(settings, flags.url ?? null)
  const event = { type: flags.type, context: contextFrom(flags.context) }
  const answer = (await (flags.draft === undefined
    ? client.call('POST', `event-sinks/${(await sinkOf(client, flags.project)).id}/test`, { event, send: flags.send })
    : client.call('POST', 'event-sinks/test', {
        sink: { project_id: flags.project, ...readDraft(flags.draft) },
        event,
        send: flags.send,
      }))) as RoutingTestAnswer
  if (flags.json) console.log(JSON.stringify(answer))
  else for (const line of testLines(answer)) console.log(line)
  const failed = (answer.deliveries ?? []).filter(({ outcome }) => outcome !== 'delivered')
  if (failed.length > 0) {
    throw new CliError(
      failed.map(
        ({ provider_id, outcome, error }) => `the test event was not delivered to ${provider_id}: ${outcome}: ${error}`,
      ),
    )
  }
}

function testLines({ providers, routes, deliveries = [] }: RoutingTestAnswer): readonly string[] {
  return [
    ...routes.map(({ route, display_name, outcome, reason }) => {
      const name = display_name === '' ? '' : ` (${display_name})`
      return `routes[${route}]${name} ${outcome === 'sent' ? colours.green(outcome) : outcome}: ${reason}`
    }),
    providers.length === 0 ? 'no provider receives the event' : `received by ${providers.join(', ')}`,
    ...deliveries
      .filter(({ outcome }) => outcome === 'delivered')
      .map(({ provider_id, duration_ms }) => `the test event was delivered to ${provider_id} in ${duration_ms} ms`),
  ]
}

async function sinkOf(client: ServiceClient, projectId: string): Promise<ReadSink> {
  const path = `event-sinks?project_id=${encodeURIComponent(projectId)}`
  const { data } = (await client.call('GET', path)) as { readonly data: readonly ReadSink[] }
  const [sink] = data
  if (sink !== undefined) return sink
  throw new CliError([
    `the project ${projectId} has no event sink: events are recorded only where a route of a sink matches`,
  ])
}

function contextFrom(pairs: readonly string[]): Readonly<Record<string, string | readonly string[]>> {
  const values = new Map<string, string[]>()
  for (const pair of pairs) {
    const at = pair.indexOf('=')
    if (at < 1) throw new UsageError([`--context: expected key=value, found \`${pair}\``])
    const key = pair.slice(0, at)
    values.set(key, [...(values.get(key) ?? []), pair.slice(at + 1)])
  }
  return Object.fromEntries([...values].map(([key, found]) => [key, found.length === 1 ? (found[0] as string) : found]))
}

function readDraft(path: string): object {
  const text = readFileSync(path, 'utf8')
  try {
    const draft: unknown = JSON.parse(text)
    if (typeof draft === 'object' && draft !== null && !Array.isArray(draft)) return draft
  } catch {
    // Reported below.
  }
  throw new UsageError([`${path}: expected a JSON object, the body of an event sink`])
}

function countFrom(text: string): number {
  const count = Number(text)
  if (Number.isSafeInteger(count) && count >= 1) return count
  throw new UsageError([`--count: expected an integer from 1, found \`${text}\``])
}
