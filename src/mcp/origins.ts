// Which pages may ask: a browser says where a page comes from, and one that was lured to a local address by a changed name
// (DNS rebinding) says a foreign origin. Programs say none.

export type OriginCheck = (origin: string, host: string | null) => boolean

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/** `allowed`: as for all answers to pages: empty, `*`, or origins with commas between them. `publicUrl`: may be empty. */
export function createOriginCheck(allowed: string, publicUrl: string): OriginCheck {
  if (allowed === '*') return () => true
  const known = new Set(allowed === '' ? [] : allowed.split(','))
  if (publicUrl !== '') known.add(new URL(publicUrl).origin)
  return (origin, host) => {
    if (known.has(origin)) return true
    // Both ends on this machine: a developer's own tools.
    const [, where] = /^https?:\/\/(.+)$/.exec(origin) ?? []
    return where !== undefined && LOOPBACK.test(where) && host !== null && LOOPBACK.test(host)
  }
}
