// Reads the rows of a running plan one by one: by variable, or as whole rows that stay valid after the snapshot is closed.
import { assert, assertNever } from '../kernel/assert.ts'
import type { BoundColumn, Slot } from './bind/bound.ts'
import { cellBytes } from './exec/row-key.ts'
import type { Execution } from './planned-query.ts'
import { type ResultValue, readSlot } from './result-value.ts'
import type { NodeId, RelationshipId, Snapshot } from './store.ts'
import { NodeValue, RelationshipValue, type Value } from './value/value.ts'

/**
 * A cursor over the rows of one run. It has one current row, and `next` moves to the next one; the other methods read the
 * current row through the snapshot with which the run was opened. Every method throws ExecutionError (type, missing parameter,
 * budget).
 */
export class RowCursor {
  private readonly execution: Execution
  private readonly columns: readonly BoundColumn[]
  /** By variable; null until one is read by its name. */
  private slots: ReadonlyMap<string, Slot> | null = null

  /** `columns`: the variables of the query; their names are the variables to read. */
  constructor(execution: Execution, columns: readonly BoundColumn[]) {
    this.execution = execution
    this.columns = columns
  }

  /** Moves to the next row. Returns false after the last row. */
  next(): boolean {
    const { root, run } = this.execution
    if (!root.next(run)) return false
    run.budget.chargeSteps(1)
    return true
  }

  /** The id of the node that the variable holds in this row; 0 if it holds no node. */
  node(variable: string): NodeId {
    const slot = this.slot(variable)
    const content = this.execution.run.frame[slot.index]
    if (slot.kind === 'node') return content as NodeId
    return content instanceof NodeValue ? content.id : 0
  }

  /** The id of the relationship that the variable holds in this row; 0 if it holds no relationship. */
  relationship(variable: string): RelationshipId {
    const slot = this.slot(variable)
    const content = this.execution.run.frame[slot.index]
    if (slot.kind === 'relationship') return content as RelationshipId
    return content instanceof RelationshipValue ? content.id : 0
  }

  /** The value of the variable in this row. Elements in it belong to the snapshot of the run. */
  value(variable: string): Value {
    return this.valueIn(this.slot(variable))
  }

  private valueIn({ index, kind, graph }: Slot): Value {
    const content = this.execution.run.frame[index]
    switch (kind) {
      case 'node':
        return content === 0 ? null : new NodeValue(graph, content as NodeId)
      case 'relationship':
        return content === 0 ? null : new RelationshipValue(graph, content as RelationshipId)
      case 'relationships':
        return content === null ? null : (content as RelationshipId[]).map((id) => new RelationshipValue(graph, id))
      case 'path':
      case 'value':
        return content as Value
      default:
        return assertNever(kind)
    }
  }

  /** The values of this row, in the order of the columns. Elements in them belong to the graphs of the run. */
  values(): Value[] {
    return this.columns.map(({ slot }) => this.valueIn(slot))
  }

  /** The snapshot of a graph of the run. `graph`: that of an element. */
  snapshotOf({ graph }: { readonly graph: number }): Snapshot {
    const snapshot = this.execution.run.graphs[graph]
    assert(snapshot !== undefined, 'an element belongs to a graph of its run')
    return snapshot
  }

  /** All variables of this row, in the order of the columns. The elements in them are read. */
  materialize(): ResultValue[] {
    const { run } = this.execution
    const { columns } = this
    const row: ResultValue[] = []
    for (let i = 0; i < columns.length; i++) {
      const { slot } = columns[i]!
      row.push(readSlot(slot, run))
      run.budget.retainBytes(cellBytes(run.budget, run.frame[slot.index]))
    }
    return row
  }

  private slot(variable: string): Slot {
    this.slots ??= new Map(this.columns.map((column) => [column.name, column.slot]))
    const slot = this.slots.get(variable)
    assert(slot !== undefined, `the query has no variable ${variable}`)
    return slot
  }
}
