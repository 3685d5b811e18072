// Descriptor of a function in the function table, with helpers that check arguments.
import { ExecutionError } from '../../errors.ts'
import type { ExpressionContext } from '../expression-context.ts'
import { kindName } from '../kind-name.ts'
import { ANY, type StaticKind, type StaticType } from '../static-type.ts'
import type { Value } from '../value.ts'

/** A function that a query can call. */
export interface CypherFunction {
  /** The canonical spelling, as in bound expressions. */
  readonly name: string
  readonly argsMin: number
  readonly argsMax: number
  /** Whether the same arguments give the same value within one execution. */
  readonly pure: boolean
  /** `propagate`: the result is null if an argument is null, without a call. `receive`: the function receives the null. */
  readonly nulls: 'propagate' | 'receive'
  /** Accepted kinds by position; checked at compile time if the kind is known. A missing position accepts any kind. */
  readonly parameterKinds: readonly (readonly StaticKind[])[]
  readonly resultType: StaticType
  /** Steps of one call. The function itself charges work that grows with its arguments. */
  readonly steps: number
  /** Computes the value. An argument that the call leaves out is null. Throws ExecutionError. */
  call(run: ExpressionContext, a: Value, b: Value, c: Value): Value
}

/** Creates the descriptor of a function; by default it is pure and propagates nulls. */
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

/** Alternative names of functions. */
export const functionAliases: readonly (readonly [alias: string, name: string])[] = [
  ['upper', 'toUpper'],
  ['lower', 'toLower'],
  ['character_length', 'char_length'],
  ['rels', 'relationships'],
  ['ceiling', 'ceil'],
  ['ln', 'log'],
  ['path_length', 'length'],
  ['element_id', 'elementId'],
  ['local_time', 'localtime'],
  ['zoned_time', 'time'],
  ['local_datetime', 'localdatetime'],
  ['zoned_datetime', 'datetime'],
  ['duration_between', 'duration.between'],
]

/** Functions of Neo4j that are known and refused, by lower-case name, each with the reason. */
export const refusedFunctions: ReadonlyMap<string, string> = new Map([
  ...['vector', 'vector_norm', 'vector_distance', 'vector_dimension_count', 'tofloat32'].map(
    (name) => [name, 'values have no vectors'] as const,
  ),
  ...['vector.similarity.cosine', 'vector.similarity.euclidean'].map(
    (name) => [name, 'values have no vectors'] as const,
  ),
  ...['point', 'point.distance', 'point.withinbbox', 'distance'].map(
    (name) => [name, 'values have no points; store coordinates as numbers'] as const,
  ),
  ...['file', 'linenumber'].map((name) => [name, 'LOAD CSV is not allowed'] as const),
  ...['graph.names', 'graph.propertiesbyname', 'graph.byelementid', 'db.namefromelementid'].map(
    (name) => [name, 'a graph is named with `USE graph.byName(…)`'] as const,
  ),
])

/** The error for an argument of a kind that the function does not accept; `takes` names the accepted kinds. */
export function wrongKindArgument(name: string, value: Value, takes: string): ExecutionError {
  return new ExecutionError('type', `${name}() takes ${takes}, not ${kindName(value)}`, null, 'InvalidArgumentValue')
}

/** The error for an argument of an accepted kind with an invalid value. `detail` is the name of the openCypher TCK. */
export function invalidArgument(message: string, detail: string): ExecutionError {
  return new ExecutionError('argument', message, null, detail)
}

/** Returns the argument, which must be a string. Throws ExecutionError. */
export function requireString(name: string, value: Value): string {
  if (typeof value !== 'string') throw wrongKindArgument(name, value, 'a string')
  return value
}

/** Returns the argument, which must be a safe integer: a position or a count. Throws ExecutionError. */
export function requireSmallInteger(name: string, value: Value): number {
  if (typeof value !== 'number') throw wrongKindArgument(name, value, 'an integer')
  return value
}
