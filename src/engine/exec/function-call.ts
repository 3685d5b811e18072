// Compiles function calls, including the propagation of nulls.
import { assert } from '../../kernel/assert.ts'
import type { CypherFunction } from '../value/functions/function.ts'
import { findFunction, MAP_PROJECTION, mapProjection } from '../value/functions/function-table.ts'
import type { CompiledExpression } from './execution-context.ts'

/** Compiles a call of a function in the function table. */
export function compileFunctionCall(name: string, args: readonly CompiledExpression[]): CompiledExpression {
  const entry = name === MAP_PROJECTION ? mapProjection : findFunction(name)
  assert(entry, `the binder rejects unknown functions: ${name}`)
  if (entry.name === 'coalesce') return compileCoalesce(args)
  return chargedCall(entry, entry.nulls === 'receive' ? callWithNulls(entry, args) : callUnlessNull(entry, args))
}

/** Charges the steps of the call; the function charges work that grows with its arguments. */
function chargedCall({ steps }: CypherFunction, call: CompiledExpression): CompiledExpression {
  return (run) => {
    run.budget.chargeSteps(steps)
    return call(run)
  }
}

function compileCoalesce(args: readonly CompiledExpression[]): CompiledExpression {
  return (run) => {
    for (const arg of args) {
      const value = arg(run)
      if (value !== null) return value
    }
    return null
  }
}

const absentArgument: CompiledExpression = () => null

function callWithNulls(
  entry: CypherFunction,
  [a = absentArgument, b = absentArgument, c = absentArgument]: readonly CompiledExpression[],
): CompiledExpression {
  return (run) => entry.call(run, a(run), b(run), c(run))
}

function callUnlessNull(entry: CypherFunction, args: readonly CompiledExpression[]): CompiledExpression {
  const [a = absentArgument, b = absentArgument, c = absentArgument] = args
  if (args.length === 0) return (run) => entry.call(run, null, null, null)
  if (args.length === 1) {
    return (run) => {
      const first = a(run)
      return first === null ? null : entry.call(run, first, null, null)
    }
  }
  const three = args.length === 3
  return (run) => {
    const first = a(run)
    const second = b(run)
    const third = c(run)
    if (first === null || second === null || (three && third === null)) return null
    return entry.call(run, first, second, third)
  }
}
