// The values of SKIP and LIMIT. They are evaluated at run time, once per execution.
import { ExecutionError } from '../errors.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'

/** Evaluates the row count of `clause`. Throws ExecutionError if it is not an integer or is negative. */
export function evaluateRowCount(evaluate: CompiledExpression, run: ExecutionContext, clause: string): number {
  const value = evaluate(run)
  // No execution counts more than 2^53 rows.
  if (typeof value === 'bigint' && value > 0n) return Number.MAX_SAFE_INTEGER
  if (typeof value !== 'number') {
    throw new ExecutionError('argument', `${clause} takes a whole number`, null, 'InvalidArgumentType')
  }
  if (value < 0) throw new ExecutionError('argument', `${clause} cannot be negative`, null, 'NegativeIntegerArgument')
  return value
}
