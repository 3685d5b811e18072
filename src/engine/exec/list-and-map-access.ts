// Access into values: index, slice and parameter paths, with the faults that a value of the wrong kind gives.
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { isList, isMap } from '../value/compare.ts'
import { getProperty } from '../value/element-properties.ts'
import { kindName } from '../value/kind-name.ts'
import { copySlice } from '../value/list-operations.ts'
import { isTemporal } from '../value/temporal/temporal.ts'
import { NodeValue, RelationshipValue, type Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'

export function compileParameter(name: string, path: readonly string[]): CompiledExpression {
  const given = (run: ExecutionContext): Value => {
    const value = run.parameters.get(name)
    if (value === undefined) throw new ExecutionError('missing-parameter', `parameter \`$${name}\` is not given`, name)
    return value
  }
  if (path.length === 0) return given
  return (run) => path.reduce<Value>((value, key) => getProperty(run, value, key), given(run))
}

/** `target[index]`: an item of a list (negative: from the end), a value of a map, a property of an element. */
export function readIndex(run: ExecutionContext, target: Value, index: Value): Value {
  if (target === null) return null
  if (isList(target)) {
    if (index === null) return null
    if (typeof index === 'bigint') return null
    if (typeof index !== 'number') {
      const message = `an item of a list is chosen by an integer, not by ${kindName(index)}`
      throw new ExecutionError('type', message, null, 'ListElementAccessByNonInteger')
    }
    return target.at(index) ?? null
  }
  if (isMap(target) || target instanceof NodeValue || target instanceof RelationshipValue || isTemporal(target)) {
    if (index === null) return null
    if (typeof index !== 'string') {
      const message = `a value of a map is chosen by a string, not by ${kindName(index)}`
      throw new ExecutionError('type', message, null, 'MapElementAccessByNonString')
    }
    return getProperty(run, target, index)
  }
  throw new ExecutionError('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
}

/** `target[from..to]`, `to` not included; `undefined` is a bound that the text leaves out. */
export function readSlice(budget: Budget, target: Value, from: Value | undefined, to: Value | undefined): Value {
  if (target === null || from === null || to === null) return null
  if (!isList(target)) throw new ExecutionError('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
  const [start, end] = [
    sliceOffset(sliceBound(from), target.length, 0),
    sliceOffset(sliceBound(to), target.length, target.length),
  ]
  return start < end ? copySlice(budget, target, start, end) : []
}

/** As `Array.prototype.slice` reads it: from the end where it is negative. */
function sliceOffset(place: number | undefined, length: number, absent: number): number {
  if (place === undefined) return absent
  return place < 0 ? Math.max(0, length + place) : Math.min(place, length)
}

function sliceBound(value: Value | undefined): number | undefined {
  if (value === undefined || typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  throw new ExecutionError('type', `a slice takes integers, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** The items of a list that is iterated over; null for null. */
export function listItems(value: Value, what: string): readonly Value[] | null {
  if (value === null) return null
  if (!isList(value))
    throw new ExecutionError('type', `${what} takes a list, not ${kindName(value)}`, null, 'InvalidArgumentType')
  return value
}
