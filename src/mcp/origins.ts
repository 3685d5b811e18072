// Checks the `Origin` header, which only browsers send. This prevents DNS rebinding: a page that resolved its own name to a
// local address still sends its foreign origin.

/** Returns whether a page of this origin may call the host. */
export type OriginCheck = (origin: string, host: string | null) => boolean

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * Creates a check of `Origin` against the configured origins.
 * @param allowed The setting `cors_origins`: empty, `*`, or origins separated by commas.
 * @param publicUrl The public URL of the service, whose origin is allowed; may be empty.
 */
export function createOriginCheck(allowed: string, publicUrl: string): OriginCheck {
  if (allowed === '*') return () => true
  const known = new Set(allowed === '' ? [] : allowed.split(','))
  if (publicUrl !== '') known.add(new URL(publicUrl).origin)
  return (origin, host) => {
    if (known.has(origin)) return true
    // Page and service on the same machine: local development.
    const [, where] = /^https?:\/\/(.+)$/.exec(origin) ?? []
    return where !== undefined && LOOPBACK.test(where) && host !== null && LOOPBACK.test(host)
  }
}
