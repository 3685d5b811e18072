// Asks external data resolvers for values, outside of any reading of the graph (ruling C6): within the time of the execution
// that wants them, so many at once, and each equal request once. What fails says why in words that hold nothing of the
// request, the address or the answer; the operator's log says more.
import type { ConfigReader } from '../config/kind.ts'
import { type Clock, isWithin } from '../kernel/clock.ts'
import { parseJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Upstream, UpstreamError, UpstreamResponse } from '../upstream/client.ts'
import { type CompiledResolver, findResolver, type OpenSecret } from './compiled-resolver.ts'
import { ConcurrencyLimiter } from './concurrency-limiter.ts'
import { ResponseCache, type SelectedValue } from './response-cache.ts'
import { select } from './response-selector.ts'
import type { PlaceholderLookup } from './template.ts'

export interface ResolverDeps {
  readonly documents: Pick<ConfigReader, 'get' | 'getByName'>
  readonly openSecret: OpenSecret
  readonly upstream: Upstream
  readonly clock: Clock
  readonly report: (line: string) => void
  readonly limits: ResolverLimits
}

export interface ResolverLimits {
  /** One call, and one answer. */
  readonly timeMs: number
  readonly maxBytes: number
  /** Different requests of one execution. */
  readonly maxCalls: number
  /** Calls that run at once for one project. */
  readonly maxConcurrent: number
  /** For how long an answer does for equal requests of other executions; 0: it does not. */
  readonly cacheTtlMs: number
}

/** With the name of the resolver that supplied it. */
export interface ResolvedValue {
  /** JSON data, floats and long integers kept apart. */
  readonly value: unknown
  readonly resolver: string
}

export interface ResolutionError {
  /** For the caller: it holds nothing of request, address or answer. */
  readonly reason: string
  /** The same request may succeed later. */
  readonly isRetryable: boolean
}

type ResolutionFailure = Result<never, ResolutionError>

/** Between two lines of the log about one resolver. */
const PAUSE_MS = 10_000
const REPORTED_MAX = 1000
/** Answers of one execution, each counted as often as it is used: they stand in its own answer as often. */
const USED_BYTES_MAX = 32 * 1024 * 1024

export class ExternalDataResolvers {
  readonly parts: ResolverDeps
  readonly gates: ConcurrencyLimiter
  readonly answers: ResponseCache
  private readonly reportedAtMs = new Map<string, number>()

  constructor(parts: ResolverDeps) {
    this.parts = parts
    this.gates = new ConcurrencyLimiter(parts.limits.maxConcurrent)
    this.answers = new ResponseCache(parts.clock, parts.limits.cacheTtlMs)
  }

  /** For one execution, which is to end so many milliseconds from now. */
  startResolution(projectId: string, timeMs: number): Resolution {
    return new Resolution(this, projectId, performance.now() + timeMs)
  }

  /** An outage is told now and then, not with every row. */
  report({ id, name }: CompiledResolver, cause: string): void {
    const now = this.parts.clock.now()
    if (isWithin(now, this.reportedAtMs.get(id) ?? Number.NEGATIVE_INFINITY, PAUSE_MS)) return
    if (this.reportedAtMs.size >= REPORTED_MAX) this.reportedAtMs.clear()
    this.reportedAtMs.set(id, now)
    this.parts.report(`the external data resolver ${id} (${name}) supplied no value: ${cause}`)
  }
}

export class Resolution {
  private readonly resolvers: ExternalDataResolvers
  private readonly projectId: string
  private readonly untilMs: number
  private readonly running = new Map<string, Promise<Result<SelectedValue, ResolutionError>>>()
  private usedBytes = 0

  constructor(resolvers: ExternalDataResolvers, projectId: string, untilMs: number) {
    this.resolvers = resolvers
    this.projectId = projectId
    this.untilMs = untilMs
  }

  /** `name`: of a resolver of the project, or its id. Never rejects. */
  async resolve(name: string, values: PlaceholderLookup): Promise<Result<ResolvedValue, ResolutionError>> {
    const { documents, openSecret } = this.resolvers.parts
    const found = findResolver(documents, openSecret, this.projectId, name)
    if (found === null) return refused('the project has none of that name')
    if (!found.ok) return refused(found.error)
    const resolver = found.value
    const url = resolver.url(values)
    if (!url.ok) return refused(url.error)
    const payload = resolver.payload(values)
    if (!payload.ok) return refused(payload.error)
    const selected = await this.ask(resolver, url.value, payload.value)
    if (!selected.ok) return selected
    this.usedBytes += selected.value.bytes
    if (this.usedBytes > USED_BYTES_MAX) return refused(tooMuch)
    return ok({ value: selected.value.value, resolver: resolver.name })
  }

  private ask(
    resolver: CompiledResolver,
    url: string,
    payload: string | null,
  ): Promise<Result<SelectedValue, ResolutionError>> | Result<SelectedValue, ResolutionError> {
    const { answers, parts } = this.resolvers
    const key = JSON.stringify([this.projectId, resolver.id, resolver.revision, url, payload])
    const running = this.running.get(key)
    if (running !== undefined) return running
    const kept = answers.get(key)
    if (kept !== null) return ok(kept)
    if (this.running.size >= parts.limits.maxCalls) return refused('the execution has made its number of calls')
    const asked = this.call(resolver, url, payload).then((selected) => {
      if (selected.ok) answers.set(key, selected.value)
      return selected
    })
    this.running.set(key, asked)
    return asked
  }

  private async call(
    resolver: CompiledResolver,
    url: string,
    payload: string | null,
  ): Promise<Result<SelectedValue, ResolutionError>> {
    const { gates, parts } = this.resolvers
    const left = (): number => this.untilMs - performance.now()
    if (this.usedBytes > USED_BYTES_MAX) return refused(tooMuch)
    if (left() <= 0 || !(await gates.acquire(this.projectId, left()))) return lost(outOfTime)
    try {
      const timeMs = Math.min(parts.limits.timeMs, Math.ceil(left()))
      if (timeMs <= 0) return lost(outOfTime)
      const { method, headers } = resolver
      const { maxBytes } = parts.limits
      const body = payload === null ? {} : { body: payload }
      const answer = await parts.upstream.send({
        url,
        method,
        headers,
        ...body,
        timeoutMs: timeMs,
        maxResponseBytes: maxBytes,
      })
      if (!answer.ok) return this.failed(resolver, told[answer.error.kind], answer.error.message)
      const read = readAnswer(answer.value)
      if (!read.ok) return this.failed(resolver, read.error)
      const value = select(resolver.selection, read.value)
      if (!value.ok) return this.failed(resolver, value.error)
      return ok({ value: value.value, bytes: answer.value.body.length })
    } finally {
      gates.release(this.projectId)
    }
  }

  private failed(resolver: CompiledResolver, reason: string, cause = reason): ResolutionFailure {
    this.resolvers.report(resolver, cause)
    return lost(reason)
  }
}

function refused(reason: string): ResolutionFailure {
  return err({ reason, isRetryable: false })
}

function lost(reason: string): ResolutionFailure {
  return err({ reason, isRetryable: true })
}

const tooMuch = 'the execution has too many bytes of answers'
const outOfTime = 'the time of the execution was over'

/** What is behind a name is the operator's business alone. */
const told: Readonly<Record<UpstreamError['kind'], string>> = {
  forbidden: 'its address may not be called',
  unreachable: 'it could not be reached, or its answer was broken',
  'too-slow': 'it did not answer in time',
  'too-large': 'its answer is too large',
}

/** `application/json`, `application/problem+json; charset=utf-8`. */
const JSON_TYPE = /^application\/(?:[\w.!#$&^-]+\+)?json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i

function readAnswer(answer: UpstreamResponse): Result<unknown, string> {
  const { status, body } = answer
  if (status < 200 || status > 299) return err(`it answered with the status ${status}`)
  if (!JSON_TYPE.test(answer.header('content-type') ?? '')) return err('its answer is not of the content type JSON')
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return err('its answer is not UTF-8')
  }
  // Where it is malformed stands in the answer, which is nobody's business here.
  const parsed = parseJson(text)
  return parsed.ok ? parsed : err('its answer is not JSON, gives a member twice or is nested too deeply')
}
