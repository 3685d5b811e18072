// Reads a list of node ids from a snapshot chunk by chunk, for each input row. Node scans and index seeks share it.
import { createChunk } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** Reads the chunk that starts at the id `from` into the buffer of the scan. */
export type FetchChunk = (run: ExecutionContext, from: number) => void

/** Fills a slot with every node id of a list, for each input row. Charges a step per id. */
export class ChunkedNodeScan {
  readonly chunk = createChunk()
  private position = 0
  private readonly input: PhysicalOperator
  private readonly slot: number
  private readonly isResumed: boolean

  /** `isResumed`: the list starts after the node after which the execution resumes. */
  constructor(input: PhysicalOperator, slot: number, isResumed = false) {
    this.input = input
    this.slot = slot
    this.isResumed = isResumed
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    if (this.isResumed) run.isIncremental = true
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
  }

  next(run: ExecutionContext, fetch: FetchChunk): boolean {
    const chunk = this.chunk
    for (;;) {
      if (this.position < chunk.length) {
        run.frame[this.slot] = chunk.ids[this.position++]
        return true
      }
      if (chunk.more) fetch(run, chunk.next)
      else if (this.input.next(run)) fetch(run, this.isResumed && run.resumeAfter > 0 ? run.resumeAfter + 1 : 0)
      else return false
      this.position = 0
      run.budget.chargeSteps(chunk.length + 1)
    }
  }
}
