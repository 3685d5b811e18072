// Inner plans run with the outer row as their argument: subquery, semi-join, anti-semi-join, optional match; and union.
import type { ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** Keeps the rows for which the inner plan has a row (negated: has none). */
export class SemiApplyOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly inner: PhysicalOperator
  private readonly negated: boolean

  constructor(input: PhysicalOperator, inner: PhysicalOperator, negated: boolean) {
    this.input = input
    this.inner = inner
    this.negated = negated
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      this.inner.open(run)
      if (this.inner.next(run) !== this.negated) return true
    }
    return false
  }
}

/** A slot and what null looks like in it. */
export interface NullSlot {
  readonly slot: number
  readonly nothing: 0 | null
}

/** The inner rows of each input row, or one row with nulls where there are none. */
export class OptionalOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly inner: PhysicalOperator
  private readonly nulls: readonly NullSlot[]
  private running = false
  private matched = false

  constructor(input: PhysicalOperator, inner: PhysicalOperator, nulls: readonly NullSlot[]) {
    this.input = input
    this.inner = inner
    this.nulls = nulls
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.running = false
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.running) {
        if (this.inner.next(run)) {
          this.matched = true
          return true
        }
        this.running = false
        if (!this.matched) {
          for (const { slot, nothing } of this.nulls) run.frame[slot] = nothing
          return true
        }
      }
      if (!this.input.next(run)) return false
      this.inner.open(run)
      this.running = true
      this.matched = false
    }
  }
}

/** The inner rows of each input row. */
export class ApplyOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly inner: PhysicalOperator
  private running = false

  constructor(input: PhysicalOperator, inner: PhysicalOperator) {
    this.input = input
    this.inner = inner
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.running = false
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.running) {
        if (this.inner.next(run)) return true
        this.running = false
      }
      if (!this.input.next(run)) return false
      this.inner.open(run)
      this.running = true
    }
  }
}

/** One branch after the other. */
export class UnionOperator implements PhysicalOperator {
  private readonly branches: readonly PhysicalOperator[]
  private at = 0

  constructor(branches: readonly PhysicalOperator[]) {
    this.branches = branches
  }

  open(run: ExecutionContext): void {
    this.at = 0
    this.branches[0]!.open(run)
  }

  next(run: ExecutionContext): boolean {
    while (!this.branches[this.at]!.next(run)) {
      if (this.at + 1 === this.branches.length) return false
      this.at += 1
      this.branches[this.at]!.open(run)
    }
    return true
  }
}
