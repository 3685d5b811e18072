// Tokens that say where a search goes on. They hold the place and nothing else: the question, the project and the caller are
// part of what is signed, so that a token answers only to those it was given for. Any process with the same key can read one.
import type { Clock } from '../kernel/clock.ts'

/** Signs with a key that all processes of the data folder share. */
export interface PageTokenSigner {
  sign(text: string): string
  /** In a time that tells nothing of the right signature. */
  verify(text: string, signature: string): boolean
}

export interface PagePosition {
  /** The last result that was given out; null: none yet. */
  readonly after: string | null
  /** Its node, where the results stand in the order of their nodes; 0: in the order of their names, or none yet. */
  readonly node: number
  /** How many were given out. */
  readonly returned: number
  /** The name under which the search is kept; '' for one that is not. */
  readonly cacheKey: string
  /** What the caller asked for; null: the service's own. */
  readonly limit: number | null
}

const FORM = /^([A-Za-z0-9_-]{1,4096})\.([A-Za-z0-9_-]{1,128})$/

export class PageTokens {
  private readonly signer: PageTokenSigner
  private readonly clock: Clock
  private readonly lifetimeMs: number

  constructor(signer: PageTokenSigner, clock: Clock, lifetimeMs: number) {
    this.signer = signer
    this.clock = clock
    this.lifetimeMs = lifetimeMs
  }

  create(place: PagePosition, question: string): string {
    const until = this.clock.now() + this.lifetimeMs
    const { after, node, returned, cacheKey, limit } = place
    const content = Buffer.from(JSON.stringify([until, limit, after, node, returned, cacheKey]), 'utf8').toString(
      'base64url',
    )
    return `${content}.${this.signer.sign(signed(content, question))}`
  }

  /** Null: not a token for this question, or not any more. */
  read(token: string, question: string): PagePosition | null {
    const [, content, signature] = FORM.exec(token) ?? []
    if (content === undefined || signature === undefined) return null
    if (!this.signer.verify(signed(content, question), signature)) return null
    const [until, limit, after, node, returned, cacheKey] = JSON.parse(
      Buffer.from(content, 'base64url').toString('utf8'),
    ) as [number, number | null, string | null, number, number, string]
    return until < this.clock.now() ? null : { after, node, returned, cacheKey, limit }
  }
}

/** The first holds no blank, so the two cannot run into each other. */
function signed(content: string, question: string): string {
  return `${content} ${question}`
}
