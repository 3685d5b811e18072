// Builds the HTTP response of a request from the result of its handler or from an error.
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import type { Cors } from './cors.ts'
import { type ErrorResponse, errorBodyText, toErrorResponse } from './error-response.ts'
import { DefaultHeaders, defaultHeaders, type HttpRequest, type HttpResponse, type RouteResponse } from './route.ts'
import { toByteStream } from './streaming-body.ts'

/** Serializes the result of a handler. `headOnly`: the response gets headers and no body. */
export function toHttpResponse(response: RouteResponse, requestId: string, headOnly: boolean): HttpResponse {
  if (response.stream !== undefined) return streamResponse(response, response.stream, requestId, headOnly)
  if (response.bytes !== undefined) return bytesResponse(response, response.bytes, requestId, headOnly)
  const text = response.text ?? (response.body === undefined ? '' : writeJson(response.body))
  if (response.headers === undefined && response.status !== 204 && !headOnly) {
    return { status: response.status, headers: new DefaultHeaders(requestId), body: text }
  }
  const headers = headersWith(requestId, response.headers)
  if (response.status === 204) delete headers['content-type']
  if (!headOnly) return { status: response.status, headers, body: text }
  headers['content-length'] = String(Buffer.byteLength(text))
  return { status: response.status, headers, body: '' }
}

function streamResponse(
  { status, headers: more }: RouteResponse,
  stream: NonNullable<RouteResponse['stream']>,
  requestId: string,
  headOnly: boolean,
): HttpResponse {
  const headers = headersWith(requestId, more)
  if (!headOnly) return { status, headers, body: '', stream }
  void stream.return?.()
  return { status, headers, body: '' }
}

function bytesResponse(
  { status, headers: more }: RouteResponse,
  bytes: NonNullable<RouteResponse['bytes']>,
  requestId: string,
  headOnly: boolean,
): HttpResponse {
  const headers = headersWith(requestId, more)
  const isStream = 'open' in bytes
  if (headOnly) {
    headers['content-length'] = String(isStream ? bytes.bytes : bytes.length)
    return { status, headers, body: '' }
  }
  // The runtime sends a stream in chunks of HTTP, without its length.
  return { status, headers, body: '', bytes: isStream ? toByteStream(bytes.open(), (chunk) => chunk) : bytes }
}

/** The response to a request that failed with a ServiceError. */
export function errorResponse(error: ServiceError, requestId: string): HttpResponse {
  return toErrorHttpResponse(toErrorResponse(error), requestId)
}

/** Adds request id and default headers to an error response. */
export function toErrorHttpResponse(error: ErrorResponse, requestId: string): HttpResponse {
  return { status: error.status, headers: headersWith(requestId, error.headers), body: errorBodyText(error) }
}

/** The response to OPTIONS: a CORS preflight, or the allowed methods. `cors`: null if no origin is allowed. */
export function optionsResponse(
  allow: readonly string[],
  requestId: string,
  request: HttpRequest,
  cors: Cors | null,
): HttpResponse {
  const isPreflight = request.header('access-control-request-method') !== null
  const origin = request.header('origin')
  const more = isPreflight ? cors?.preflightHeaders(origin, allow) : cors?.responseHeaders(origin)
  return { status: 204, headers: { allow: allow.join(', '), 'x-request-id': requestId, ...more }, body: '' }
}

function headersWith(requestId: string, more: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders, 'x-request-id': requestId }
  return more === undefined ? headers : Object.assign(headers, more)
}
