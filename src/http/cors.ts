// Which pages of other origins a browser lets ask: those of the configured origins, and without cookies, because callers
// show a key or a token that the page itself must hold.
import type { Route } from './route.ts'

export interface Cors {
  /** Headers for an answer to a page of this origin, or of none. */
  responseHeaders(origin: string | null): Readonly<Record<string, string>>
  /** Headers for the question that a browser asks before its request. */
  preflightHeaders(origin: string | null, allow: readonly string[]): Readonly<Record<string, string>>
}

const ALLOWED_HEADERS = [
  'authorization',
  'content-type',
  'if-match',
  'x-svc-clientkey',
  'x-svc-token',
  'x-request-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
].join(', ')
/** Two hours, as long as any browser keeps it. */
const PREFLIGHT_MAX_AGE_S = '7200'

/** `origins`: empty for none, `*` for all, else exact ones separated by commas. Null: nothing is ever said. */
export function createCors(origins: string, routes: readonly Route[]): Cors | null {
  if (origins === '') return null
  const all = origins === '*'
  const known = new Set(origins.split(','))
  const readable = ['X-Request-ID', 'WWW-Authenticate', 'Allow', 'Retry-After', 'RateLimit', 'RateLimit-Policy']
  for (const { responseHeaders } of routes) readable.push(...Object.keys(responseHeaders ?? {}))
  const exposed = [...new Set(readable)].join(', ')

  function allowed(origin: string | null): Record<string, string> {
    if (all) return { 'access-control-allow-origin': '*' }
    // A cache on the way must not give the answer for one origin, or for none, to another.
    if (origin === null || !known.has(origin)) return { vary: 'Origin' }
    return { 'access-control-allow-origin': origin, vary: 'Origin' }
  }

  return {
    responseHeaders(origin) {
      const headers = allowed(origin)
      if (headers['access-control-allow-origin'] !== undefined) headers['access-control-expose-headers'] = exposed
      return headers
    },
    preflightHeaders(origin, allow) {
      const headers = allowed(origin)
      if (headers['access-control-allow-origin'] === undefined) return headers
      headers['access-control-allow-methods'] = allow.join(', ')
      headers['access-control-allow-headers'] = ALLOWED_HEADERS
      headers['access-control-max-age'] = PREFLIGHT_MAX_AGE_S
      return headers
    },
  }
}
