// The HTTP client for URLs from the configuration, which callers of the service can write. It connects only to the
// address that was checked, follows no redirect, and limits time and size (docs/decisions/0016-outgoing-requests.md).
import ipaddr from 'ipaddr.js'
import { err, ok, type Result } from '../kernel/result.ts'
import type { UpstreamAllowList } from './allow-list.ts'
import { createDestinations } from './destinations.ts'

/** A request. */
export interface UpstreamRequest {
  /** Absolute URL with http or https. */
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  /** Headers; those that only the client may set are dropped. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Request body as text. */
  readonly body?: string
  /** Time limit from name resolution to the last byte, milliseconds. */
  readonly timeoutMs: number
  /** Size limit of the response body, bytes. */
  readonly maxResponseBytes: number
}

/** A response with any status. */
export interface UpstreamResponse {
  /** HTTP status code. */
  readonly status: number
  /** The value of a header, or null. */
  header(name: string): string | null
  /** The whole body. */
  readonly body: Uint8Array
}

/** Why there is no response. */
export interface UpstreamError {
  /** `forbidden`: nothing was sent. */
  readonly kind: 'forbidden' | 'unreachable' | 'too-slow' | 'too-large'
  /** For the operator's log, not for the caller: it reveals what a name resolves to. */
  readonly message: string
}

/** The port for outgoing requests. */
export interface Upstream {
  /** Returns null if the URL may be called, as far as the URL itself shows; else the reason. */
  urlError(url: string): string | null
  /** Sends a request. Every status is a response, redirects too. Errors: see `UpstreamError`; never rejects. */
  send(request: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamError>>
}

/** Options of the client. */
export interface UpstreamOptions {
  /** Hosts that may be called in addition to the public internet. */
  readonly allowed: UpstreamAllowList
  /** Certificate authorities as PEM; replaces those of the system. */
  readonly authorities?: string
}

/** Headers that only the client may set. */
const CLIENT_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'upgrade',
])

/** Creates the client. */
export function createUpstream({ allowed, authorities }: UpstreamOptions): Upstream {
  const destinations = createDestinations(allowed)

  function urlError(text: string): string | null {
    const url = parseHttpUrl(text)
    if (url === null) return 'expected an absolute http or https URL without credentials'
    return destinations.hostError(hostOf(url), url.protocol === 'https:', 'https')
  }

  async function exchange(
    url: URL,
    request: UpstreamRequest,
    signal: AbortSignal,
  ): Promise<Result<UpstreamResponse, UpstreamError>> {
    const addresses = await abortable(destinations.addressesOf(hostOf(url), url.protocol === 'https:', 'https'), signal)
    if (!addresses.ok) return addresses
    const headers = new Headers()
    for (const [name, value] of request.headers)
      if (!CLIENT_HEADERS.has(name.toLowerCase())) headers.append(name, value)
    headers.set('host', url.host)
    // The size of compressed content is not known before decompression.
    headers.set('accept-encoding', 'identity')
    const secure = {
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...(ipaddr.isValid(hostOf(url)) ? {} : { serverName: url.hostname }),
    }
    let failure: unknown
    for (const address of addresses.value) {
      const target = `${url.protocol}//${bracketed(address)}${url.port === '' ? '' : `:${url.port}`}`
      try {
        const response = await fetch(`${target}${url.pathname}${url.search}`, {
          method: request.method,
          headers,
          redirect: 'manual',
          // The runtime's connection pool uses the address as its key, regardless of the name that the certificate was
          // checked for. It also resends a request whose pooled connection is lost.
          keepalive: false,
          decompress: false,
          signal,
          ...(url.protocol === 'https:' ? { tls: secure } : {}),
          ...(request.body === undefined ? {} : { body: request.body }),
        })
        return await readResponse(response, request.maxResponseBytes)
      } catch (fault) {
        if (signal.aborted || !isConnectError(fault)) throw fault
        failure = fault
      }
    }
    throw failure
  }

  return {
    urlError,
    async send(request) {
      const refusal = urlError(request.url)
      if (refusal !== null) return err({ kind: 'forbidden', message: refusal })
      const signal = AbortSignal.timeout(request.timeoutMs)
      try {
        return await exchange(new URL(request.url), request, signal)
      } catch (fault) {
        if (signal.aborted) {
          return err({ kind: 'too-slow', message: `no complete response within ${request.timeoutMs} milliseconds` })
        }
        return err({ kind: 'unreachable', message: fault instanceof Error ? errorCodeOf(fault) : String(fault) })
      }
    },
  }
}

async function readResponse(response: Response, bytesMax: number): Promise<Result<UpstreamResponse, UpstreamError>> {
  const tooLarge = err<UpstreamError>({ kind: 'too-large', message: `the response is larger than ${bytesMax} bytes` })
  const parts: Uint8Array[] = []
  let length = 0
  if (response.body !== null) {
    const reader = response.body.getReader()
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      length += read.value.length
      if (length > bytesMax) {
        await reader.cancel().catch(() => undefined)
        return tooLarge
      }
      parts.push(read.value)
    }
  }
  const { status, headers } = response
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() !== 'identity') {
    return err({
      kind: 'unreachable',
      message: `the response has the content encoding \`${encoding}\`, which was not requested`,
    })
  }
  return ok({ status, header: (name) => headers.get(name), body: Buffer.concat(parts, length) })
}

function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  return url.username === '' && url.password === '' && url.hostname !== '' ? url : null
}

/** The host of a URL without the brackets of IPv6. URL parsing has normalized all notations of IPv4. */
function hostOf({ hostname }: URL): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

/** Whether the connection failed before anything was sent, so that the next address may be tried. */
function isConnectError(fault: unknown): boolean {
  return (
    fault instanceof Error && ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT'].includes(errorCodeOf(fault))
  )
}

function errorCodeOf(fault: Error): string {
  return 'code' in fault && typeof fault.code === 'string' ? fault.code : fault.message
}

function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject)
  })
}
