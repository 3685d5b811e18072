// Cuts the results of a search into answers. They stand in one order, that of their nodes or of their names, and a token names
// the last one that was given out: so pages join to the whole while the graph is unchanged; when it is not, nothing is doubled
// and nothing left out that stayed as it was.
import type { NodeId } from '../engine/store.ts'
import { effortOnItems, sortCharged } from '../engine/value/effort.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { limitOf } from './page-limit.ts'
import type { PagePlace } from './page-token.ts'
import type { DecisionParts, Question, QuestionKind, Side } from './parts.ts'
import type { PageMembers, PageRequest } from './schema.ts'

/** What a page is counted ahead to: whoever asks for a few hears how many there are, unless those are many. */
const COUNTED_AHEAD = 250

export interface Page {
  readonly ids: readonly string[]
  /** Null: the answer is the whole result, and nobody asked for a page. */
  readonly page: PageMembers | null
}

/** Where an answer begins and how long it may be. */
export interface Cut {
  /** `limit`: as the caller asked, now or with the first page. */
  readonly place: PagePlace
  /** What the token of the next page is bound to; made only when one is made or read. */
  readonly binding: () => string
  readonly asked: boolean
}

export const notThisToken: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['page.token: not a token for this question, or expired'],
})

export function cutFor(
  parts: DecisionParts,
  caller: AgentCaller,
  kind: QuestionKind,
  question: Question,
  page: PageRequest | undefined,
): Result<Cut, ServiceError> {
  const binding = (): string => bindingOf(caller, kind, question)
  const limit = page?.limit === undefined ? null : limitOf(page.limit)
  if (page?.token === undefined) {
    return ok({ place: { after: null, node: 0, given: 0, limit, kept: '' }, binding, asked: page !== undefined })
  }
  const place = parts.pageTokens.read(page.token, binding())
  if (place === null) return notThisToken
  // Only a page that counted gave nothing out. Its limit may be sent again like any other, and counts again.
  if (limit === 0 && place.after === null) return ok({ place: { ...place, limit }, binding, asked: true })
  if (limit !== null && limit !== place.limit) {
    const expected = place.limit === null ? 'no limit' : String(place.limit)
    return err({ kind: 'malformed', issues: [`page.limit: expected ${expected} as on the first page, found ${limit}`] })
  }
  return ok({ place, binding, asked: true })
}

/** Results of this page, at most. */
export function sizeOf({ searchPageMax }: DecisionParts, { place }: Cut): number {
  return Math.min(place.limit ?? searchPageMax, searchPageMax)
}

/** So many of those behind the place are looked for; a limit of 0 asks how many there are. */
export function countedOf(parts: DecisionParts, cut: Cut): number {
  return cut.place.limit === 0 ? Number.POSITIVE_INFINITY : Math.max(sizeOf(parts, cut), COUNTED_AHEAD)
}

export function noPage({ place, asked }: Cut): Page {
  return { ids: [], page: asked ? { next_token: '', count: 0, total: place.given } : null }
}

/** A search may have got another order since: policies were changed. */
export function isPlaceAmongNames({ node }: PagePlace): boolean {
  return node === 0
}

export function pageOfNames(parts: DecisionParts, cut: Cut, found: ReadonlySet<string>): Page {
  const { after } = cut.place
  // An order of code units, as `>` has it: any would do that is the same in every process.
  const left: string[] = []
  for (const id of found) {
    effortOnItems(1)
    if (after === null || id > after) left.push(id)
  }
  sortCharged(left, byCodeUnit)
  if (!cut.asked && left.length <= parts.searchPageMax) return { ids: left, page: null }
  const { ids, page } = pageWith(parts, cut, left.slice(0, sizeOf(parts, cut)), left.length, { node: 0, kept: '' })
  return { ids, page: page === null ? null : { ...page, total: found.size } }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** `left`: how many there are behind the place; null: more than were counted. */
export function pageOfNodes(
  parts: DecisionParts,
  cut: Cut,
  ids: readonly string[],
  left: number | null,
  next: { readonly node: NodeId; readonly kept: string },
): Page {
  return !cut.asked && left === ids.length ? { ids, page: null } : pageWith(parts, cut, ids, left, next)
}

function pageWith(
  parts: DecisionParts,
  { place, binding }: Cut,
  ids: readonly string[],
  left: number | null,
  next: { readonly node: NodeId; readonly kept: string },
): Page {
  const { limit, given } = place
  // A limit of 0 only counts; what is found then comes in pages of the service's own size.
  const behind: PagePlace =
    limit === 0
      ? { ...place, limit: null }
      : { after: ids.at(-1) ?? place.after, given: given + ids.length, limit, ...next }
  const isLast = left !== null && ids.length === left
  const next_token = isLast ? '' : parts.pageTokens.make(behind, binding())
  const members = { next_token, count: ids.length }
  return { ids, page: left === null ? members : { ...members, total: given + left } }
}

/**
 * Everything that must be the same on the next page (AuthZEN 8.2); members in any order. What is unknown in an entity is
 * ignored here as everywhere (AuthZEN 10.1.1).
 */
function bindingOf({ projectId, agentId, user }: AgentCaller, kind: QuestionKind, question: Question): string {
  const { subject, resource, action, context } = question
  const speaker = user === null ? null : [user.nodeType, user.subjectId]
  const { name, properties } = action
  const asked = [kind, knownOf(subject), knownOf(resource), { name, properties }, context ?? null]
  return writeJson(ordered([projectId, agentId, speaker, ...asked]))
}

function knownOf({ type, id, properties }: Side): Side {
  return { type, id, properties }
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(members.map(([name, member]) => [name, ordered(member)]))
}
