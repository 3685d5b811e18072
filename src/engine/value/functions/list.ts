// Functions over lists, and those that lists and strings share.

import { RunFault } from '../../errors.ts'
import type { Run } from '../../exec/context.ts'
import { integer } from '../arithmetic.ts'
import { isList, isMap } from '../compare.ts'
import { copyOf, effortOnItems, SLICE_ITEMS } from '../effort.ts'
import { kindName } from '../kind-name.ts'
import { typeOf } from '../static-type.ts'
import { codePointCount, reversed } from '../text-work.ts'
import type { Value } from '../value.ts'
import { VALUE_ITEMS_MAX } from '../weight.ts'
import { type CypherFunction, define, wrongArgument, wrongKind } from './function.ts'

const LIST = ['list'] as const
const LIST_OR_STRING = ['list', 'string'] as const

function listOf(name: string, value: Value): readonly Value[] {
  if (!isList(value)) throw wrongKind(name, value, 'a list')
  return value
}

export const listFunctions: readonly CypherFunction[] = [
  define('size', 1, [LIST_OR_STRING], 'integer', (_, a) => {
    if (typeof a === 'string') return codePointCount(a)
    if (!isList(a)) throw wrongKind('size', a, 'a list or a string')
    return a.length
  }),
  define('isEmpty', 1, [['list', 'string', 'map']], 'boolean', (_, a) => {
    if (typeof a === 'string' || isList(a)) return a.length === 0
    if (!isMap(a)) throw wrongKind('isEmpty', a, 'a list, a map or a string')
    return a.size === 0
  }),
  define('head', 1, [LIST], 'any', (_, a) => listOf('head', a)[0] ?? null),
  define('last', 1, [LIST], 'any', (_, a) => listOf('last', a).at(-1) ?? null),
  define('tail', 1, [LIST], 'list', (_, a) => copyOf(listOf('tail', a), 1)),
  define('reverse', 1, [LIST_OR_STRING], 'any', (_, a) => {
    if (typeof a === 'string') return reversed(a)
    if (!isList(a)) throw wrongKind('reverse', a, 'a list or a string')
    return reversedList(a)
  }),
  define('range', [2, 3], [], typeOf('list', typeOf('integer')), range),
]

/** Both ends are included. A step that leads away gives the empty list. */
function range(run: Run, start: Value, end: Value, step: Value): Value {
  const from = BigInt(wholeNumber(start))
  const to = BigInt(wholeNumber(end))
  // A step that is not given is null here; a given null never comes this far.
  const by = step === null ? 1n : BigInt(wholeNumber(step))
  if (by === 0n) throw wrongArgument('range() takes a step other than 0', 'NumberOutOfRange')
  const steps = (to - from) / by
  if (by > 0n ? to < from : to > from) return []
  if (steps >= VALUE_ITEMS_MAX) {
    throw new RunFault('budget', `range() of more than ${VALUE_ITEMS_MAX} items`, 'valueItemsMax')
  }
  const count = Number(steps) + 1
  // Eight bytes for each item.
  run.budget.admitBytes(count * 8)
  const first = integer(from)
  const last = integer(from + by * steps)
  const items: Value[] = []
  const stride = Number(by)
  const isSmall = typeof first === 'number' && typeof last === 'number'
  for (let at = 0; at < count; at += SLICE_ITEMS) {
    const end = Math.min(count, at + SLICE_ITEMS)
    run.budget.touch(end - at)
    for (let i = at; i < end; i++) items.push(isSmall ? first + i * stride : integer(from + by * BigInt(i)))
  }
  return items
}

function reversedList(list: readonly Value[]): readonly Value[] {
  const items: Value[] = []
  for (let end = list.length; end > 0; end -= SLICE_ITEMS) {
    const start = Math.max(0, end - SLICE_ITEMS)
    effortOnItems(end - start)
    for (let i = end - 1; i >= start; i--) items.push(list[i]!)
  }
  return items
}

function wholeNumber(value: Value): number | bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  throw wrongArgument(`range() takes integers, not ${kindName(value)}`, 'InvalidArgumentType')
}
