// List comprehensions, reduce and quantifiers over compiled parts: each item stands in the frame while its part runs.
import type { BoundExpression } from '../bind/bound.ts'
import type { Truth } from '../value/value.ts'
import { BoundedListBuilder, boundedList } from '../value/value-size.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { listItems } from './list-and-map-access.ts'

export function compileListComprehension(
  variable: number,
  list: CompiledExpression,
  keeps: ((run: ExecutionContext) => boolean) | null,
  project: CompiledExpression | null,
): CompiledExpression {
  return (run) => {
    const items = listItems(list(run), 'a list comprehension')
    if (items === null) return null
    const result = new BoundedListBuilder(run.budget)
    for (const item of items) {
      run.budget.chargeSteps(1)
      run.frame[variable] = item
      if (keeps === null || keeps(run)) result.push(project === null ? item : project(run))
    }
    return boundedList(run.budget, result.items)
  }
}

export function compileReduce(
  accumulator: number,
  variable: number,
  initial: CompiledExpression,
  list: CompiledExpression,
  step: CompiledExpression,
): CompiledExpression {
  return (run) => {
    const start = initial(run)
    const items = listItems(list(run), 'reduce()')
    if (items === null) return null
    let value = start
    for (const item of items) {
      run.budget.chargeSteps(1)
      run.frame[accumulator] = value
      run.frame[variable] = item
      value = step(run)
    }
    return value
  }
}

type QuantifierName = Extract<BoundExpression, { kind: 'quantifier' }>['quantifier']

/** True and false are decided by the items that are known; an unknown item leaves open what it could still change. */
export function compileQuantifier(
  word: QuantifierName,
  variable: number,
  list: CompiledExpression,
  holds: (run: ExecutionContext) => Truth,
): (run: ExecutionContext) => Truth {
  const what = `${word}()`
  return (run) => {
    const items = listItems(list(run), what)
    if (items === null) return null
    let trues = 0
    let unknowns = 0
    for (const item of items) {
      run.budget.chargeSteps(1)
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
