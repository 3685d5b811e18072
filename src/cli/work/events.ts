// The commands `events`: print the events of a project as they happen, test the routes of its sink, and handle its dead letters.
import { readFileSync } from 'node:fs'
import type {
  DeadLetterItem,
  DeadLetterPage,
  FollowAnswer,
  ResendAnswer,
  RoutingTestAnswer,
} from '../../events/sink-operations.ts'
import { typesOf } from '../../events/sink-routes.ts'
import { Float } from '../../kernel/float.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type { Settings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printAnswer, printJson, printLine, printNotice } from '../output/print.ts'
import { projectIdAt } from '../target/named-project.ts'
import { ServiceClient, ServiceRefusalError, ServiceUnreachableError } from '../target/service-client.ts'

/** Pause between two reads if there was nothing more to read, in milliseconds. */
const POLL_MS = 500
/** Pause while the service cannot be reached, in milliseconds. */
const RETRY_MS = 1000

/** Dead letters in one request, the most that the service accepts. */
const LETTERS_PER_REQUEST = 500

/** The options that all commands have. */
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

/** The options of `events dead-letters list`. */
export interface ListFlags extends EventFlags {
  readonly provider?: string
  /** Number of dead letters after which the command ends. */
  readonly count?: string
}

/** The options of `events dead-letters resend` and `delete`: ids, or a provider. */
export interface LettersFlags extends EventFlags {
  /** All dead letters of this provider. */
  readonly provider?: string
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
      part = (await client.call('POST', `event-sinks/${sinkId}/follow`, request, 'exact')) as FollowAnswer
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
    for (const one of part.events) printAnswer(flags.json, one.event, () => [eventLine(one)])
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
        sink: { project_id: await projectIdAt(client, flags.project), ...readDraft(flags.draft) },
        event,
        send: flags.send,
      }))) as RoutingTestAnswer
  if (flags.json) printJson(answer)
  else for (const line of testLines(answer)) printLine(line)
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

/** Runs `events dead-letters list`. */
export async function listDeadLetters(settings: Settings, flags: ListFlags): Promise<void> {
  const most = flags.count === undefined ? Number.POSITIVE_INFINITY : countFrom(flags.count)
  const { client, path } = await deadLettersOf(settings, flags)
  process.stdout.on('error', () => process.exit(0))
  let printed = 0
  for (let token = '', isLast = false; !isLast && printed < most; ) {
    const query = new URLSearchParams({ page_size: String(Math.min(LETTERS_PER_REQUEST, most - printed)) })
    if (token !== '') query.set('page_token', token)
    if (flags.provider !== undefined) query.set('provider_id', flags.provider)
    const page = (await client.call('GET', `${path}?${query}`)) as DeadLetterPage
    for (const letter of page.dead_letters) printAnswer(flags.json, letter, () => [letterLine(letter)])
    printed += page.dead_letters.length
    token = page.next_page_token
    isLast = token === ''
  }
  if (printed === 0) printNotice('no dead letters')
}

function letterLine(letter: DeadLetterItem): string {
  const { id, event_type, subject, attempts, error, is_requested } = letter
  const state = is_requested ? ', will be sent again' : ''
  return `${id} ${event_type} ${subject} ${colours.dim(`(${counted(attempts, 'attempt')}${state})`)} ${error}`
}

/** Runs `events dead-letters show`: prints the dead letter with its event. */
export async function showDeadLetter(settings: Settings, id: string, flags: EventFlags): Promise<void> {
  const { client, path } = await deadLettersOf(settings, flags)
  const letter = await client.call('GET', `${path}/${encodeURIComponent(id)}`, undefined, 'exact')
  printAnswer(flags.json, letter, () => JSON.stringify(letter, exactNumber, 2).split('\n'))
}

/** `JSON.rawJSON` of ECMAScript 2026, which the type declarations lack. */
const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): object }

/** A replacer for JSON.stringify, which cannot write some of the numbers that are read exactly. */
function exactNumber(_name: string, value: unknown): unknown {
  return typeof value === 'bigint' || value instanceof Float ? rawJSON(writeJson(value)) : value
}

/** Runs `events dead-letters resend`. Rejects with CliError if one of the dead letters does not exist; the others are requested. */
export async function resendDeadLetters(
  settings: Settings,
  ids: readonly string[],
  flags: LettersFlags,
): Promise<void> {
  refuseUnlessOne(ids, flags)
  const { client, path } = await deadLettersOf(settings, flags)
  const requests =
    flags.provider === undefined ? inParts(ids).map((part) => ({ ids: part })) : [{ provider_id: flags.provider }]
  let requested = 0
  const refused: ResendAnswer['refused'][number][] = []
  for (const request of requests) {
    const answer = (await client.call('POST', path, request)) as ResendAnswer
    requested += answer.requested
    refused.push(...answer.refused)
  }
  printAnswer(flags.json, { requested, refused }, () => [`${counted(requested, 'dead letter')} will be sent again`])
  if (refused.length > 0) throw new CliError(refused.map(({ reason }) => reason))
}

/** Runs `events dead-letters delete`. Rejects with CliError if one of the dead letters does not exist; the others are deleted. */
export async function deleteDeadLetters(
  settings: Settings,
  ids: readonly string[],
  flags: LettersFlags,
): Promise<void> {
  refuseUnlessOne(ids, flags)
  const { client, path } = await deadLettersOf(settings, flags)
  let deleted = 0
  const missing: string[] = []
  if (flags.provider !== undefined) {
    const query = new URLSearchParams({ provider_id: flags.provider })
    deleted = ((await client.call('DELETE', `${path}?${query}`)) as { readonly deleted: number }).deleted
  }
  for (const id of new Set(ids)) {
    try {
      await client.call('DELETE', `${path}/${encodeURIComponent(id)}`)
      deleted += 1
    } catch (failure) {
      if (!(failure instanceof ServiceRefusalError) || failure.status !== 404) throw failure
      missing.push(...failure.lines)
    }
  }
  printAnswer(flags.json, { deleted }, () => [`${counted(deleted, 'dead letter')} deleted`])
  if (missing.length > 0) throw new CliError(missing)
}

async function deadLettersOf(
  settings: Settings,
  flags: EventFlags,
): Promise<{ readonly client: ServiceClient; readonly path: string }> {
  const client = new ServiceClient(settings, flags.url ?? null)
  const { id } = await sinkOf(client, flags.project)
  return { client, path: `event-sinks/${id}/dead-letters` }
}

function refuseUnlessOne(ids: readonly string[], { provider }: LettersFlags): void {
  if (ids.length > 0 !== (provider !== undefined)) return
  throw new UsageError(['expected either ids of dead letters, or --provider for all of a provider'])
}

function inParts(ids: readonly string[]): readonly (readonly string[])[] {
  const parts: (readonly string[])[] = []
  for (let at = 0; at < ids.length; at += LETTERS_PER_REQUEST) parts.push(ids.slice(at, at + LETTERS_PER_REQUEST))
  return parts
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

async function sinkOf(client: ServiceClient, project: string): Promise<ReadSink> {
  const projectId = await projectIdAt(client, project)
  const path = `event-sinks?project_id=${encodeURIComponent(projectId)}`
  const { data } = (await client.call('GET', path)) as { readonly data: readonly ReadSink[] }
  const [sink] = data
  if (sink !== undefined) return sink
  throw new CliError([
    `the project ${project} has no event sink: events are recorded only where a route of a sink matches`,
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
