// Lists, reads, requests and deletes the dead letters of an event sink. Their id has the provider, the sequence under which it is
// stored, and the id of the event.
import { z } from 'zod'
import type { DocumentFields, StoredDocument } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { timestamp } from '../../kernel/time/clock.ts'
import type { DeadLetter } from '../../store/outbox/dead-letters.ts'
import { type DeadLetterContent, readDeadLetter } from '../delivery/dead-letter.ts'
import { payloadOf } from '../event-text.ts'
import {
  type DeadLetterDetail,
  type DeadLetterItem,
  type DeadLetterPage,
  type ResendAnswer,
  resendRequest,
} from '../sink-operations.ts'
import type { EventStreams, OpenEventStream } from '../streams/event-streams.ts'

const PAGE_SIZE = 100

interface FoundLetter {
  readonly stream: OpenEventStream
  readonly letter: DeadLetter
  readonly content: DeadLetterContent
}

interface LetterName {
  readonly provider: string
  readonly eventId: string
  readonly sequence: number
}

/** Lists dead letters by stream, provider and sequence. Errors: `invalid`. */
export async function listDeadLetters(
  streams: EventStreams,
  sink: StoredDocument,
  query: URLSearchParams,
): Promise<Result<DeadLetterPage, ServiceError>> {
  const after = decodePosition(query.get('page_token') ?? '')
  if (after === undefined) return err({ kind: 'invalid', issues: ['page_token: expected a `next_page_token`'] })
  const size = Number(query.get('page_size') ?? PAGE_SIZE)
  const found = await streams.withStreams(sink.project_id, async (open) =>
    // One more shows whether there is another page.
    read(open, sink, query.get('provider_id'), after, size + 1).map((one) => ({
      item: itemOf(one),
      position: positionOf(one),
    })),
  )
  const page = found.slice(0, size)
  return ok({
    dead_letters: page.map(({ item }) => item),
    next_page_token: found.length > size ? encodePosition(page.at(-1)?.position as DeadLetterPosition) : '',
  })
}

/** Reads a dead letter. Errors: `not-found`. */
export async function readOneDeadLetter(
  streams: EventStreams,
  sink: StoredDocument,
  id: string,
): Promise<Result<DeadLetterDetail, ServiceError>> {
  const detail = await streams.withStreams(sink.project_id, async (open) => {
    const found = find(open, sink, id)
    return found === null ? null : { ...itemOf(found), event: cloudEventOf(found.content) }
  })
  return detail === null ? err(notFound(id)) : ok(detail)
}

/** Requests that dead letters are sent again. Errors: `invalid`. */
export async function requestDeadLetters(
  streams: EventStreams,
  sink: StoredDocument,
  body: unknown,
): Promise<Result<ResendAnswer, ServiceError>> {
  const request = validate(resendRequest, body)
  if (!request.ok) return err({ kind: 'invalid', issues: request.error })
  const { ids, provider_id } = request.value
  const hasProvider = (id: string): boolean => Object.hasOwn(sink.fields.providers as DocumentFields, id)
  if (provider_id !== undefined && !hasProvider(provider_id))
    return err({ kind: 'invalid', issues: [`provider_id: no provider \`${provider_id}\``] })
  return streams.withStreams(sink.project_id, async (open) => {
    let requested = 0
    if (provider_id !== undefined) {
      for (const { outbox, name } of open) requested += await outbox.deadLetters.requestAll(name, provider_id)
    }
    const refused: { id: string; reason: string }[] = []
    for (const id of new Set(ids)) {
      const found = find(open, sink, id)
      if (found !== null && !hasProvider(found.letter.provider)) {
        refused.push({ id, reason: `no provider \`${found.letter.provider}\`` })
        continue
      }
      const isRequested =
        found !== null &&
        (await found.stream.outbox.deadLetters.request(found.stream.name, found.letter.provider, found.letter.sequence))
      if (isRequested) requested += 1
      else refused.push({ id, reason: notFound(id).message })
    }
    return ok({ requested, refused })
  })
}

/** Deletes a dead letter. Errors: `not-found`. */
export async function deleteOneDeadLetter(
  streams: EventStreams,
  sink: StoredDocument,
  id: string,
): Promise<Result<{ readonly id: string }, ServiceError>> {
  const isDeleted = await streams.withStreams(sink.project_id, async (open) => {
    const found = find(open, sink, id)
    if (found === null) return false
    return found.stream.outbox.deadLetters.remove(found.stream.name, found.letter.provider, found.letter.sequence)
  })
  return isDeleted ? ok({ id }) : err(notFound(id))
}

/** Deletes all dead letters of a provider; it may have been removed from the sink. */
export async function deleteDeadLettersOf(
  streams: EventStreams,
  sink: StoredDocument,
  provider: string,
): Promise<Result<{ readonly deleted: number }, ServiceError>> {
  return streams.withStreams(sink.project_id, async (open) => {
    let deleted = 0
    for (const { outbox, name } of open) deleted += await outbox.deadLetters.removeAll(name, provider)
    return ok({ deleted })
  })
}

function notFound(id: string): Extract<ServiceError, { kind: 'not-found' }> {
  return { kind: 'not-found', message: `no dead letter \`${id}\`` }
}

/** Reads at most `limit` letters after a position; those of a deleted sink are left out. */
function read(
  streams: readonly OpenEventStream[],
  sink: StoredDocument,
  provider: string | null,
  after: DeadLetterPosition | null,
  limit: number,
): FoundLetter[] {
  const found: FoundLetter[] = []
  const ordered = [...streams].sort((a, b) => compare(nameOf(a), nameOf(b)))
  for (const stream of ordered) {
    const order = after === null ? 1 : compare(nameOf(stream), after.stream)
    if (order < 0) continue
    let from = order === 0 ? after : null
    if (provider !== null && (from === null || from.provider !== provider)) from = { stream: '', provider, sequence: 0 }
    while (found.length < limit) {
      const letters = stream.outbox.deadLetters.list(stream.name, limit, from)
      const own = letters.filter((letter) => provider === null || letter.provider === provider)
      for (const letter of own) {
        const content = readDeadLetter(letter.bytes)
        if (content.sinkId === sink.id) found.push({ stream, letter, content })
      }
      const last = letters.at(-1)
      if (last === undefined || letters.length < limit || own.length < letters.length) break
      from = { stream: '', provider: last.provider, sequence: last.sequence }
    }
  }
  return found.slice(0, limit)
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function nameOf({ source, part }: OpenEventStream): string {
  return `${source}/${part}`
}

function idOf({ letter, content }: FoundLetter): string {
  return `${letter.provider}.${letter.sequence}.${content.attributes.id}`
}

/** Null: not the id of a dead letter. */
function parseId(id: string): LetterName | null {
  const parts = /^([A-Za-z0-9_-]{1,63})\.(\d{1,16})\.(.{1,256})$/.exec(id)
  if (parts === null) return null
  const [, provider = '', sequence, eventId = ''] = parts
  return Number.isSafeInteger(Number(sequence)) ? { provider, eventId, sequence: Number(sequence) } : null
}

/** A sequence can occur in each stream of the project; the id of the event only once. */
function find(streams: readonly OpenEventStream[], sink: StoredDocument, id: string): FoundLetter | null {
  const name = parseId(id)
  if (name === null) return null
  for (const stream of streams) {
    const letter = stream.outbox.deadLetters.get(stream.name, name.provider, name.sequence)
    if (letter === null) continue
    const content = readDeadLetter(letter.bytes)
    if (content.attributes.id === name.eventId && content.sinkId === sink.id) return { stream, letter, content }
  }
  return null
}

function itemOf(found: FoundLetter): DeadLetterItem {
  const { stream, letter, content } = found
  const { id = '', type = '', source = '', subject = '', time = '' } = content.attributes
  return {
    id: idOf(found),
    provider_id: letter.provider,
    event_id: id,
    event_type: type,
    source,
    subject,
    time,
    error: content.error,
    attempts: content.attempts,
    dead_letter_time: timestamp(content.timeMs),
    is_requested: stream.outbox.deadLetters.isRequested(stream.name, letter.provider, letter.sequence),
  }
}

/** The event in the JSON format of CloudEvents. */
function cloudEventOf({ attributes, data }: DeadLetterContent): DeadLetterDetail['event'] {
  return { ...attributes, data: payloadOf(data) } as DeadLetterDetail['event']
}

/** The last dead letter of a page. */
interface DeadLetterPosition {
  readonly stream: string
  readonly provider: string
  readonly sequence: number
}

const position = z.tuple([z.string(), z.string(), z.int().min(0)])

function positionOf({ stream, letter: { provider, sequence } }: FoundLetter): DeadLetterPosition {
  return { stream: nameOf(stream), provider, sequence }
}

function encodePosition({ stream, provider, sequence }: DeadLetterPosition): string {
  return Buffer.from(JSON.stringify([stream, provider, sequence])).toString('base64url')
}

/** Null: the first page; undefined: not a token. */
function decodePosition(token: string): DeadLetterPosition | null | undefined {
  if (token === '') return null
  const read = position.safeParse(parseJson(Buffer.from(token, 'base64url').toString('utf8')))
  if (!read.success || read.data[1].includes('\0')) return undefined
  const [stream, provider, sequence] = read.data
  return { stream, provider, sequence }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
