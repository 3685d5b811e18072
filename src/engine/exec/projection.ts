// Columns: computed values, list items, paths, distinct rows.
import { ExecutionError } from '../errors.ts'
import type { GroupingKey } from '../value/compare.ts'
import { NodeValue, PathValue, RelationshipValue } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { NodeSet } from './node-set.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import { keyBytes, type RowKey } from './row-key.ts'

export class ProjectionOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly items: readonly { readonly slot: number; readonly evaluate: (run: ExecutionContext) => unknown }[]

  constructor(
    input: PhysicalOperator,
    items: readonly { readonly slot: number; readonly evaluate: (run: ExecutionContext) => unknown }[],
  ) {
    this.input = input
    this.items = items
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    for (const { slot, evaluate } of this.items) run.frame[slot] = evaluate(run)
    return true
  }
}

/** One row per item; none for null. */
export class UnwindOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly list: CompiledExpression
  private readonly slot: number
  private items: readonly unknown[] = []
  private position = 0

  constructor(input: PhysicalOperator, list: CompiledExpression, slot: number) {
    this.input = input
    this.list = list
    this.slot = slot
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.items = []
    this.position = 0
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.position < this.items.length) {
        run.budget.chargeSteps(1)
        run.frame[this.slot] = this.items[this.position++]
        return true
      }
      if (!this.input.next(run)) return false
      const list = this.list(run)
      if (list !== null && !Array.isArray(list)) {
        throw new ExecutionError('type', 'UNWIND takes a list', null, 'InvalidArgumentType')
      }
      this.items = list ?? []
      this.position = 0
    }
  }
}

/** The first row of each combination. */
export class DistinctOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly key: RowKey
  private readonly seen = new Set<GroupingKey>()

  constructor(input: PhysicalOperator, key: RowKey) {
    this.input = input
    this.key = key
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.seen.clear()
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const key = this.key(run)
      run.budget.chargeSteps(1)
      if (this.seen.has(key)) continue
      this.seen.add(key)
      run.budget.retainBytes(keyBytes(key))
      run.budget.retainRow()
      return true
    }
    return false
  }
}

/** The first row of each id in a slot. */
export class DistinctElementsOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slot: number
  private readonly seen = new NodeSet()
  private nullSeen = false

  constructor(input: PhysicalOperator, slot: number) {
    this.input = input
    this.slot = slot
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.seen.clear()
    this.nullSeen = false
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const id = run.frame[this.slot] as number
      if (id === 0 ? this.nullSeen : !this.seen.add(id, run.budget)) continue
      if (id === 0) this.nullSeen = true
      run.budget.retainRow()
      run.budget.chargeSteps(1)
      return true
    }
    return false
  }
}

/** Frame indexes of a named path: `nodes.length === steps.length + 1`. */
export interface PathSlots {
  readonly path: number
  readonly nodes: readonly number[]
  readonly steps: readonly { readonly slot: number; readonly variable: boolean }[]
}

export class MakePathOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: PathSlots
  private readonly graph: number

  constructor(input: PhysicalOperator, slots: PathSlots, graph: number) {
    this.input = input
    this.slots = slots
    this.graph = graph
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    run.frame[this.slots.path] = this.path(run)
    return true
  }

  private path(run: ExecutionContext): PathValue | null {
    const { frame } = run
    const { graph } = this
    const snapshot = run.graphs[graph]!
    let at = frame[this.slots.nodes[0]!] as number
    if (at === 0) return null
    const nodes = [new NodeValue(graph, at)]
    const relationships: RelationshipValue[] = []
    for (const { slot, variable } of this.slots.steps) {
      const ids = variable ? (frame[slot] as number[] | null) : [frame[slot] as number]
      if (ids === null) return null
      run.budget.chargeSteps(ids.length)
      for (const id of ids) {
        if (id === 0) return null
        const source = snapshot.relationshipSource(id)
        at = source === at ? snapshot.relationshipTarget(id) : source
        relationships.push(new RelationshipValue(graph, id))
        nodes.push(new NodeValue(graph, at))
      }
    }
    return new PathValue(nodes, relationships)
  }
}
