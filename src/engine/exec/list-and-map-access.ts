// Access to parameters, list items, slices and map values.
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { isList, isMap } from '../value/compare.ts'
import { getProperty } from '../value/element-properties.ts'
import { kindName } from '../value/kind-name.ts'
import { copySlice } from '../value/list-operations.ts'
import { isTemporal } from '../value/temporal/temporal.ts'
import { NodeValue, RelationshipValue, type Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'

/** Compiles `$name.path`. The result throws ExecutionError `missing-parameter` if the parameter is missing. */
export function compileParameter(name: string, path: readonly string[]): CompiledExpression {
  const read = (run: ExecutionContext): Value => {
    const value = run.parameters.get(name)
    if (value === undefined) throw new ExecutionError('missing-parameter', `parameter \`$${name}\` is not given`, name)
    return value
  }
  if (path.length === 0) return read
  return (run) => path.reduce<Value>((value, key) => getProperty(run, value, key), read(run))
}

/**
 * `target[index]`: an item of a list (negative: from the end), a value of a map, or a property of an element. Throws
 * ExecutionError for other kinds.
 */
export function readIndex(run: ExecutionContext, target: Value, index: Value): Value {
  if (target === null) return null
  if (isList(target)) {
    if (index === null) return null
    if (typeof index === 'bigint') return null
    if (typeof index !== 'number') {
      const message = `a list index must be an integer, not ${kindName(index)}`
      throw new ExecutionError('type', message, null, 'ListElementAccessByNonInteger')
    }
    return target.at(index) ?? null
  }
  if (isMap(target) || target instanceof NodeValue || target instanceof RelationshipValue || isTemporal(target)) {
    if (index === null) return null
    if (typeof index !== 'string') {
      const message = `a map key must be a string, not ${kindName(index)}`
      throw new ExecutionError('type', message, null, 'MapElementAccessByNonString')
    }
    return getProperty(run, target, index)
  }
  throw new ExecutionError('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
}

/**
 * `target[from..to]`, without the item at `to`; an omitted bound is undefined. Charges the copy. Throws ExecutionError for
 * other kinds.
 */
export function readSlice(budget: Budget, target: Value, from: Value | undefined, to: Value | undefined): Value {
  if (target === null || from === null || to === null) return null
  if (!isList(target)) throw new ExecutionError('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
  const [start, end] = [
    sliceOffset(sliceBound(from), target.length, 0),
    sliceOffset(sliceBound(to), target.length, target.length),
  ]
  return start < end ? copySlice(budget, target, start, end) : []
}

/** A negative offset counts from the end, as in `Array.prototype.slice`. */
function sliceOffset(offset: number | undefined, length: number, absent: number): number {
  if (offset === undefined) return absent
  return offset < 0 ? Math.max(0, length + offset) : Math.min(offset, length)
}

function sliceBound(value: Value | undefined): number | undefined {
  if (value === undefined || typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  throw new ExecutionError('type', `a slice takes integers, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/**
 * Returns the items of a list to iterate over; null for null. `caller` is named in the error. Throws ExecutionError for
 * other kinds.
 */
export function listItems(value: Value, caller: string): readonly Value[] | null {
  if (value === null) return null
  if (!isList(value))
    throw new ExecutionError('type', `${caller} takes a list, not ${kindName(value)}`, null, 'InvalidArgumentType')
  return value
}
