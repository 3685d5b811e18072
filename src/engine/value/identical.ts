// Whether two values cannot be told apart by any expression.

import { Float } from '../../kernel/float.ts'
import type { Budget } from '../budget.ts'
import { sameTemporal } from './temporal/order.ts'
import { isTemporal } from './temporal/temporal.ts'
import type { Value } from './value.ts'

/**
 * Whether the values are the same and of one kind: 1 and 1.0 differ, as do 0.0 and -0.0, and maps with another order of keys. Elements of a
 * graph are identical only to themselves. Charges the items and the characters.
 */
export function identical(budget: Budget, a: Value | undefined, b: Value | undefined): boolean {
  if (Object.is(a, b)) {
    // The comparison of equal strings reads them.
    if (typeof a === 'string') budget.chargeText(a.length)
    return true
  }
  if (a == null || b == null || typeof a !== 'object' || typeof b !== 'object') return false
  budget.chargeSteps(1)
  if (a instanceof Float) return b instanceof Float && Object.is(a.value, b.value)
  if (isTemporal(a)) return isTemporal(b) && sameTemporal(a, b)
  if (Array.isArray(a)) return Array.isArray(b) && identicalLists(budget, a, b)
  if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false
  const others = (b as ReadonlyMap<string, Value>).entries()
  for (const [key, value] of a as ReadonlyMap<string, Value>) {
    const [otherKey, other] = others.next().value!
    budget.chargeText(key.length)
    if (key !== otherKey || !identical(budget, value, other)) return false
  }
  return true
}

function identicalLists(budget: Budget, a: readonly Value[], b: readonly Value[]): boolean {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) {
    budget.chargeSteps(1)
    if (!identical(budget, a[i]!, b[i]!)) return false
  }
  return true
}
