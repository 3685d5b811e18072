// Access into values: index, slice and parameter paths, with the faults that a value of the wrong kind gives.
import { RunFault } from '../errors.ts'
import { isList, isMap } from '../value/compare.ts'
import { copyOf } from '../value/effort.ts'
import { propertyOf } from '../value/element.ts'
import { kindName } from '../value/kind-name.ts'
import { isTemporal } from '../value/temporal/temporal.ts'
import { NodeValue, RelationshipValue, type Value } from '../value/value.ts'
import type { Evaluate, Run } from './context.ts'

export function readParameter(name: string, path: readonly string[]): Evaluate {
  const given = (run: Run): Value => {
    const value = run.parameters.get(name)
    if (value === undefined) throw new RunFault('missing-parameter', `parameter \`$${name}\` is not given`, name)
    return value
  }
  if (path.length === 0) return given
  return (run) => path.reduce<Value>((value, key) => propertyOf(run, value, key), given(run))
}

/** `target[index]`: an item of a list (negative: from the end), a value of a map, a property of an element. */
export function indexed(run: Run, target: Value, index: Value): Value {
  if (target === null) return null
  if (isList(target)) {
    if (index === null) return null
    if (typeof index === 'bigint') return null
    if (typeof index !== 'number') {
      const message = `an item of a list is chosen by an integer, not by ${kindName(index)}`
      throw new RunFault('type', message, null, 'ListElementAccessByNonInteger')
    }
    return target.at(index) ?? null
  }
  if (isMap(target) || target instanceof NodeValue || target instanceof RelationshipValue || isTemporal(target)) {
    if (index === null) return null
    if (typeof index !== 'string') {
      const message = `a value of a map is chosen by a string, not by ${kindName(index)}`
      throw new RunFault('type', message, null, 'MapElementAccessByNonString')
    }
    return propertyOf(run, target, index)
  }
  throw new RunFault('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
}

/** `target[from..to]`, `to` not included; `undefined` is a bound that the text leaves out. */
export function sliced(target: Value, from: Value | undefined, to: Value | undefined): Value {
  if (target === null || from === null || to === null) return null
  if (!isList(target)) throw new RunFault('type', `${kindName(target)} has no items`, null, 'InvalidArgumentType')
  const [start, end] = [placeOf(bound(from), target.length, 0), placeOf(bound(to), target.length, target.length)]
  return start < end ? copyOf(target, start, end) : []
}

/** As `Array.prototype.slice` reads it: from the end where it is negative. */
function placeOf(place: number | undefined, length: number, absent: number): number {
  if (place === undefined) return absent
  return place < 0 ? Math.max(0, length + place) : Math.min(place, length)
}

function bound(value: Value | undefined): number | undefined {
  if (value === undefined || typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  throw new RunFault('type', `a slice takes integers, not ${kindName(value)}`, null, 'InvalidArgumentType')
}

/** The items of a list that is iterated over; null for null. */
export function itemsOf(value: Value, what: string): readonly Value[] | null {
  if (value === null) return null
  if (!isList(value))
    throw new RunFault('type', `${what} takes a list, not ${kindName(value)}`, null, 'InvalidArgumentType')
  return value
}
