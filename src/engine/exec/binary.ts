// Arithmetic, IN and the questions about text, over compiled operands.
import type { BoundExpression } from '../bind/bound.ts'
import { RunFault } from '../errors.ts'
import { add, divide, modulo, multiply, power, subtract } from '../value/arithmetic.ts'
import { contains } from '../value/compare.ts'
import { effortOnText } from '../value/effort.ts'
import { chargedPattern, type TextPattern } from '../value/pattern.ts'
import { includesText } from '../value/text-work.ts'
import { itemsOf } from './access.ts'
import type { Evaluate } from './context.ts'

type BinaryOperator = Extract<BoundExpression, { kind: 'binary' }>['operator']

const ARITHMETIC = { '+': add, '-': subtract, '*': multiply, '/': divide, '%': modulo, '^': power } as const

export function computeBinary(operator: BinaryOperator, left: Evaluate, right: Evaluate): Evaluate {
  switch (operator) {
    case 'IN':
      return (run) => {
        const value = left(run)
        const list = itemsOf(right(run), '`IN`')
        return list === null ? null : contains(list, value)
      }
    case 'STARTS WITH':
      return onStrings(left, right, (text, part) => {
        effortOnText(part.length)
        return text.startsWith(part)
      })
    case 'ENDS WITH':
      return onStrings(left, right, (text, part) => {
        effortOnText(part.length)
        return text.endsWith(part)
      })
    case 'CONTAINS':
      return onStrings(left, right, includesText)
    case '=~':
      return onStrings(left, right, matching())
    default: {
      const compute = ARITHMETIC[operator]
      return (run) => compute(left(run), right(run))
    }
  }
}

/** Anything but two strings is unknown. */
function onStrings(left: Evaluate, right: Evaluate, ask: (text: string, part: string) => boolean): Evaluate {
  return (run) => {
    const text = left(run)
    const part = right(run)
    return typeof text === 'string' && typeof part === 'string' ? ask(text, part) : null
  }
}

/** Mostly one pattern is asked of many texts. */
function matching(): (text: string, source: string) => boolean {
  let known = ''
  let pattern: TextPattern | null = null
  return (text, source) => {
    if (pattern === null || source !== known) {
      const compiled = chargedPattern(source)
      if (!compiled.ok) throw new RunFault('argument', `not a pattern: ${compiled.error}`)
      pattern = compiled.value
      known = source
    }
    return pattern.matches(text)
  }
}
