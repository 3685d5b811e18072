// Cuts the results of a search into answers. They stand in one order, that of their nodes or of their names, and a token names
// the last one that was given out: so pages join to the whole while the graph is unchanged; when it is not, nothing is doubled
// and nothing left out that stayed as it was.
import type { NodeId } from '../engine/store.ts'
import { chargeItems, sortWithCharges } from '../engine/value/cost-accounting.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { DecisionDeps, Entity, Question, RequestKind } from './decision-deps.ts'
import { readPageLimit } from './page-limit.ts'
import type { PagePosition } from './page-token.ts'
import type { PageMembers, PageRequest } from './schema.ts'

/** What a page is counted ahead to: whoever asks for a few hears how many there are, unless those are many. */
const COUNTED_AHEAD = 250

export interface SearchPage {
  readonly ids: readonly string[]
  /** Null: the answer is the whole result, and nobody asked for a page. */
  readonly page: PageMembers | null
}

/** Where an answer begins and how long it may be. */
export interface PageWindow {
  /** `limit`: as the caller asked, now or with the first page. */
  readonly position: PagePosition
  /** What the token of the next page is bound to; made only when one is made or read. */
  readonly binding: () => string
  readonly isPaged: boolean
}

export const invalidPageToken: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['page.token: not a token for this question, or expired'],
})

export function pageWindowFor(
  parts: DecisionDeps,
  caller: AgentCaller,
  kind: RequestKind,
  question: Question,
  page: PageRequest | undefined,
): Result<PageWindow, ServiceError> {
  const binding = (): string => bindingOf(caller, kind, question)
  const limit = page?.limit === undefined ? null : readPageLimit(page.limit)
  if (page?.token === undefined) {
    return ok({
      position: { after: null, node: 0, returned: 0, limit, cacheKey: '' },
      binding,
      isPaged: page !== undefined,
    })
  }
  const position = parts.pageTokens.read(page.token, binding())
  if (position === null) return invalidPageToken
  // Only a page that counted gave nothing out. Its limit may be sent again like any other, and counts again.
  if (limit === 0 && position.after === null) return ok({ position: { ...position, limit }, binding, isPaged: true })
  if (limit !== null && limit !== position.limit) {
    const expected = position.limit === null ? 'no limit' : String(position.limit)
    return err({ kind: 'malformed', issues: [`page.limit: expected ${expected} as on the first page, found ${limit}`] })
  }
  return ok({ position, binding, isPaged: true })
}

/** Results of this page, at most. */
export function pageSize({ searchPageMax }: DecisionDeps, { position }: PageWindow): number {
  return Math.min(position.limit ?? searchPageMax, searchPageMax)
}

/** So many of those behind the place are looked for; a limit of 0 asks how many there are. */
export function countLimit(parts: DecisionDeps, cut: PageWindow): number {
  return cut.position.limit === 0 ? Number.POSITIVE_INFINITY : Math.max(pageSize(parts, cut), COUNTED_AHEAD)
}

export function emptyPage({ position, isPaged }: PageWindow): SearchPage {
  return { ids: [], page: isPaged ? { next_token: '', count: 0, total: position.returned } : null }
}

/** A search may have got another order since: policies were changed. */
export function isNamePosition({ node }: PagePosition): boolean {
  return node === 0
}

export function pageOfNames(parts: DecisionDeps, cut: PageWindow, found: ReadonlySet<string>): SearchPage {
  const { after } = cut.position
  // An order of code units, as `>` has it: any would do that is the same in every process.
  const left: string[] = []
  for (const id of found) {
    chargeItems(1)
    if (after === null || id > after) left.push(id)
  }
  sortWithCharges(left, byCodeUnit)
  if (!cut.isPaged && left.length <= parts.searchPageMax) return { ids: left, page: null }
  const { ids, page } = pageWith(parts, cut, left.slice(0, pageSize(parts, cut)), left.length, {
    node: 0,
    cacheKey: '',
  })
  return { ids, page: page === null ? null : { ...page, total: found.size } }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** `left`: how many there are behind the place; null: more than were counted. */
export function pageOfNodes(
  parts: DecisionDeps,
  cut: PageWindow,
  ids: readonly string[],
  left: number | null,
  next: { readonly node: NodeId; readonly cacheKey: string },
): SearchPage {
  return !cut.isPaged && left === ids.length ? { ids, page: null } : pageWith(parts, cut, ids, left, next)
}

function pageWith(
  parts: DecisionDeps,
  { position, binding }: PageWindow,
  ids: readonly string[],
  left: number | null,
  next: { readonly node: NodeId; readonly cacheKey: string },
): SearchPage {
  const { limit, returned } = position
  // A limit of 0 only counts; what is found then comes in pages of the service's own size.
  const behind: PagePosition =
    limit === 0
      ? { ...position, limit: null }
      : { after: ids.at(-1) ?? position.after, returned: returned + ids.length, limit, ...next }
  const isLast = left !== null && ids.length === left
  const next_token = isLast ? '' : parts.pageTokens.create(behind, binding())
  const members = { next_token, count: ids.length }
  return { ids, page: left === null ? members : { ...members, total: returned + left } }
}

/**
 * Everything that must be the same on the next page (AuthZEN 8.2); members in any order. What is unknown in an entity is
 * ignored here as everywhere (AuthZEN 10.1.1).
 */
function bindingOf({ projectId, agentId, user }: AgentCaller, kind: RequestKind, question: Question): string {
  const { subject, resource, action, context } = question
  const speaker = user === null ? null : [user.nodeType, user.subjectId]
  const { name, properties } = action
  const asked = [kind, knownOf(subject), knownOf(resource), { name, properties }, context ?? null]
  return writeJson(ordered([projectId, agentId, speaker, ...asked]))
}

function knownOf({ type, id, properties }: Entity): Entity {
  return { type, id, properties }
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(members.map(([name, member]) => [name, ordered(member)]))
}
