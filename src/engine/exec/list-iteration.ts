// List comprehensions, reduce and quantifiers over compiled parts. Each item is in its slot while its part is evaluated,
// and is charged as one step.
import type { BoundExpression } from '../bind/bound.ts'
import type { Truth } from '../value/value.ts'
import { BoundedListBuilder, boundedList } from '../value/value-size.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { listItems } from './list-and-map-access.ts'

/** Compiles `[variable IN list WHERE keeps | project]`. */
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

/** Compiles `reduce(accumulator = initial, variable IN list | step)`. */
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

/**
 * Compiles `allReduce(accumulator = initial, variable IN list | step, holds)`: false at the first step after which the
 * condition is false; unknown if it is unknown after a step and false after none.
 */
export function compileAllReduce(
  accumulator: number,
  variable: number,
  initial: CompiledExpression,
  list: CompiledExpression,
  step: CompiledExpression,
  holds: (run: ExecutionContext) => Truth,
): CompiledExpression {
  return (run) => {
    let value = initial(run)
    const items = listItems(list(run), 'allReduce()')
    if (items === null) return null
    let isUnknown = false
    for (const item of items) {
      run.budget.chargeSteps(1)
      run.frame[accumulator] = value
      run.frame[variable] = item
      value = step(run)
      run.frame[accumulator] = value
      const truth = holds(run)
      if (truth === false) return false
      isUnknown ||= truth === null
    }
    return isUnknown ? null : true
  }
}

type QuantifierName = Extract<BoundExpression, { kind: 'quantifier' }>['quantifier']

/**
 * Compiles all, any, none and single. An item whose predicate is unknown makes the result unknown if it could change it.
 */
export function compileQuantifier(
  quantifier: QuantifierName,
  variable: number,
  list: CompiledExpression,
  holds: (run: ExecutionContext) => Truth,
): (run: ExecutionContext) => Truth {
  const caller = `${quantifier}()`
  return (run) => {
    const items = listItems(list(run), caller)
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
        if (quantifier === 'any') return true
        if (quantifier === 'none' || (quantifier === 'single' && trues > 1)) return false
      } else if (quantifier === 'all') return false
    }
    if (unknowns > 0) return null
    return quantifier === 'single' ? trues === 1 : quantifier !== 'any'
  }
}
