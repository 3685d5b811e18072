// The functions `coll.…` of Cypher 25: lists as values, not as properties of paths.
import { type Budget, SLICE_ITEMS } from '../../budget.ts'
import { equals, groupingKey, isList, order } from '../compare.ts'
import { GroupingKeySet } from '../grouping-key-set.ts'
import { appendSlice, copySlice, sortWithCharges } from '../list-operations.ts'
import type { Value } from '../value.ts'
import { BoundedListBuilder, boundedList } from '../value-size.ts'
import {
  type CypherFunction,
  defineFunction,
  invalidArgument,
  requireSmallInteger,
  wrongKindArgument,
} from './function.ts'

const LIST = ['list'] as const
const INTEGER = ['integer'] as const

function requireList(name: string, value: Value): readonly Value[] {
  if (!isList(value)) throw wrongKindArgument(name, value, 'a list')
  return value
}

/** `coll.distinct`, `flatten`, `indexOf`, `insert`, `max`, `min`, `remove`, `sort`. */
export const collectionFunctions: readonly CypherFunction[] = [
  defineFunction('coll.distinct', 1, [LIST], 'list', (run, a) => distinct(run.budget, requireList('coll.distinct', a))),
  defineFunction('coll.flatten', [1, 2], [LIST, INTEGER], 'list', (run, a, b) => {
    const depth = b === null ? 1 : requireSmallInteger('coll.flatten', b)
    if (depth < 0) throw invalidArgument('coll.flatten() does not accept a negative depth', 'NegativeIntegerArgument')
    const builder = new BoundedListBuilder(run.budget)
    flatten(run.budget, requireList('coll.flatten', a), depth, builder)
    return boundedList(run.budget, builder.items)
  }),
  defineFunction('coll.indexOf', 2, [LIST, ['any']], 'integer', (run, a, b) => {
    const list = requireList('coll.indexOf', a)
    for (let i = 0; i < list.length; i++) {
      run.budget.chargeSteps(1)
      if (equals(run.budget, list[i]!, b) === true) return i
    }
    return -1
  }),
  defineFunction(
    'coll.insert',
    3,
    [LIST, INTEGER, ['any']],
    'list',
    (run, a, b, c) => {
      if (a === null || b === null) return null
      const list = requireList('coll.insert', a)
      const at = requireIndex('coll.insert', b, list.length)
      const copy = copySlice(run.budget, list, 0, at)
      copy.push(c)
      appendSlice(run.budget, copy, list, at, list.length)
      return boundedList(run.budget, copy)
    },
    { nulls: 'receive' },
  ),
  defineFunction('coll.max', 1, [LIST], 'any', (run, a) => extreme(run.budget, requireList('coll.max', a), 1)),
  defineFunction('coll.min', 1, [LIST], 'any', (run, a) => extreme(run.budget, requireList('coll.min', a), -1)),
  defineFunction('coll.remove', 2, [LIST, INTEGER], 'list', (run, a, b) => {
    const list = requireList('coll.remove', a)
    const at = requireIndex('coll.remove', b, list.length - 1)
    const copy = copySlice(run.budget, list, 0, at)
    appendSlice(run.budget, copy, list, at + 1, list.length)
    return copy
  }),
  defineFunction('coll.sort', 1, [LIST], 'list', (run, a) => {
    const copy = copySlice(run.budget, requireList('coll.sort', a))
    return sortWithCharges(run.budget, copy, (x, y) => order(run.budget, x, y))
  }),
]

function requireIndex(name: string, value: Value, last: number): number {
  const index = requireSmallInteger(name, value)
  if (index >= 0 && index <= last) return index
  throw invalidArgument(`${name}() takes an index from 0 to ${last}, not ${index}`, 'NumberOutOfRange')
}

/** The first of each group of equivalent items: null equals null, and 1 equals 1.0. */
function distinct(budget: Budget, list: readonly Value[]): readonly Value[] {
  const seen = new GroupingKeySet()
  return boundedList(
    budget,
    list.filter((item) => {
      budget.chargeSteps(1)
      return seen.add(groupingKey(budget, item))
    }),
  )
}

function flatten(budget: Budget, list: readonly Value[], depth: number, builder: BoundedListBuilder): void {
  list.forEach((item, i) => {
    if (i % SLICE_ITEMS === 0) budget.chargeSteps(Math.min(SLICE_ITEMS, list.length - i))
    if (depth > 0 && isList(item)) flatten(budget, item, depth - 1, builder)
    else builder.push(item)
  })
}

/** The last item by the order of ORDER BY (`sign` 1) or the first (-1), without nulls; null if no item is left. */
function extreme(budget: Budget, list: readonly Value[], sign: 1 | -1): Value {
  let found: Value = null
  for (const item of list) {
    budget.chargeSteps(1)
    if (item !== null && (found === null || order(budget, item, found) * sign > 0)) found = item
  }
  return found
}
