// Cross-origin resource sharing (CORS) for the configured origins. Credentials are not allowed: callers send a key or a token
// in a header, never a cookie.
import type { Route } from './route.ts'

/** The CORS headers of responses. */
export interface Cors {
  /** Headers of a response to a request with this `Origin`; null: without one. */
  responseHeaders(origin: string | null): Readonly<Record<string, string>>
  /** Headers of a response to a preflight request. */
  preflightHeaders(origin: string | null, allow: readonly string[]): Readonly<Record<string, string>>
}

const ALLOWED_HEADERS = [
  'authorization',
  'content-type',
  'if-match',
  'x-svc-clientkey',
  'x-svc-token',
  'x-project-id',
  'x-request-id',
  'mcp-protocol-version',
  'mcp-method',
  'mcp-name',
  'mcp-session-id',
  'last-event-id',
].join(', ')
/** Two hours, the longest time that browsers accept. */
const PREFLIGHT_MAX_AGE_S = '7200'

/**
 * Creates the CORS headers of the setting `cors_origins`. Returns null if no origin is allowed.
 * @param origins Empty for none, `*` for all, or exact origins separated by commas.
 * @param routes Their response headers are exposed to pages.
 */
export function createCors(origins: string, routes: readonly Route[]): Cors | null {
  if (origins === '') return null
  const all = origins === '*'
  const known = new Set(origins.split(','))
  const readable = ['X-Request-ID', 'WWW-Authenticate', 'Allow', 'Retry-After', 'RateLimit', 'RateLimit-Policy']
  for (const { responseHeaders } of routes) readable.push(...Object.keys(responseHeaders ?? {}))
  const exposed = [...new Set(readable)].join(', ')

  function allowed(origin: string | null): Record<string, string> {
    if (all) return { 'access-control-allow-origin': '*' }
    // Shared caches must not serve the response for one origin to another one.
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
