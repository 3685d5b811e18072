// Calls external data resolvers while no graph is being read: within the time of the execution, with limited
// concurrency, and once for equal requests. The reason of a failure contains nothing of request, address or response;
// the operator's log has more. See docs/decisions/0029-external-data-resolvers.md.
import { LRUCache } from 'lru-cache'
import type { ConfigReader } from '../config/kind.ts'
import { parseJson } from '../kernel/json/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { decodeUtf8 } from '../kernel/text/utf8.ts'
import { type Clock, isWithin } from '../kernel/time/clock.ts'
import type { Upstream, UpstreamError, UpstreamResponse } from '../upstream/client.ts'
import { type CompiledResolver, findResolver, type OpenSecret } from './compiled-resolver.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import { ResponseCache, type SelectedValue } from './response-cache.ts'
import { select } from './response-selector.ts'
import type { PlaceholderLookup } from './template.ts'

/** Collaborators and limits of resolvers. */
export interface ResolverDeps {
  readonly documents: { snapshot(): ResolverConfigurations }
  readonly openSecret: OpenSecret
  readonly upstream: Pick<Upstream, 'send'>
  readonly clock: Clock
  readonly report: (line: string) => void
  readonly limits: ResolverLimits
  /** Called with the outcome of each call. `failure`: contains nothing of request, address or response; null: it succeeded. */
  onCalled?(resolverId: string, failure: string | null): void
}

/** The configuration of resolvers. */
type ResolverConfigurations = Pick<ConfigReader, 'get' | 'getByName'>

/** Limits of resolver calls. */
export interface ResolverLimits {
  /** Milliseconds of one call. */
  readonly timeMs: number
  readonly maxBytes: number
  /** Maximum different requests of one execution. */
  readonly maxCalls: number
  /** Maximum concurrent calls of one project. */
  readonly maxConcurrent: number
  /** Milliseconds for which a response is reused by other executions; 0: not at all. */
  readonly cacheTtlMs: number
}

/** A resolved value, with the name of its resolver. */
export interface ResolvedValue {
  /** JSON data with exact numbers: floats and long integers are boxed. */
  readonly value: unknown
  readonly resolver: string
}

/** Why a value could not be resolved. */
export interface ResolutionError {
  /** For the caller: contains nothing of request, address or response. */
  readonly reason: string
  /** True if the same request may succeed later. */
  readonly isRetryable: boolean
}

type ResolutionFailure = Result<never, ResolutionError>

/** Minimum milliseconds between two log lines about one resolver. */
const REPORT_INTERVAL_MS = 10_000
/** Maximum resolvers whose last report is remembered. */
const REPORTED_MAX = 1000
/** Maximum bytes of responses in one execution, counted for each use, because each use adds to its own response. */
const USED_BYTES_MAX = 32 * 1024 * 1024

/** The external data resolvers of all projects. */
export class ExternalDataResolvers {
  readonly deps: ResolverDeps
  readonly limiter: ConcurrencyLimiter
  readonly responses: ResponseCache
  private readonly reportedAtMs = new LRUCache<string, number>({ max: REPORTED_MAX })

  constructor(deps: ResolverDeps) {
    this.deps = deps
    this.limiter = new ConcurrencyLimiter(deps.limits.maxConcurrent)
    this.responses = new ResponseCache(deps.clock, deps.limits.cacheTtlMs)
  }

  /** Starts a resolution for one execution that ends in `timeMs` milliseconds. */
  startResolution(projectId: string, timeMs: number): Resolution {
    return new Resolution(this, projectId, performance.now() + timeMs)
  }

  /** Logs a failure, at most once per interval and resolver. */
  report({ id, name }: CompiledResolver, cause: string): void {
    const now = this.deps.clock.now()
    if (isWithin(now, this.reportedAtMs.get(id) ?? Number.NEGATIVE_INFINITY, REPORT_INTERVAL_MS)) return
    this.reportedAtMs.set(id, now)
    this.deps.report(`the external data resolver ${id} (${name}) supplied no value: ${cause}`)
  }
}

/** The resolver calls of one execution. */
export class Resolution {
  private readonly resolvers: ExternalDataResolvers
  private readonly projectId: string
  /**
   * The configuration when the execution started: a policy of one revision never works with a resolver of another, which an apply
   * has stored since.
   */
  private readonly documents: ResolverConfigurations
  private readonly deadlineMs: number
  private readonly running = new Map<string, Promise<Result<SelectedValue, ResolutionError>>>()
  private usedBytes = 0

  constructor(resolvers: ExternalDataResolvers, projectId: string, deadlineMs: number) {
    this.resolvers = resolvers
    this.projectId = projectId
    this.documents = resolvers.deps.documents.snapshot()
    this.deadlineMs = deadlineMs
  }

  /** Resolves one value. `name`: name or id of a resolver of the project. Never rejects. */
  async resolve(name: string, values: PlaceholderLookup): Promise<Result<ResolvedValue, ResolutionError>> {
    const { openSecret } = this.resolvers.deps
    const found = findResolver(this.documents, openSecret, this.projectId, name)
    if (found === null) return permanentFailure('the project has no resolver with this name')
    if (!found.ok) return permanentFailure(found.error)
    const resolver = found.value
    const url = resolver.url(values)
    if (!url.ok) return permanentFailure(url.error)
    const payload = resolver.payload(values)
    if (!payload.ok) return permanentFailure(payload.error)
    const selected = await this.fetch(resolver, url.value, payload.value)
    if (!selected.ok) return selected
    this.usedBytes += selected.value.bytes
    if (this.usedBytes > USED_BYTES_MAX) return permanentFailure(tooManyBytes)
    return ok({ value: selected.value.value, resolver: resolver.name })
  }

  private fetch(
    resolver: CompiledResolver,
    url: string,
    payload: string | null,
  ): Promise<Result<SelectedValue, ResolutionError>> | Result<SelectedValue, ResolutionError> {
    const { responses, deps } = this.resolvers
    const key = JSON.stringify([this.projectId, resolver.id, resolver.revision, url, payload])
    const running = this.running.get(key)
    if (running !== undefined) return running
    const cached = responses.get(key)
    if (cached !== null) return ok(cached)
    if (this.running.size >= deps.limits.maxCalls) return permanentFailure('the execution reached its number of calls')
    const response = this.call(resolver, url, payload).then((selected) => {
      if (selected.ok) responses.set(key, selected.value)
      return selected
    })
    this.running.set(key, response)
    return response
  }

  private async call(
    resolver: CompiledResolver,
    url: string,
    payload: string | null,
  ): Promise<Result<SelectedValue, ResolutionError>> {
    if (this.usedBytes > USED_BYTES_MAX) return permanentFailure(tooManyBytes)
    const remainingMs = this.deadlineMs - performance.now()
    if (remainingMs <= 0) return temporaryFailure(outOfTime)
    const { limiter } = this.resolvers
    const result = await limiter.run(this.projectId, remainingMs, () => this.send(resolver, url, payload))
    return result ?? temporaryFailure(outOfTime)
  }

  private async send(
    resolver: CompiledResolver,
    url: string,
    payload: string | null,
  ): Promise<Result<SelectedValue, ResolutionError>> {
    const { limits, upstream } = this.resolvers.deps
    const timeoutMs = Math.min(limits.timeMs, Math.ceil(this.deadlineMs - performance.now()))
    if (timeoutMs <= 0) return temporaryFailure(outOfTime)
    const { method, headers } = resolver
    const body = payload === null ? {} : { body: payload }
    const response = await upstream.send({
      url,
      method,
      headers,
      ...body,
      timeoutMs,
      maxResponseBytes: limits.maxBytes,
    })
    if (!response.ok) return this.failed(resolver, upstreamReasons[response.error.kind], response.error.message)
    const parsed = parseResponse(response.value)
    if (!parsed.ok) return this.failed(resolver, parsed.error)
    const value = select(resolver.selection, parsed.value)
    if (!value.ok) return this.failed(resolver, value.error)
    this.resolvers.deps.onCalled?.(resolver.id, null)
    return ok({ value: value.value, bytes: response.value.body.length })
  }

  private failed(resolver: CompiledResolver, reason: string, cause = reason): ResolutionFailure {
    this.resolvers.report(resolver, cause)
    this.resolvers.deps.onCalled?.(resolver.id, reason)
    return temporaryFailure(reason)
  }
}

function permanentFailure(reason: string): ResolutionFailure {
  return err({ reason, isRetryable: false })
}

function temporaryFailure(reason: string): ResolutionFailure {
  return err({ reason, isRetryable: true })
}

const tooManyBytes = 'the execution received too many bytes of responses'
const outOfTime = 'the time limit of the execution was reached'

/** Only the operator may learn more about the address. */
const upstreamReasons: Readonly<Record<UpstreamError['kind'], string>> = {
  forbidden: 'calls to its address are not allowed',
  unreachable: 'it could not be reached, or its response was incomplete',
  'too-slow': 'it did not answer in time',
  'too-large': 'its response is too large',
}

/** `application/json`, `application/problem+json; charset=utf-8`. */
const JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i

function parseResponse(response: UpstreamResponse): Result<unknown, string> {
  const { status, body } = response
  if (status < 200 || status > 299) return err(`it answered with the status ${status}`)
  if (!JSON_TYPE.test(response.header('content-type') ?? ''))
    return err('its response does not have a JSON content type')
  const text = decodeUtf8(body)
  if (text === null) return err('its response is not UTF-8')
  // The parser's message would quote the response.
  const parsed = parseJson(text)
  return parsed.ok ? parsed : err('its response is not valid JSON, has a duplicate member or is nested too deeply')
}
