// Arithmetic, IN and the string operators, over compiled operands.
import type { BoundExpression } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { add, concatenate, divide, modulo, multiply, power, subtract } from '../value/arithmetic.ts'
import { contains } from '../value/compare.ts'
import { type CompiledRegex, compileRegexCharged } from '../value/regular-expression.ts'
import { includesText } from '../value/string-operations.ts'
import type { CompiledExpression } from './execution-context.ts'
import { listItems } from './list-and-map-access.ts'

type BoundBinaryOperator = Extract<BoundExpression, { kind: 'binary' }>['operator']

const ARITHMETIC = { '-': subtract, '*': multiply, '/': divide, '%': modulo, '^': power } as const

/** Compiles a binary operator. The result throws ExecutionError for operands that the operator does not accept. */
export function compileBinary(
  operator: BoundBinaryOperator,
  left: CompiledExpression,
  right: CompiledExpression,
): CompiledExpression {
  switch (operator) {
    case 'IN':
      return (run) => {
        const value = left(run)
        const list = listItems(right(run), '`IN`')
        return list === null ? null : contains(run.budget, list, value)
      }
    case 'STARTS WITH':
      return compileStringTest(left, right, (budget, text, part) => {
        budget.chargeText(part.length)
        return text.startsWith(part)
      })
    case 'ENDS WITH':
      return compileStringTest(left, right, (budget, text, part) => {
        budget.chargeText(part.length)
        return text.endsWith(part)
      })
    case 'CONTAINS':
      return compileStringTest(left, right, includesText)
    case '=~':
      return compileStringTest(left, right, regexMatcher())
    case '||':
      return (run) => concatenate(run.budget, left(run), right(run))
    case '+':
      return (run) => add(run.budget, left(run), right(run))
    default: {
      const compute = ARITHMETIC[operator]
      return (run) => compute(left(run), right(run))
    }
  }
}

/** Null unless both operands are strings. */
function compileStringTest(
  left: CompiledExpression,
  right: CompiledExpression,
  test: (budget: Budget, text: string, part: string) => boolean,
): CompiledExpression {
  return (run) => {
    const text = left(run)
    const part = right(run)
    return typeof text === 'string' && typeof part === 'string' ? test(run.budget, text, part) : null
  }
}

/** Keeps the last compiled regular expression: most often one is matched against many texts. */
function regexMatcher(): (budget: Budget, text: string, source: string) => boolean {
  let compiledSource = ''
  let pattern: CompiledRegex | null = null
  return (budget, text, source) => {
    if (pattern === null || source !== compiledSource) {
      const compiled = compileRegexCharged(budget, source)
      if (!compiled.ok) throw new ExecutionError('argument', `invalid regular expression: ${compiled.error}`)
      pattern = compiled.value
      compiledSource = source
    }
    return pattern.matches(budget, text)
  }
}
