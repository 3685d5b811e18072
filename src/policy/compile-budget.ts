// Which documents are compiled on the serving loop: compiling takes one to two microseconds for each character.
import { LaneRequiredError } from '../kernel/lane-required.ts'

/** Characters of documents that one question compiles on the serving loop, at most: some 2 to 4 ms, once per revision. */
export const MAX_INLINE_CHARS = 2048

export interface IndexOptions {
  /**
   * Characters of the documents that one call may compile. A call that needs more throws LaneRequiredError; what it has
   * compiled by then stays compiled. Absent: no limit.
   */
  readonly maxInlineChars?: number
  /** Called with a document that a call needed and did not compile; `compile` compiles it on the serving loop. */
  readonly onDeferred?: (characters: number, document: object, compile: () => void) => void
}

/** What one call may still compile. */
export class CompileBudget {
  private left: number
  private readonly options: IndexOptions

  constructor(options: IndexOptions = {}) {
    this.options = options
    this.left = options.maxInlineChars ?? Number.POSITIVE_INFINITY
  }

  /** To be called before a document of so many characters is compiled, by `compile`. Throws LaneRequiredError. */
  charge(characters: number, document: object, compile: () => void): void {
    if (characters > this.left) {
      this.options.onDeferred?.(characters, document, compile)
      throw new LaneRequiredError('compilation')
    }
    this.left -= characters
  }
}
