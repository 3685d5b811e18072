// Page tokens of searches. A token holds the position only; request, project and caller are part of what is signed, so
// a token is valid only for them. Any process with the same key can read it.
import type { Clock } from '../kernel/time/clock.ts'

/** Signs with a key that all processes of the data folder share. */
export interface PageTokenSigner {
  /** Returns the signature of a text, in base64url. */
  sign(text: string): string
  /** Compares in constant time. */
  verify(text: string, signature: string): boolean
}

/** Where a page begins. */
export interface PagePosition {
  /** The last result returned; null if none exists yet. */
  readonly after: string | null
  /** The node of that result if results are in node order; 0 for name order or if none exists yet. */
  readonly node: number
  /** Number of results returned so far. */
  readonly returned: number
  /** Key of the cached search; '' if it is not cached. */
  readonly cacheKey: string
  /** The limit that the caller sent; null for the default. */
  readonly limit: number | null
}

/** The position has an external id of at most 1,024 characters, each of which JSON may write with six. */
const FORM = /^([A-Za-z0-9_-]{1,16384})\.([A-Za-z0-9_-]{1,128})$/

/** Creates and reads page tokens that expire after `lifetimeMs`. */
export class PageTokens {
  private readonly signer: PageTokenSigner
  private readonly clock: Clock
  private readonly lifetimeMs: number

  constructor(signer: PageTokenSigner, clock: Clock, lifetimeMs: number) {
    this.signer = signer
    this.clock = clock
    this.lifetimeMs = lifetimeMs
  }

  /** Creates a token for a position; `question` is the text that the token is bound to. */
  create(position: PagePosition, binding: string): string {
    const expiresMs = this.clock.now() + this.lifetimeMs
    const { after, node, returned, cacheKey, limit } = position
    const content = Buffer.from(JSON.stringify([expiresMs, limit, after, node, returned, cacheKey]), 'utf8').toString(
      'base64url',
    )
    return `${content}.${this.signer.sign(signed(content, binding))}`
  }

  /** Returns the position, or null if the token is malformed, expired or bound to another request. */
  read(token: string, binding: string): PagePosition | null {
    const [, content, signature] = FORM.exec(token) ?? []
    if (content === undefined || signature === undefined) return null
    if (!this.signer.verify(signed(content, binding), signature)) return null
    const [expiresMs, limit, after, node, returned, cacheKey] = JSON.parse(
      Buffer.from(content, 'base64url').toString('utf8'),
    ) as [number, number | null, string | null, number, number, string]
    return expiresMs < this.clock.now() ? null : { after, node, returned, cacheKey, limit }
  }
}

/** `content` has no space, so the two parts cannot be confused. */
function signed(content: string, binding: string): string {
  return `${content} ${binding}`
}
