// List comprehensions, reduce and quantifiers over compiled parts: each item stands in the frame while its part runs.
import type { BoundExpression } from '../bind/bound.ts'
import type { Truth } from '../value/value.ts'
import { boundedList, GrowingList } from '../value/weight.ts'
import { itemsOf } from './access.ts'
import type { Evaluate, Run } from './context.ts'

export function comprehend(
  variable: number,
  list: Evaluate,
  keeps: ((run: Run) => boolean) | null,
  project: Evaluate | null,
): Evaluate {
  return (run) => {
    const items = itemsOf(list(run), 'a list comprehension')
    if (items === null) return null
    const result = new GrowingList()
    for (const item of items) {
      run.budget.touch(1)
      run.frame[variable] = item
      if (keeps === null || keeps(run)) result.push(project === null ? item : project(run))
    }
    return boundedList(result.items)
  }
}

export function reduce(
  accumulator: number,
  variable: number,
  initial: Evaluate,
  list: Evaluate,
  step: Evaluate,
): Evaluate {
  return (run) => {
    const start = initial(run)
    const items = itemsOf(list(run), 'reduce()')
    if (items === null) return null
    let value = start
    for (const item of items) {
      run.budget.touch(1)
      run.frame[accumulator] = value
      run.frame[variable] = item
      value = step(run)
    }
    return value
  }
}

type QuantifierWord = Extract<BoundExpression, { kind: 'quantifier' }>['quantifier']

/** True and false are decided by the items that are known; an unknown item leaves open what it could still change. */
export function quantify(
  word: QuantifierWord,
  variable: number,
  list: Evaluate,
  holds: (run: Run) => Truth,
): (run: Run) => Truth {
  const what = `${word}()`
  return (run) => {
    const items = itemsOf(list(run), what)
    if (items === null) return null
    let trues = 0
    let unknowns = 0
    for (const item of items) {
      run.budget.touch(1)
      run.frame[variable] = item
      const truth = holds(run)
      if (truth === null) unknowns += 1
      else if (truth) {
        trues += 1
        if (word === 'any') return true
        if (word === 'none' || (word === 'single' && trues > 1)) return false
      } else if (word === 'all') return false
    }
    if (unknowns > 0) return null
    return word === 'single' ? trues === 1 : word !== 'any'
  }
}
