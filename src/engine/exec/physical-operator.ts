// The shape of every physical operator: opened, then asked for one row after the other. A row is the shared frame of the
// run: `next` has filled in the operator's own slots when it answers true, and nothing is allocated for it.
import type { ExecutionContext } from './execution-context.ts'

export interface PhysicalOperator {
  /** Forgets everything of an earlier run, also of one that ended in a fault. */
  open(run: ExecutionContext): void
  /** False at the end; then it is not asked again before the next open. */
  next(run: ExecutionContext): boolean
}
