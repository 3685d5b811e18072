// Functions over lists, and functions that accept lists or strings.
import { type Budget, SLICE_ITEMS } from '../../budget.ts'
import { ExecutionError } from '../../errors.ts'
import { normalizeInteger } from '../arithmetic.ts'
import { isList, isMap } from '../compare.ts'
import type { ExpressionContext } from '../expression-context.ts'
import { kindName } from '../kind-name.ts'
import { copySlice } from '../list-operations.ts'
import { staticType } from '../static-type.ts'
import { codePointCount, reverseText } from '../string-operations.ts'
import type { Value } from '../value.ts'
import { VALUE_ITEMS_MAX } from '../value-size.ts'
import { type CypherFunction, defineFunction, invalidArgument, wrongKindArgument } from './function.ts'

const LIST = ['list'] as const
const LIST_OR_STRING = ['list', 'string'] as const

function requireList(name: string, value: Value): readonly Value[] {
  if (!isList(value)) throw wrongKindArgument(name, value, 'a list')
  return value
}

/** `size`, `isEmpty`, `head`, `last`, `tail`, `reverse`, `range`. */
export const listFunctions: readonly CypherFunction[] = [
  defineFunction('size', 1, [LIST_OR_STRING], 'integer', (run, a) => {
    if (typeof a === 'string') return codePointCount(run.budget, a)
    if (!isList(a)) throw wrongKindArgument('size', a, 'a list or a string')
    return a.length
  }),
  defineFunction('isEmpty', 1, [['list', 'string', 'map']], 'boolean', (_, a) => {
    if (typeof a === 'string' || isList(a)) return a.length === 0
    if (!isMap(a)) throw wrongKindArgument('isEmpty', a, 'a list, a map or a string')
    return a.size === 0
  }),
  defineFunction('head', 1, [LIST], 'any', (_, a) => requireList('head', a)[0] ?? null),
  defineFunction('last', 1, [LIST], 'any', (_, a) => requireList('last', a).at(-1) ?? null),
  defineFunction('tail', 1, [LIST], 'list', (run, a) => copySlice(run.budget, requireList('tail', a), 1)),
  defineFunction('reverse', 1, [LIST_OR_STRING], 'any', (run, a) => {
    if (typeof a === 'string') return reverseText(run.budget, a)
    if (!isList(a)) throw wrongKindArgument('reverse', a, 'a list or a string')
    return reverseList(run.budget, a)
  }),
  defineFunction('range', [2, 3], [], staticType('list', staticType('integer')), range),
]

/** Both ends are included. A step in the wrong direction gives the empty list. */
function range(run: ExpressionContext, start: Value, end: Value, step: Value): Value {
  const from = BigInt(requireInteger(start))
  const to = BigInt(requireInteger(end))
  // Null only if the call has no third argument: an argument null propagates without a call.
  const by = step === null ? 1n : BigInt(requireInteger(step))
  if (by === 0n) throw invalidArgument('range() needs a step other than 0', 'NumberOutOfRange')
  const steps = (to - from) / by
  if (by > 0n ? to < from : to > from) return []
  if (steps >= VALUE_ITEMS_MAX) {
    throw new ExecutionError('budget', `range() of more than ${VALUE_ITEMS_MAX} items`, 'valueItemsMax')
  }
  const count = Number(steps) + 1
  // Eight bytes per item.
  run.budget.checkBytes(count * 8)
  const first = normalizeInteger(from)
  const last = normalizeInteger(from + by * steps)
  const items: Value[] = []
  const stride = Number(by)
  const isSmall = typeof first === 'number' && typeof last === 'number'
  for (let at = 0; at < count; at += SLICE_ITEMS) {
    const end = Math.min(count, at + SLICE_ITEMS)
    run.budget.chargeSteps(end - at)
    for (let i = at; i < end; i++) items.push(isSmall ? first + i * stride : normalizeInteger(from + by * BigInt(i)))
  }
  return items
}

function reverseList(budget: Budget, list: readonly Value[]): readonly Value[] {
  const items: Value[] = []
  for (let end = list.length; end > 0; end -= SLICE_ITEMS) {
    const start = Math.max(0, end - SLICE_ITEMS)
    budget.chargeSteps(end - start)
    for (let i = end - 1; i >= start; i--) items.push(list[i]!)
  }
  return items
}

function requireInteger(value: Value): number | bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return value
  throw invalidArgument(`range() takes integers, not ${kindName(value)}`, 'InvalidArgumentType')
}
