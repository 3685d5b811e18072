// Rows of a query, taken out of the graph: what each variable stands for, and what the query has written under its names.

import type { ConditionRows, RowCursor } from '../engine/condition-rows.ts'
import type { Budget, BudgetLimits } from '../engine/conditions.ts'
import type { Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import { estimateBytes } from '../engine/value/value-size.ts'
import type { BoundParameters } from './parameters.ts'

/** What a record is read from. */
export interface RecordRow {
  value(name: string): Value
}

/** A row that outlives its cursor. Elements in it are of the graph's state that it was read at. */
export class MaterializedRow implements RecordRow {
  private readonly values = new Map<string, Value>()

  constructor(cursor: RowCursor, names: Iterable<string>) {
    for (const name of names) this.values.set(name, cursor.value(name))
  }

  /** What it takes in memory, by an estimate. */
  get bytes(): number {
    let bytes = 0
    for (const value of this.values.values()) bytes += estimateBytes(value)
    return bytes
  }

  value(name: string): Value {
    return this.values.get(name) ?? null
  }

  set(name: string, value: Value): void {
    this.values.set(name, value)
  }

  /** `change` gives back what is to stay as it is. */
  change(change: (value: Value) => Value): void {
    for (const [name, value] of this.values) this.values.set(name, change(value))
  }
}

export interface RowsRequest {
  readonly reading: ConditionRows
  /** Of its variables, those to hold. */
  readonly names: ReadonlySet<string>
  readonly parameters: BoundParameters
  readonly limits: BudgetLimits
  readonly budget: Budget
  readonly rowsMax: number
}

/** All of them; null where there are more than `rowsMax`. Throws RunFault. */
export function materializeRows(asked: RowsRequest, snapshot: Snapshot): MaterializedRow[] | null {
  const { reading, names, parameters, limits, budget, rowsMax } = asked
  budget.start(limits)
  const cursor = reading.open({ snapshot, parameters, limits, budget })
  const rows: MaterializedRow[] = []
  try {
    while (cursor.next()) {
      if (rows.length === rowsMax) return null
      const row = new MaterializedRow(cursor, names)
      budget.retainBytes(row.bytes)
      rows.push(row)
    }
  } finally {
    budget.end()
  }
  return rows
}
