// Which documents are compiled on the serving loop: compiling takes one to two microseconds for each character.
import { LaneRequiredError } from '../kernel/lane-required.ts'

/** Characters of documents that one question compiles on the serving loop, at most: some 2 to 4 ms, once per revision. */
export const INLINE_TEXT_MAX = 2048

export interface LibraryOptions {
  /**
   * Characters of the documents that one call may compile. A call that needs more throws LaneRequiredError; what it has
   * compiled by then stays compiled. Absent: no limit.
   */
  readonly inlineTextMax?: number
  /** Called with a document that a call needed and did not compile; `compile` compiles it on the serving loop. */
  readonly later?: (characters: number, document: object, compile: () => void) => void
}

/** What one call may still compile. */
export class CompileAllowance {
  private left: number
  private readonly options: LibraryOptions

  constructor(options: LibraryOptions = {}) {
    this.options = options
    this.left = options.inlineTextMax ?? Number.POSITIVE_INFINITY
  }

  /** To be called before a document of so many characters is compiled, by `compile`. Throws LaneRequiredError. */
  take(characters: number, document: object, compile: () => void): void {
    if (characters > this.left) {
      this.options.later?.(characters, document, compile)
      throw new LaneRequiredError('compilation')
    }
    this.left -= characters
  }
}
