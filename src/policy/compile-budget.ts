// Limits the compilation of documents on the event loop: it takes one to two microseconds per character.
import type { ConfigReader } from '../config/kind.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import type { Steps } from '../kernel/steps.ts'
import {
  compiledModel,
  compilingStoredModel,
  isModelCompiled,
  modelFieldsOf,
  noModel,
  type StoredModel,
} from '../model/stored-model.ts'

/** Maximum characters of documents that one request compiles on the event loop: 2 to 4 ms, once per revision. */
export const MAX_INLINE_CHARS = 2048

/** A character of a model takes the time of so many characters of a policy, because definitions are rewritten, bound and checked. */
const MODEL_WEIGHT = 4

/** Compiles a document on the event loop: at once, or in the steps that it returns. */
export type DeferredCompilation = () => Steps<unknown> | null

/** Compilation limits of a policy or query index. */
export interface IndexOptions {
  /**
   * Maximum characters of documents that one call compiles. A call that needs more throws LaneRequiredError; documents
   * already compiled stay compiled. Absent: no limit.
   */
  readonly maxInlineChars?: number
  /** Called with a document that a call needed and did not compile; `compile` compiles it on the event loop. */
  readonly onDeferred?: (characters: number, document: object, compile: DeferredCompilation) => void
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
  charge(characters: number, document: object, compile: DeferredCompilation): void {
    this.chargeWeighted(characters, 1, document, compile)
  }

  /** As `modelOf`, for documents that are compiled with the model. Throws LaneRequiredError if the allowance does not suffice for it. */
  modelOf(reader: ConfigReader, projectId: string): StoredModel {
    const fields = modelFieldsOf(reader, projectId)
    if (fields === null) return noModel
    if (!isModelCompiled(fields)) {
      const { length } = fields.model as string
      this.chargeWeighted(length, MODEL_WEIGHT, fields, () => compilingStoredModel(fields))
    }
    return compiledModel(fields)
  }

  private chargeWeighted(characters: number, weight: number, document: object, compile: DeferredCompilation): void {
    if (characters * weight > this.left) {
      this.options.onDeferred?.(characters, document, compile)
      throw new LaneRequiredError('compilation')
    }
    this.left -= characters * weight
  }
}
