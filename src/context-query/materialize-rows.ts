// Rows of a query copied out of the cursor: the value of each variable, and what the query wrote under its own names.

import type { ConditionRows, RowCursor } from '../engine/condition-rows.ts'
import type { Budget, BudgetLimits } from '../engine/conditions.ts'
import type { Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import { estimateBytes } from '../engine/value/value-size.ts'
import type { BoundParameters } from '../policy/value-reference.ts'

/** The source of a record. */
export interface RecordRow {
  /** Returns the value of a variable; null if it has none. */
  value(name: string): Value
}

/** A row that outlives its cursor. Its elements are those of the graph version that was read. */
export class MaterializedRow implements RecordRow {
  private readonly values = new Map<string, Value>()

  constructor(cursor: RowCursor, names: Iterable<string>) {
    for (const name of names) this.values.set(name, cursor.value(name))
  }

  /** Estimates the bytes of memory of the row. */
  estimateBytes(budget: Budget): number {
    let bytes = 0
    for (const value of this.values.values()) bytes += estimateBytes(budget, value)
    return bytes
  }

  value(name: string): Value {
    return this.values.get(name) ?? null
  }

  /** Sets the value of a name. */
  set(name: string, value: Value): void {
    this.values.set(name, value)
  }

  /** Replaces each value by `change(value)`. */
  change(change: (value: Value) => Value): void {
    for (const [name, value] of this.values) this.values.set(name, change(value))
  }
}

/** Which rows to read, and within which limits. */
export interface RowsRequest {
  readonly conditionRows: ConditionRows
  /** Variables to keep. */
  readonly names: ReadonlySet<string>
  readonly parameters: BoundParameters
  readonly limits: BudgetLimits
  readonly budget: Budget
  readonly rowsMax: number
}

/** Returns all rows, or null if there are more than `rowsMax`. Throws ExecutionError. */
export function materializeRows(requested: RowsRequest, snapshot: Snapshot): MaterializedRow[] | null {
  const { conditionRows, names, parameters, limits, budget, rowsMax } = requested
  budget.start(limits)
  const cursor = conditionRows.open({ snapshot, parameters, limits, budget, rowsMax: rowsMax + 1 })
  const rows: MaterializedRow[] = []
  while (cursor.next()) {
    if (rows.length === rowsMax) return null
    const row = new MaterializedRow(cursor, names)
    budget.retainBytes(row.estimateBytes(budget))
    rows.push(row)
  }
  return rows
}
