// Computed values that a pattern takes for elements become ids in slots of their own.
import type { Slot } from '../bind/bound.ts'
import { RunFault } from '../errors.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, RelationshipValue, type Value } from '../value/value.ts'
import type { Run } from './context.ts'
import type { Operator } from './operator.ts'

export interface CastSlots {
  readonly from: Slot
  readonly to: Slot
}

export class CastOperator implements Operator {
  private readonly input: Operator
  private readonly casts: readonly CastSlots[]

  constructor(input: Operator, casts: readonly CastSlots[]) {
    this.input = input
    this.casts = casts
  }

  open(run: Run): void {
    this.input.open(run)
  }

  next(run: Run): boolean {
    if (!this.input.next(run)) return false
    for (const cast of this.casts) run.frame[cast.to.index] = element(run.frame[cast.from.index] as Value, cast)
    return true
  }
}

function element(value: Value, { from, to }: CastSlots): number | number[] | null {
  if (to.kind === 'relationships') {
    if (value === null) return null
    if (!Array.isArray(value)) throw wrongKind(value, from, 'a list of relationships')
    return value.map((item) => idOf(item as Value, { from, to }))
  }
  return value === null ? 0 : idOf(value, { from, to })
}

function idOf(value: Value, { from, to }: CastSlots): number {
  const isNode = to.kind === 'node'
  if (!(value instanceof (isNode ? NodeValue : RelationshipValue))) {
    throw wrongKind(value, from, isNode ? 'a node' : 'a relationship')
  }
  if (value.graph !== to.graph) {
    throw new RunFault(
      'type',
      `\`${from.name}\` belongs to another graph than the pattern`,
      null,
      'InvalidArgumentType',
    )
  }
  return value.id
}

function wrongKind(value: Value, from: Slot, wanted: string): RunFault {
  return new RunFault('type', `\`${from.name}\` is ${kindName(value)}, not ${wanted}`, null, 'InvalidArgumentType')
}
