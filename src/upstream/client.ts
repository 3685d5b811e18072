// The one way out of the process over HTTP. What a caller of the service can name in its configuration is called within
// bounds: the address that was checked is the one that is dialled, redirects are not followed, and time and size end.
import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { err, ok, type Result } from '../kernel/result.ts'
import { isInternalName, isPublic, type UpstreamAllowList } from './allow-list.ts'

export interface UpstreamRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH'
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: string
  /** From the look-up of the name to the last byte. */
  readonly timeoutMs: number
  readonly maxResponseBytes: number
}

export interface UpstreamResponse {
  readonly status: number
  header(name: string): string | null
  readonly body: Uint8Array
}

export interface UpstreamError {
  /** `forbidden` before anything was sent; nothing was understood of the others. */
  readonly kind: 'forbidden' | 'unreachable' | 'too-slow' | 'too-large'
  /** For the operator's log, and not for the caller: it says what is behind a name. */
  readonly message: string
}

export interface Upstream {
  /** Null where the URL may be called, as far as it alone can tell; else why not. */
  refusalOf(url: string): string | null
  /** Any status is an answer, a redirect too. */
  send(request: UpstreamRequest): Promise<Result<UpstreamResponse, UpstreamError>>
}

export interface UpstreamOptions {
  readonly allowed: UpstreamAllowList
  /** PEM; in the place of the system's authorities. */
  readonly authorities?: string
}

/** Of the headers that only the client itself may write. */
const CLIENT_HEADERS = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'upgrade',
])

export function createUpstream({ allowed, authorities }: UpstreamOptions): Upstream {
  function refusalOf(text: string): string | null {
    const url = parseHttpUrl(text)
    if (url === null) return 'expected an absolute http or https URL without credentials'
    const literal = ipLiteralOf(url)
    const listed = allowed.hasName(url.hostname) || (literal !== null && allowed.hasAddress(literal))
    if (listed) return null
    if (literal !== null && !isPublic(literal)) return `the address \`${literal}\` is not public`
    if (isInternalName(url.hostname) && !allowed.hasRanges) return `the host \`${url.hostname}\` is not public`
    if (url.protocol === 'https:' || (literal === null && allowed.hasRanges)) return null
    return 'expected https'
  }

  /** The addresses that may be dialled, in the order to try them. */
  async function addressesOf(url: URL): Promise<Result<readonly string[], UpstreamError>> {
    const literal = ipLiteralOf(url)
    const found = literal === null ? await resolve(url.hostname) : [literal]
    if (found.length === 0) return err({ kind: 'unreachable', message: `no address of \`${url.hostname}\` was found` })
    if (allowed.hasName(url.hostname)) return ok(found)
    for (const address of found) {
      if (allowed.hasAddress(address)) continue
      // One bad address among good ones is a trap, not a choice.
      if (!isPublic(address)) {
        return err({
          kind: 'forbidden',
          message: `\`${url.hostname}\` has the address ${address}, which is not public`,
        })
      }
      if (url.protocol !== 'https:') {
        return err({ kind: 'forbidden', message: `\`${url.hostname}\` may be called over https alone` })
      }
    }
    return ok(found)
  }

  async function exchange(
    url: URL,
    request: UpstreamRequest,
    signal: AbortSignal,
  ): Promise<Result<UpstreamResponse, UpstreamError>> {
    const addresses = await abortable(addressesOf(url), signal)
    if (!addresses.ok) return addresses
    const headers = new Headers()
    for (const [name, value] of request.headers)
      if (!CLIENT_HEADERS.has(name.toLowerCase())) headers.append(name, value)
    headers.set('host', url.host)
    // Compressed bytes cannot be counted before they are opened.
    headers.set('accept-encoding', 'identity')
    const secure = {
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...(ipLiteralOf(url) === null ? { serverName: url.hostname } : {}),
    }
    let failure: unknown
    for (const address of addresses.value) {
      const target = `${url.protocol}//${bracketed(address)}${url.port === '' ? '' : `:${url.port}`}`
      try {
        const response = await fetch(`${target}${url.pathname}${url.search}`, {
          method: request.method,
          headers,
          redirect: 'manual',
          // A connection that is kept is found by its address alone, whichever name its certificate was held against; and
          // where one is lost the runtime would send the request again.
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
    refusalOf,
    async send(request) {
      const refusal = refusalOf(request.url)
      if (refusal !== null) return err({ kind: 'forbidden', message: refusal })
      const signal = AbortSignal.timeout(request.timeoutMs)
      try {
        return await exchange(new URL(request.url), request, signal)
      } catch (fault) {
        if (signal.aborted) {
          return err({ kind: 'too-slow', message: `no whole answer within ${request.timeoutMs} milliseconds` })
        }
        return err({ kind: 'unreachable', message: fault instanceof Error ? errorCodeOf(fault) : String(fault) })
      }
    },
  }
}

async function readResponse(response: Response, bytesMax: number): Promise<Result<UpstreamResponse, UpstreamError>> {
  const tooLarge = err<UpstreamError>({ kind: 'too-large', message: `the answer is above ${bytesMax} bytes` })
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
    return err({ kind: 'unreachable', message: `the answer is encoded as \`${encoding}\`, which was not asked for` })
  }
  return ok({ status, header: (name) => headers.get(name), body: Buffer.concat(parts, length) })
}

function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  return url.username === '' && url.password === '' && url.hostname !== '' ? url : null
}

/** The address that a URL names by itself; a URL has brought every way to write an IPv4 address into one form. */
function ipLiteralOf({ hostname }: URL): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  return ipaddr.isValid(bare) ? bare : null
}

/** IPv4 first: where a machine has no way to IPv6, such an address only costs time. */
async function resolve(name: string): Promise<string[]> {
  try {
    const found = await lookup(name, { all: true })
    return found.sort((a, b) => a.family - b.family).map(({ address }) => address)
  } catch {
    return []
  }
}

function bracketed(address: string): string {
  return address.includes(':') ? `[${address}]` : address
}

/** Nothing was sent yet, so the next address may be tried. */
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
