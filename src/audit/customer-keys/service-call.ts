// One call of a key service over HTTPS: its deadline, its repetitions, and the text of its errors.

import { setTimeout as delay } from 'node:timers/promises'
import { oneLine, withoutSecrets } from '../../events/providers/error-text.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { xmlElement } from '../../kernel/text/xml-elements.ts'
import { backoffMs } from '../../kernel/time/backoff.ts'
import type { UpstreamError, UpstreamRequest, UpstreamResponse } from '../../upstream/client.ts'
import type { KeyClientDeps, KeyFailure } from './customer-key.ts'

const DEADLINE_MS = 10_000
/** Time limit of one attempt. */
const ATTEMPT_MS = 4000
const ATTEMPTS = 3
/** Delay before the second attempt. It doubles. */
const RETRY_MS = 200
const RESPONSE_BYTES_MAX = 64 * 1024
/** Errors of the service itself, and of too many requests, can pass. */
const REPEATABLE = new Set([408, 429, 500, 502, 503, 504])
/** CLOUD1 answers 400 to too many requests. */
const THROTTLED = /Throttling|LimitExceeded|RequestLimit/

/** A request of a client. */
export type ServiceRequest = Pick<UpstreamRequest, 'url' | 'method' | 'headers' | 'body'>

/** The time that is left of a call of the port. */
export interface Deadline {
  leftMs(): number
}

/** Begins a deadline. */
export function deadlineOf({ deadlineMs = DEADLINE_MS }: KeyClientDeps): Deadline {
  const endMs = performance.now() + deadlineMs
  return { leftMs: () => endMs - performance.now() }
}

/**
 * Sends a request until a response has the status 200, or another final status of `accepted`. `build` is called for each attempt,
 * because signatures of requests contain the time. `secrets` never appear in the failure.
 */
export async function callService(
  { upstream }: KeyClientDeps,
  call: string,
  deadline: Deadline,
  secrets: readonly string[],
  build: () => ServiceRequest | Promise<ServiceRequest>,
  accepted: readonly number[] = [200],
): Promise<Result<UpstreamResponse, KeyFailure>> {
  const fail = (message: string, detail?: string): KeyFailure => {
    const clean = (text: string): string => oneLine(withoutSecrets(text, secrets))
    return { call, message: clean(message), ...(detail !== undefined && { detail: clean(detail) }) }
  }
  for (let attempt = 1; ; attempt++) {
    const timeoutMs = Math.floor(Math.min(ATTEMPT_MS, deadline.leftMs()))
    if (timeoutMs <= 0) return err(fail('no response within the time limit'))
    const response = await upstream.send({ ...(await build()), timeoutMs, maxResponseBytes: RESPONSE_BYTES_MAX })
    if (response.ok && accepted.includes(response.value.status)) return response
    const failure = response.ok
      ? fail(`HTTP status ${response.value.status}${errorDetail(response.value.body)}`)
      : fail(connectionError(response.error), response.error.message)
    const isPassing = response.ok
      ? REPEATABLE.has(response.value.status) || (response.value.status === 400 && THROTTLED.test(failure.message))
      : response.error.kind === 'unreachable' || response.error.kind === 'too-slow'
    const waitMs = backoffMs({ minMs: RETRY_MS }, attempt) * (1 + Math.random())
    if (!isPassing || attempt >= ATTEMPTS || waitMs >= deadline.leftMs()) return err(failure)
    await delay(waitMs)
  }
}

/** A response as a JSON object. */
export function jsonOf(
  call: string,
  { body }: UpstreamResponse,
): Result<Readonly<Record<string, unknown>>, KeyFailure> {
  const json = parseObject(body)
  return json === null ? err({ call, message: 'the response is not a JSON object' }) : ok(json)
}

/** A text member of a response, or null. */
export function textMember(value: unknown, name: string): string | null {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null
  const member = (value as Record<string, unknown>)[name]
  return typeof member === 'string' && member !== '' ? member : null
}

/** The error of a connection, without what a name resolves to. */
function connectionError({ kind, message }: UpstreamError): string {
  switch (kind) {
    case 'forbidden':
      return 'the host may not be called (setting `upstream_allow`)'
    case 'unreachable':
      return 'the host cannot be reached, or its certificate is not valid'
    case 'too-slow':
    case 'too-large':
      return message
  }
}

/**
 * Code and message of an error response: `{__type, message}` of CLOUD1, `{error: {code, status, message}}` of CLOUD2 and CLOUD3,
 * `{error, error_description}` of OAuth, and XML of the CLOUD1 token service.
 */
function errorDetail(body: Uint8Array): string {
  const json = parseObject(body)
  const parts = json === null ? xmlParts(body) : jsonParts(json)
  const found = parts.filter((part) => part !== null)
  return found.length === 0 ? '' : `: ${[...new Set(found)].join(': ')}`
}

function jsonParts(json: Readonly<Record<string, unknown>>): (string | null)[] {
  const { error } = json
  const inner = typeof error === 'object' && error !== null ? error : json
  const code = textMember(json, '__type')?.replace(/^.*#/, '') ?? null
  const names = ['status', 'code', 'error', 'message', 'Message', 'error_description']
  return [code, ...names.map((name) => textMember(inner, name))]
}

function xmlParts(body: Uint8Array): (string | null)[] {
  const text = new TextDecoder().decode(body.subarray(0, 4096))
  return ['Code', 'Message'].map((name) => xmlElement(text, name))
}

function parseObject(body: Uint8Array): Readonly<Record<string, unknown>> | null {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(body))
    return typeof json === 'object' && json !== null && !Array.isArray(json) ? (json as Record<string, unknown>) : null
  } catch {
    return null
  }
}
