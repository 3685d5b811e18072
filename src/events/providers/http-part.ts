// One part of a batch over HTTPS: what the status of the response means for the events.
import type { Upstream, UpstreamRequest, UpstreamResponse } from '../../upstream/client.ts'
import { oneLine, withoutSecrets } from './error-text.ts'
import type { PartOutcome } from './send-in-parts.ts'

const RESPONSE_BYTES_MAX = 1024 * 1024
/** Statuses that concern the content of the request. All others can change without it. */
const REFUSED = new Set([400, 422])
const TOO_LARGE = 413

/** A request of a provider. */
interface PartRequest extends Pick<UpstreamRequest, 'url' | 'headers'> {
  readonly body: string
  readonly timeoutMs: number
}

/** An outcome, with the status of the response if there was one. */
interface HttpPartOutcome {
  readonly outcome: PartOutcome
  readonly status: number | null
}

/**
 * Sends one part. `acknowledgement`: returns null if a successful response acknowledges all events, else what is wrong
 * with it. `secrets` never appear in the error.
 */
export async function postPart(
  upstream: Upstream,
  request: PartRequest,
  secrets: readonly string[],
  acknowledgement: (response: UpstreamResponse) => string | null = () => null,
): Promise<HttpPartOutcome> {
  const { timeoutMs, ...rest } = request
  // The client takes whole milliseconds.
  const result = await upstream.send({
    ...rest,
    method: 'POST',
    timeoutMs: Math.max(1, Math.floor(timeoutMs)),
    maxResponseBytes: RESPONSE_BYTES_MAX,
  })
  const text = (message: string): string => oneLine(withoutSecrets(message, secrets))
  if (!result.ok) return { outcome: { kind: 'retry', error: text(result.error.message) }, status: null }
  const { status } = result.value
  if (status >= 200 && status < 300) {
    const fault = acknowledgement(result.value)
    return { outcome: fault === null ? { kind: 'delivered' } : { kind: 'retry', error: text(fault) }, status }
  }
  const error = text(`HTTP status ${status}${detailOf(result.value)}`)
  if (status === TOO_LARGE) return { outcome: { kind: 'refused', error, isFinal: true }, status }
  return {
    outcome: REFUSED.has(status) ? { kind: 'refused', error, isFinal: false } : { kind: 'retry', error },
    status,
  }
}

/** Code and message of the error, in the form that both vendors use: `{"error": {"code", "message", "status"}}`. */
function detailOf({ body }: UpstreamResponse): string {
  try {
    const { error } = JSON.parse(new TextDecoder().decode(body))
    const parts = [error?.status, error?.code, error?.message].filter((part) => typeof part === 'string')
    return parts.length === 0 ? '' : `: ${parts.join(': ')}`
  } catch {
    return ''
  }
}
