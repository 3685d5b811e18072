// Limits the compilation of documents on the event loop: it takes one to two microseconds per character.
import { LaneRequiredError } from '../kernel/request/lane-required.ts'

/** Maximum characters of documents that one request compiles on the event loop: 2 to 4 ms, once per revision. */
export const MAX_INLINE_CHARS = 2048

/** Compilation limits of a policy or query index. */
export interface IndexOptions {
  /**
   * Maximum characters of documents that one call compiles. A call that needs more throws LaneRequiredError; documents
   * already compiled stay compiled. Absent: no limit.
   */
  readonly maxInlineChars?: number
  /** Called with a document that a call needed and did not compile; `compile` compiles it on the event loop. */
  readonly onDeferred?: (characters: number, document: object, compile: () => void) => void
}

/** The compilation allowance of one call. */
export class CompileBudget {
  private left: number
  private readonly options: IndexOptions

  constructor(options: IndexOptions = {}) {
    this.options = options
    this.left = options.maxInlineChars ?? Number.POSITIVE_INFINITY
  }

  /**
   * Call it before compiling a document of that many characters; `compile` is that compilation. Throws
   * LaneRequiredError if the allowance does not suffice.
   */
  charge(characters: number, document: object, compile: () => void): void {
    if (characters > this.left) {
      this.options.onDeferred?.(characters, document, compile)
      throw new LaneRequiredError('compilation')
    }
    this.left -= characters
  }
}
