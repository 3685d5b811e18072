// Cast: converts values that a pattern uses as elements to the ids that the operators of the pattern read.
import type { Slot } from '../bind/bound.ts'
import { ExecutionError } from '../errors.ts'
import { kindName } from '../value/kind-name.ts'
import { NodeValue, RelationshipValue, type Value } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The slot of a value and the slot of its id. */
interface CastSlots {
  readonly from: Slot
  readonly to: Slot
}

/**
 * Fills a slot with the id of an element, or with a list of ids. Throws ExecutionError if the value is of another kind or
 * graph.
 */
export class CastOperator extends UnaryOperator {
  private readonly casts: readonly CastSlots[]

  constructor(input: PhysicalOperator, casts: readonly CastSlots[]) {
    super(input)
    this.casts = casts
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    for (const cast of this.casts) run.frame[cast.to.index] = castValue(run.frame[cast.from.index] as Value, cast)
    return true
  }
}

function castValue(value: Value, { from, to }: CastSlots): number | number[] | null {
  if (to.kind === 'relationships') {
    if (value === null) return null
    if (!Array.isArray(value)) throw wrongKindError(value, from, 'a list of relationships')
    return value.map((item) => elementId(item as Value, { from, to }))
  }
  return value === null ? 0 : elementId(value, { from, to })
}

function elementId(value: Value, { from, to }: CastSlots): number {
  const isNode = to.kind === 'node'
  if (!(value instanceof (isNode ? NodeValue : RelationshipValue))) {
    throw wrongKindError(value, from, isNode ? 'a node' : 'a relationship')
  }
  if (value.graph !== to.graph) {
    throw new ExecutionError(
      'type',
      `\`${from.name}\` belongs to another graph than the pattern`,
      null,
      'InvalidArgumentType',
    )
  }
  return value.id
}

function wrongKindError(value: Value, from: Slot, expected: string): ExecutionError {
  return new ExecutionError(
    'type',
    `\`${from.name}\` is ${kindName(value)}, not ${expected}`,
    null,
    'InvalidArgumentType',
  )
}
