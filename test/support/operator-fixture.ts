// Runs one physical operator over fixed input rows and a snapshot of a small stored graph.
import { expect } from 'vitest'
import { Budget, type BudgetLimits } from '../../src/engine/budget.ts'
import type { ExecutionContext } from '../../src/engine/exec/execution-context.ts'
import type { HopLimits, HopPredicate, TraversalSpec } from '../../src/engine/exec/neighbour-cursor.ts'
import type { PhysicalOperator } from '../../src/engine/exec/physical-operator.ts'
import { createChunk, type NodeId, type RelationshipId, type Snapshot, type SymbolId } from '../../src/engine/store.ts'
import { StatementClock } from '../../src/engine/value/expression-context.ts'
import type { Value } from '../../src/engine/value/value.ts'
import { readGraph } from './graph-notation.ts'
import { type StoredGraph, storeGraph } from './store-engine.ts'

/** Slots of a test frame; more than any test uses. */
const FRAME_SIZE = 12

/** An input operator with fixed rows: `rows[i][k]` is written to slot `slots[k]`. */
export class FixedRows implements PhysicalOperator {
  /** Calls of `next` since the last `open`. */
  nextCalls = 0
  private readonly slots: readonly number[]
  private readonly rows: readonly (readonly unknown[])[]

  constructor(slots: readonly number[], rows: readonly (readonly unknown[])[]) {
    this.slots = slots
    this.rows = rows
  }

  open(): void {
    this.nextCalls = 0
  }

  next(run: ExecutionContext): boolean {
    const row = this.rows[this.nextCalls++]
    if (row === undefined) return false
    this.slots.forEach((slot, i) => {
      run.frame[slot] = row[i]
    })
    return true
  }
}

/** One input row that fills nothing. */
export function oneRow(): FixedRows {
  return new FixedRows([], [[]])
}

/** One input row per value of one slot. */
export function column(slot: number, values: readonly unknown[]): FixedRows {
  return new FixedRows(
    [slot],
    values.map((value) => [value]),
  )
}

export interface RunOptions {
  readonly limits?: Partial<BudgetLimits>
  readonly parameters?: ReadonlyMap<string, Value>
  readonly resumeAfter?: NodeId
}

/** The rows of an operator, and the context of their execution. */
export interface OperatorResult {
  readonly rows: readonly (readonly unknown[])[]
  readonly run: ExecutionContext
}

/** A stored graph. Nodes and relationships are found by their names in the notation. */
export class OperatorFixture {
  private readonly stored: StoredGraph

  constructor(stored: StoredGraph) {
    this.stored = stored
  }

  close(): Promise<void> {
    return this.stored.close()
  }

  /**
   * Drains the operator, then again after an execution that stopped after one row: `open` must discard earlier state, so
   * the rows must be the same.
   */
  drain(operator: PhysicalOperator, slots: readonly number[], options: RunOptions = {}): OperatorResult {
    const first = this.read(operator, slots, options)
    this.read(operator, slots, options, 1)
    const { rows } = this.read(operator, slots, options)
    expect(rows).toEqual(first.rows)
    return first
  }

  /** Opens the operator and reads at most `count` rows; afterwards a new `open` must start over. */
  read(
    operator: PhysicalOperator,
    slots: readonly number[],
    options: RunOptions = {},
    count = Number.POSITIVE_INFINITY,
  ): OperatorResult {
    return this.within((snapshot) => {
      const run = contextOver(snapshot, options)
      const rows: unknown[][] = []
      operator.open(run)
      while (rows.length < count && operator.next(run)) rows.push(slots.map((slot) => run.frame[slot]))
      return { rows, run }
    })
  }

  /** The id of a node by type and name. */
  node(type: string, name: string): NodeId {
    return this.within((snapshot) => {
      const node = snapshot.findNode(snapshot.symbol('label', type), name)
      if (node === 0) throw new Error(`the graph has no node ${name}:${type}`)
      return node
    })
  }

  /** The id of the only relationship of that type between two nodes. */
  relationship(source: NodeId, type: string, target: NodeId): RelationshipId {
    return this.within((snapshot) => {
      const chunk = createChunk()
      snapshot.relationshipsBetween(source, snapshot.symbol('type', type), target, chunk)
      if (chunk.length !== 1) throw new Error(`expected one relationship ${type}, found ${chunk.length}`)
      return chunk.relationships[0]!
    })
  }

  label(name: string): SymbolId {
    return this.within((snapshot) => snapshot.symbol('label', name))
  }

  property(name: string): SymbolId {
    return this.within((snapshot) => snapshot.symbol('property', name))
  }

  /** Without types: any type. */
  traversal(direction: TraversalSpec['direction'], ...types: readonly string[]): TraversalSpec {
    const symbols = this.within((snapshot) => types.map((type) => snapshot.symbol('type', type)))
    return { graph: 0, direction, types: types.length === 0 ? null : symbols.filter((type) => type !== 0) }
  }

  private within<T>(read: (snapshot: Snapshot) => T): T {
    const snapshot = this.stored.environment.snapshot()
    try {
      return read(snapshot)
    } finally {
      snapshot.close()
    }
  }
}

/** Stores a graph in arrow notation; small chunks make long lists of short ones. */
export async function operatorFixture(notation: string, entriesPerChunk?: number): Promise<OperatorFixture> {
  const chunks = entriesPerChunk === undefined ? undefined : { entriesPerChunk }
  return new OperatorFixture(await storeGraph(readGraph(notation), chunks))
}

/** The limits of a step that repeats one hop. */
export function hops(min: number, max: number | null, hopPredicate: HopPredicate | null = null): HopLimits {
  return { min, max, hopPredicate, further: [] }
}

/** The name of the limit that an execution reaches; null if it ends without reaching one. */
export function limitReached(act: () => unknown): string | null {
  try {
    act()
    return null
  } catch (error) {
    return (error as { subject?: string }).subject ?? String(error)
  }
}

function contextOver(snapshot: Snapshot, { limits, parameters, resumeAfter = 0 }: RunOptions): ExecutionContext {
  const budget = new Budget()
  budget.start({ stepsMax: 1_000_000, timeMs: 60_000, ...limits })
  return {
    frame: new Array(FRAME_SIZE).fill(null),
    parameters: parameters ?? new Map(),
    graphs: [snapshot],
    budget,
    clock: new StatementClock(),
    resumeAfter,
    isIncremental: false,
    unknownProperty: null,
    derived: null,
  }
}
