// Cuts the results of a search into answers. They stand in the order of their ids, and a token names the last one that was
// given out: so pages join to the whole while the graph is unchanged, and nothing is doubled when it is not.
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { limitOf } from './page-limit.ts'
import type { DecisionParts, Question, QuestionKind, Side } from './parts.ts'
import type { PageMembers, PageRequest } from './schema.ts'

export interface Page {
  readonly ids: readonly string[]
  /** Null: the answer is the whole result, and nobody asked for a page. */
  readonly page: PageMembers | null
}

/** Where an answer begins and how long it may be. */
export interface Cut {
  readonly after: string | null
  /** As the caller asked, now or with the first page; null: did not. */
  readonly limit: number | null
  /** What the token of the next page is bound to; made only when one is made or read. */
  readonly binding: () => string
  readonly asked: boolean
}

export function cutFor(
  parts: DecisionParts,
  caller: AgentCaller,
  kind: QuestionKind,
  question: Question,
  page: PageRequest | undefined,
): Result<Cut, ServiceError> {
  const binding = (): string => bindingOf(caller, kind, question)
  const limit = page?.limit === undefined ? null : limitOf(page.limit)
  if (page?.token === undefined) return ok({ after: null, limit, binding, asked: page !== undefined })
  const place = parts.pageTokens.read(page.token, binding())
  if (place === null) {
    return err({ kind: 'malformed', issues: ['page.token: not a token for this question, or expired'] })
  }
  if (limit !== null && limit !== place.limit) {
    const expected = place.limit === null ? 'no limit' : String(place.limit)
    return err({ kind: 'malformed', issues: [`page.limit: expected ${expected} as on the first page, found ${limit}`] })
  }
  return ok({ after: place.after, limit: place.limit, binding, asked: true })
}

export function pageOf(parts: DecisionParts, cut: Cut, found: ReadonlySet<string>): Page {
  const { after, limit, asked } = cut
  const total = found.size
  if (!asked && total <= parts.searchPageMax) return { ids: [...found], page: null }
  // An order of code units, as `>` has it: any would do that is the same in every process.
  const left = (after === null ? [...found] : [...found].filter((id) => id > after)).sort()
  const ids = left.slice(0, Math.min(limit ?? parts.searchPageMax, parts.searchPageMax))
  // A limit of 0 asks how many there are; what is found then comes in pages of the service's own size.
  const place = limit === 0 ? { after, limit: null } : { after: ids.at(-1) ?? after, limit }
  const next_token = ids.length < left.length ? parts.pageTokens.make(place, cut.binding()) : ''
  return { ids, page: { next_token, count: ids.length, total } }
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
