// Pages of search results. Results have one order, by node or by name, and a token names the last result returned.
// Pages therefore join without gaps while the graph is unchanged; after a change no result is repeated and none that
// still holds is left out. See docs/decisions/0007-search-paging.md.

import type { Budget } from '../engine/conditions.ts'
import type { NodeId } from '../engine/store.ts'
import { sortWithCharges } from '../engine/value/list-operations.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { DecisionDeps, Entity, EvaluationRequest, RequestKind } from './decision-deps.ts'
import { readPageLimit } from './page-limit.ts'
import type { PagePosition } from './page-token.ts'
import type { PageMembers, PageRequest } from './schema.ts'

/** Results are counted up to this number even for a small page, so that most answers can give a total. */
const COUNTED_AHEAD = 250

/** One page of results. */
export interface SearchPage {
  readonly ids: readonly string[]
  /** Null if the answer is the complete result and no page was requested. */
  readonly page: PageMembers | null
}

/** Where a page begins and how long it may be. */
export interface PageWindow {
  /** `limit`: as sent with this page or the first one. */
  readonly position: PagePosition
  /**
   * Returns the text that page tokens are bound to. A function, because it is needed only if a token is created or
   * read.
   */
  readonly binding: () => string
  /** True if the request has a `page` member. */
  readonly isPaged: boolean
}

/** The error for a token that does not belong to this request. */
export const invalidPageToken: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['page.token: not a token for this request, or expired'],
})

/**
 * Determines the requested page. Errors: `malformed` for an invalid token, or for a limit that differs from the first
 * page.
 */
export function pageWindowFor(
  deps: DecisionDeps,
  caller: AgentCaller,
  kind: RequestKind,
  request: EvaluationRequest,
  page: PageRequest | undefined,
): Result<PageWindow, ServiceError> {
  const binding = (): string => bindingOf(caller, kind, request)
  const limit = page?.limit === undefined ? null : readPageLimit(page.limit)
  if (page?.token === undefined) {
    return ok({
      position: { after: null, node: 0, returned: 0, limit, cacheKey: '' },
      binding,
      isPaged: page !== undefined,
    })
  }
  const position = deps.pageTokens.read(page.token, binding())
  if (position === null) return invalidPageToken
  // Only a page with limit 0, which counts, returned no results. If its token is sent with limit 0 again, it counts again.
  if (limit === 0 && position.after === null) return ok({ position: { ...position, limit }, binding, isPaged: true })
  if (limit !== null && limit !== position.limit) {
    const expected = position.limit === null ? 'no limit' : String(position.limit)
    return err({ kind: 'malformed', issues: [`page.limit: expected ${expected} as on the first page, found ${limit}`] })
  }
  return ok({ position, binding, isPaged: true })
}

/** Returns the maximum number of results on this page. */
export function pageSize({ searchPageMax }: DecisionDeps, { position }: PageWindow): number {
  return Math.min(position.limit ?? searchPageMax, searchPageMax)
}

/** Returns how many results after the position to look for; all of them for limit 0, which only counts. */
export function countLimit(deps: DecisionDeps, window: PageWindow): number {
  return window.position.limit === 0 ? Number.POSITIVE_INFINITY : Math.max(pageSize(deps, window), COUNTED_AHEAD)
}

/** Returns a page without results. */
export function emptyPage({ position, isPaged }: PageWindow): SearchPage {
  return { ids: [], page: isPaged ? { next_token: '', count: 0, total: position.returned } : null }
}

/** Returns whether a position is in name order. A policy change can change the order of a search between two pages. */
export function isNamePosition({ node }: PagePosition): boolean {
  return node === 0
}

/** Cuts a page from all results, in name order. */
export function pageOfNames(
  deps: DecisionDeps,
  window: PageWindow,
  found: ReadonlySet<string>,
  budget: Budget,
): SearchPage {
  const { after } = window.position
  // Code-unit order, which is the same in every process.
  const remaining: string[] = []
  for (const id of found) {
    budget.chargeSteps(1)
    if (after === null || id > after) remaining.push(id)
  }
  sortWithCharges(budget, remaining, byCodeUnit)
  if (!window.isPaged && remaining.length <= deps.searchPageMax) return { ids: remaining, page: null }
  const { ids, page } = buildPage(deps, window, remaining.slice(0, pageSize(deps, window)), remaining.length, {
    node: 0,
    cacheKey: '',
  })
  return { ids, page: page === null ? null : { ...page, total: found.size } }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/**
 * Makes a page of results in node order. `left`: number of results after the position; null if there are more than were
 * counted.
 */
export function pageOfNodes(
  deps: DecisionDeps,
  window: PageWindow,
  ids: readonly string[],
  remaining: number | null,
  next: { readonly node: NodeId; readonly cacheKey: string },
): SearchPage {
  return !window.isPaged && remaining === ids.length
    ? { ids, page: null }
    : buildPage(deps, window, ids, remaining, next)
}

function buildPage(
  deps: DecisionDeps,
  { position, binding }: PageWindow,
  ids: readonly string[],
  remaining: number | null,
  next: { readonly node: NodeId; readonly cacheKey: string },
): SearchPage {
  const { limit, returned } = position
  // A limit of 0 only counts; the results then follow in pages of the default size.
  const nextPosition: PagePosition =
    limit === 0
      ? { ...position, limit: null }
      : { after: ids.at(-1) ?? position.after, returned: returned + ids.length, limit, ...next }
  const isLast = remaining !== null && ids.length === remaining
  const next_token = isLast ? '' : deps.pageTokens.create(nextPosition, binding())
  const members = { next_token, count: ids.length }
  return { ids, page: remaining === null ? members : { ...members, total: returned + remaining } }
}

/**
 * Returns the text of everything that must be equal on the next page (AuthZEN 8.2), with members in a fixed order.
 * Unknown members of an entity are ignored (AuthZEN 10.1.1).
 */
function bindingOf({ projectId, agentId, user }: AgentCaller, kind: RequestKind, request: EvaluationRequest): string {
  const { subject, resource, action, context } = request
  const tokenSubject = user === null ? null : [user.nodeType, user.subjectId]
  const { name, properties } = action
  const requested = [kind, knownFields(subject), knownFields(resource), { name, properties }, context ?? null]
  return writeJson(sortMembers([projectId, agentId, tokenSubject, ...requested]))
}

function knownFields({ type, id, properties }: Entity): Entity {
  return { type, id, properties }
}

function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortMembers)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(members.map(([name, member]) => [name, sortMembers(member)]))
}
