// The shape of an entry of the function table, and what its implementations share: faults and the reading of arguments.
import { ExecutionError } from '../../errors.ts'
import type { ExpressionContext } from '../expression-context.ts'
import { kindName } from '../kind-name.ts'
import { ANY, type StaticKind, type StaticType } from '../static-type.ts'
import type { Value } from '../value.ts'

export interface CypherFunction {
  /** The spelling that bound expressions carry. */
  readonly name: string
  readonly argsMin: number
  readonly argsMax: number
  /** Within one run, the same arguments give the same value. */
  readonly pure: boolean
  /** `propagate`: null when any given argument is null, without being called; `given`: it sees the null. */
  readonly nulls: 'propagate' | 'given'
  /** By position; checked at compile time where the kind is known. A missing position takes anything. */
  readonly parameterKinds: readonly (readonly StaticKind[])[]
  readonly resultType: StaticType
  /** Steps of one call beside what grows with its arguments, which the function charges itself. */
  readonly steps: number
  /** Arguments that were not given are null. */
  call(run: ExpressionContext, a: Value, b: Value, c: Value): Value
}

/** A pure function that propagates nulls, which nearly all are. */
export function defineFunction(
  name: string,
  arity: number | readonly [min: number, max: number],
  takes: readonly (readonly StaticKind[])[],
  gives: StaticType | StaticKind,
  call: CypherFunction['call'],
  others: Partial<Pick<CypherFunction, 'pure' | 'nulls' | 'steps'>> = {},
): CypherFunction {
  const [min, max] = typeof arity === 'number' ? [arity, arity] : arity
  const type = typeof gives === 'string' ? { ...ANY, kind: gives } : gives
  return {
    name,
    argsMin: min,
    argsMax: max,
    pure: true,
    nulls: 'propagate',
    parameterKinds: takes,
    resultType: type,
    steps: 1,
    call,
    ...others,
  }
}

/** Other names under which a function is known. */
export const functionAliases: readonly (readonly [alias: string, name: string])[] = [
  ['upper', 'toUpper'],
  ['lower', 'toLower'],
  ['character_length', 'char_length'],
  ['rels', 'relationships'],
]

/** A value of a kind that the function never takes. */
export function wrongKindArgument(name: string, value: Value, takes: string): ExecutionError {
  return new ExecutionError('type', `${name}() takes ${takes}, not ${kindName(value)}`, null, 'InvalidArgumentValue')
}

export function invalidArgument(message: string, detail: string): ExecutionError {
  return new ExecutionError('argument', message, null, detail)
}

export function requireString(name: string, value: Value): string {
  if (typeof value !== 'string') throw wrongKindArgument(name, value, 'a string')
  return value
}

/** A whole number used as a position or count. */
export function requireSmallInteger(name: string, value: Value): number {
  if (typeof value !== 'number') throw wrongKindArgument(name, value, 'an integer')
  return value
}
