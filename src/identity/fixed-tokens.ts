// Tokens that the settings of the process name: credentials of programs that belong to no organization, such as Prometheus.
import { hash, timingSafeEqual } from 'node:crypto'

/** Accepts some bearer tokens. */
export interface TokenCheck {
  /** Returns whether `token` is one of them. Takes the same time for every token of the same length. */
  accepts(token: string): boolean
}

/** A set of tokens. Keeps their hashes only. */
export class FixedTokens implements TokenCheck {
  private readonly hashes: readonly Buffer[]

  /** `list`: tokens, separated by commas; empty: none. */
  constructor(list: string) {
    this.hashes = list
      .split(',')
      .filter((token) => token !== '')
      .map((token) => hash('sha256', token, 'buffer'))
  }

  /** Returns whether `token` is one of them. Takes the same time for every token of the same length. */
  accepts(token: string): boolean {
    const given = hash('sha256', token, 'buffer')
    let isKnown = false
    for (const known of this.hashes) if (timingSafeEqual(known, given)) isKnown = true
    return isKnown
  }
}
