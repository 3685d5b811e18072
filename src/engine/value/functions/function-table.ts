// The functions that a query can call: one table, keyed by lower-case name. A function reads its arguments and the
// snapshots of the execution, nothing else.
import { getProperties } from '../element-properties.ts'
import type { Value } from '../value.ts'
import { boundedMap } from '../value-size.ts'
import { collectionFunctions } from './collection.ts'
import { elementFunctions } from './element.ts'
import { type CypherFunction, defineFunction, functionAliases } from './function.ts'
import { graphFunctions } from './graph.ts'
import { listFunctions } from './list.ts'
import { mathFunctions } from './math.ts'
import { netFunctions } from './net.ts'
import { scalarFunctions } from './scalar.ts'
import { stringFunctions } from './string.ts'
import { temporalFunctions } from './temporal.ts'

const functions: readonly CypherFunction[] = [
  ...scalarFunctions,
  ...stringFunctions,
  ...listFunctions,
  ...collectionFunctions,
  ...mathFunctions,
  ...elementFunctions,
  ...temporalFunctions,
  ...netFunctions,
  ...graphFunctions,
]
const functionsByName: ReadonlyMap<string, CypherFunction> = new Map([
  ...functions.map((entry) => [entry.name.toLowerCase(), entry] as const),
  ...functionAliases.flatMap(([alias, name]) =>
    functions.filter((entry) => entry.name === name).map((entry) => [alias.toLowerCase(), entry] as const),
  ),
])

/** Finds a function by its name or alias, in any case; undefined if none exists. */
export function findFunction(name: string): CypherFunction | undefined {
  return functionsByName.get(name.toLowerCase())
}

/** Names of all functions in their canonical spelling, without aliases. */
export function functionNames(): readonly string[] {
  return functions.map(({ name }) => name)
}

/** Name of `mapProjection` in bound expressions. Not in the table, so no query can call it by name. */
export const MAP_PROJECTION = 'map projection'

/** `n {.a, .*}`: its arguments are the element, the listed entries as a map, and whether all properties are included. */
export const mapProjection = defineFunction(
  MAP_PROJECTION,
  3,
  [],
  'map',
  (run, element, entries, all) => {
    if (element === null) return null
    const own = entries as ReadonlyMap<string, Value>
    if (all !== true) return own
    const projected = new Map<string, Value>()
    for (const entries of [getProperties(run, 'map projection', element), own]) {
      for (const [key, value] of entries) {
        run.budget.chargeSteps(1)
        projected.set(key, value)
      }
    }
    return boundedMap(run.budget, projected)
  },
  { nulls: 'receive' },
)
