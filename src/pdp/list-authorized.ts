// what-authorized and who-authorized: older requests that ask several resource or subject searches at once. Their answers
// have no pages, so an answer that does not fit one page of a search is an error and never cut. Each search reads a
// snapshot of its own and has the limits of a search; all of them together have those of a batch.

import type { ServiceError } from '../kernel/errors.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { nextExecutionMs, requestStartMs } from '../kernel/request/remote-reads.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type {
  WhatAuthorizedAnswer,
  WhatAuthorizedRequest,
  WhoAuthorizedAnswer,
  WhoAuthorizedRequest,
} from './authorized-schema.ts'
import type { DecisionDeps, DecisionEvent } from './decision-deps.ts'
import { policiesOfStatus } from './policy-status.ts'
import { readResourceSearch, readSubjectSearch } from './read-request.ts'
import { withReports } from './read-session.ts'
import type { SearchAnswer } from './schema.ts'
import { searchResources, searchSubjects } from './search.ts'

/** Reads the body of a what-authorized request. Error: `malformed`, with every issue. */
export function readWhatAuthorized(body: unknown): Result<WhatAuthorizedRequest, ServiceError> {
  return readEvaluationList<WhatAuthorizedRequest>(body, ({ subject, context }, { action, resource }) =>
    readResourceSearch({ subject, action, resource, context }),
  )
}

/** Reads the body of a who-authorized request. Error: `malformed`, with every issue. */
export function readWhoAuthorized(body: unknown): Result<WhoAuthorizedRequest, ServiceError> {
  return readEvaluationList<WhoAuthorizedRequest>(body, ({ context }, { action, resource }) =>
    readSubjectSearch({ subject: anySubject, action, resource, context }),
  )
}

const anySubject = { type: '' }

type ListMembers = Readonly<Record<string, unknown>>

/** `readItem` reads one evaluation with the members that all of them share, as the body of a search. */
function readEvaluationList<T>(
  body: unknown,
  readItem: (shared: ListMembers, item: ListMembers) => Result<unknown, ServiceError>,
): Result<T, ServiceError> {
  const malformed = (...issues: readonly string[]) => err<ServiceError>({ kind: 'malformed', issues })
  if (!isJsonObject(body)) return malformed(`body: expected object, found ${jsonKindOf(body)}`)
  const { evaluations } = body
  if (!Array.isArray(evaluations)) {
    return malformed(`evaluations: expected array, found ${jsonKindOf(evaluations)}`)
  }
  if (evaluations.length === 0) return malformed('evaluations: expected at least 1 item')
  // An issue of a shared member is found with each evaluation and reported once.
  const issues = new Set<string>()
  evaluations.forEach((item: unknown, i) => {
    if (!isJsonObject(item)) {
      issues.add(`evaluations[${i}]: expected object, found ${jsonKindOf(item)}`)
      return
    }
    const read = readItem(body, item)
    if (read.ok || read.error.kind !== 'malformed') return
    for (const issue of read.error.issues) {
      issues.add(/^(?:action|resource)\b/.test(issue) ? `evaluations[${i}].${issue}` : issue)
    }
  })
  return issues.size === 0 ? ok(body as T) : malformed(...issues)
}

/**
 * Returns every resource that the subject may act on, for each evaluation in order.
 * Errors: those of a resource search; `malformed` for too many evaluations; `budget` for too many results or too much
 * time.
 */
export function listWhatAuthorized(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  { subject, evaluations, context }: WhatAuthorizedRequest,
): Result<WhatAuthorizedAnswer, ServiceError> {
  const searches = SearchSeries.start(deps, evaluations.length, 'what-authorized', '/access/v1/search/resource')
  if (!searches.ok) return searches
  return searches.value.reporting(() => {
    const listed: WhatAuthorizedAnswer['evaluations'] = []
    for (const { action, resource } of evaluations) {
      const found = searches.value.run((limited) =>
        searchResources(limited, caller, origin, { subject, action, resource, context }),
      )
      if (!found.ok) return found
      const { name } = action
      for (const entity of found.value) listed.push({ action: { name }, resource: entity })
    }
    return ok(searches.value.identified({ evaluations: listed }))
  })
}

/**
 * Returns every subject that may act on each resource, for all subject types that a policy names. Errors: as for
 * `listWhatAuthorized`; a missing parameter is an error only if no subject is found without it.
 */
export function listWhoAuthorized(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  { evaluations, context }: WhoAuthorizedRequest,
): Result<WhoAuthorizedAnswer, ServiceError> {
  const searches = SearchSeries.start(deps, evaluations.length, 'who-authorized', '/access/v1/search/subject')
  if (!searches.ok) return searches
  return searches.value.reporting(() => {
    const listed: WhoAuthorizedAnswer['evaluations'] = []
    for (const { action, resource } of evaluations) {
      const subjects: SearchAnswer['results'] = []
      let missing: Result<never, ServiceError> | null = null
      // Without a policy there is still a search, so that the request is checked and reported like others.
      const types = policiesOfStatus(deps, context).subjectTypes(caller.projectId, action.name, resource.type)
      for (const type of types.length === 0 ? [anySubject.type] : types) {
        const found = searches.value.run((limited) =>
          searchSubjects(limited, caller, origin, { subject: { type }, action, resource, context }),
        )
        if (found.ok) for (const entity of found.value) subjects.push(entity)
        else if ('missing' in found) missing = found
        else return found
      }
      if (subjects.length === 0 && missing !== null) return missing
      listed.push({ action: { name: action.name }, resource: { type: resource.type, id: resource.id }, subjects })
    }
    return ok(searches.value.identified({ evaluations: listed }))
  })
}

type SearchPart = NonNullable<DecisionEvent['partOf']>

/** Runs the searches of one request, with what is left of its time and of its results. */
class SearchSeries {
  private readonly deps: DecisionDeps
  private readonly reports: (() => void)[] = []
  private readonly endMs: number
  /** The id of the answer in the decision log. */
  private readonly id: string | null
  private readonly pagedPath: string
  private resultsLeft: number

  private constructor(deps: DecisionDeps, partOf: SearchPart, pagedPath: string) {
    const { onDecided, onPolicyError } = deps
    const id = deps.decisionId === null || onDecided === null ? null : deps.decisionId()
    this.id = id
    this.deps = {
      ...deps,
      // One answer has one id.
      decisionId: id === null ? null : () => id,
      onDecided: onDecided && ((event) => void this.reports.push(() => onDecided({ ...event, partOf }))),
      // Of a search that has ended too, because a later one may require that all are run again.
      onPolicyError: (fault) => void this.reports.push(() => onPolicyError(fault)),
    }
    this.endMs = requestStartMs() + deps.batchTimeMs
    this.pagedPath = pagedPath
    this.resultsLeft = deps.searchPageMax
  }

  /** `pagedPath`: the search to use instead if the answer is too large. Error: `malformed` for too many evaluations. */
  static start(
    deps: DecisionDeps,
    evaluations: number,
    partOf: SearchPart,
    pagedPath: string,
  ): Result<SearchSeries, ServiceError> {
    const { evaluationsMax } = deps
    if (evaluations <= evaluationsMax) return ok(new SearchSeries(deps, partOf, pagedPath))
    const issue = `evaluations: expected at most ${evaluationsMax} items, found ${evaluations}`
    return err({ kind: 'malformed', issues: [issue] })
  }

  /** Runs the searches, and then reports them, unless a lane runs all of them again. */
  reporting<T>(work: () => T): T {
    return withReports(this.reports, work)
  }

  /** Adds the id of the answer, while the decision log is on. */
  identified<T extends object>(answer: T): T & { context?: { id: string } } {
    return this.id === null ? answer : { context: { id: this.id }, ...answer }
  }

  /** Runs one search, with `limited` instead of the dependencies. Returns all of its results. */
  run(
    search: (limited: DecisionDeps) => Result<SearchAnswer, ServiceError>,
  ): Result<SearchAnswer['results'], ServiceError> {
    const { deps, resultsLeft } = this
    const leftMs = this.endMs - nextExecutionMs()
    if (leftMs <= 0) {
      return err({ kind: 'budget', limit: 'batchTimeMs', message: 'the time limit of the batch is reached' })
    }
    const timeMs = Math.min(deps.limits.timeMs, leftMs)
    const found = search({ ...deps, searchPageMax: resultsLeft, limits: { ...deps.limits, timeMs } })
    if (!found.ok) return found
    const { results, page } = found.value
    // Without `page` in the request, a page in the answer means that there are more results.
    if (page !== undefined) {
      const message = `the answer has more than ${deps.searchPageMax} results: use ${this.pagedPath}, which has pages`
      return err({ kind: 'budget', limit: 'searchPageMax', message })
    }
    this.resultsLeft -= results.length
    return ok(results)
  }
}
