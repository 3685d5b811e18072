// Inner plans run with the outer row as their argument: subquery, semi-join, anti-semi-join, optional match; and union.
import type { Run } from './context.ts'
import type { Operator } from './operator.ts'

/** Keeps the rows for which the inner plan has a row (negated: has none). */
export class SemiApplyOperator implements Operator {
  private readonly input: Operator
  private readonly inner: Operator
  private readonly negated: boolean

  constructor(input: Operator, inner: Operator, negated: boolean) {
    this.input = input
    this.inner = inner
    this.negated = negated
  }

  open(run: Run): void {
    this.input.open(run)
  }

  next(run: Run): boolean {
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
export class OptionalOperator implements Operator {
  private readonly input: Operator
  private readonly inner: Operator
  private readonly nulls: readonly NullSlot[]
  private running = false
  private matched = false

  constructor(input: Operator, inner: Operator, nulls: readonly NullSlot[]) {
    this.input = input
    this.inner = inner
    this.nulls = nulls
  }

  open(run: Run): void {
    this.input.open(run)
    this.running = false
  }

  next(run: Run): boolean {
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
export class ApplyOperator implements Operator {
  private readonly input: Operator
  private readonly inner: Operator
  private running = false

  constructor(input: Operator, inner: Operator) {
    this.input = input
    this.inner = inner
  }

  open(run: Run): void {
    this.input.open(run)
    this.running = false
  }

  next(run: Run): boolean {
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
export class UnionOperator implements Operator {
  private readonly branches: readonly Operator[]
  private at = 0

  constructor(branches: readonly Operator[]) {
    this.branches = branches
  }

  open(run: Run): void {
    this.at = 0
    this.branches[0]!.open(run)
  }

  next(run: Run): boolean {
    while (!this.branches[this.at]!.next(run)) {
      if (this.at + 1 === this.branches.length) return false
      this.at += 1
      this.branches[this.at]!.open(run)
    }
    return true
  }
}
