// Which documents are compiled on the serving loop: compiling takes one to two microseconds for each character.
import { LaneRequiredError } from '../kernel/lane-required.ts'

/** Characters of documents that one question compiles on the serving loop, at most: some 15 to 30 ms, once per revision. */
export const INLINE_TEXT_MAX = 16_384

/** Whether a document is small enough to be compiled on the serving loop. `text`: the policy or the query as it is stored. */
export function isInlineText(text: string, inlineTextMax = INLINE_TEXT_MAX): boolean {
  return text.length <= inlineTextMax
}

export interface LibraryOptions {
  /**
   * Characters of the documents that one call may compile. A call that needs more throws LaneRequiredError; what it has
   * compiled by then stays compiled. Absent: no limit.
   */
  readonly inlineTextMax?: number
}

/** What one call may still compile. */
export class CompileAllowance {
  private left: number

  constructor({ inlineTextMax = Number.POSITIVE_INFINITY }: LibraryOptions) {
    this.left = inlineTextMax
  }

  /** To be called before a document of so many characters is compiled. Throws LaneRequiredError. */
  take(characters: number): void {
    if (characters > this.left) throw new LaneRequiredError('compilation')
    this.left -= characters
  }
}
