// The functions that a text can call: one table, looked up without regard to case. A function sees values and the run's
// snapshots, nothing else; what is not in the table cannot be called.
import { getProperties } from './element-properties.ts'
import { elementFunctions } from './functions/element.ts'
import { type CypherFunction, defineFunction, functionAliases } from './functions/function.ts'
import { graphFunctions } from './functions/graph.ts'
import { listFunctions } from './functions/list.ts'
import { mathFunctions } from './functions/math.ts'
import { scalarFunctions } from './functions/scalar.ts'
import { stringFunctions } from './functions/string.ts'
import { temporalFunctions } from './functions/temporal.ts'
import type { Value } from './value.ts'
import { boundedMap } from './value-size.ts'

const functionsByName = new Map<string, CypherFunction>()
const functionGroups = [
  scalarFunctions,
  stringFunctions,
  listFunctions,
  mathFunctions,
  elementFunctions,
  temporalFunctions,
  graphFunctions,
]
for (const entry of functionGroups.flat()) functionsByName.set(entry.name.toLowerCase(), entry)
for (const [alias, name] of functionAliases)
  functionsByName.set(alias.toLowerCase(), functionsByName.get(name.toLowerCase())!)

export function findFunction(name: string): CypherFunction | undefined {
  return functionsByName.get(name.toLowerCase())
}

/** In the table's own spelling, aliases left out. */
export function functionNames(): readonly string[] {
  return [...new Set([...functionsByName.values()].map((entry) => entry.name))]
}

/**
 * What `n {.a, .*}` is bound to: (element, entries as a map, whether all properties go under them). Not in the table, so
 * that no text can call it by name.
 */
export const MAP_PROJECTION = 'map projection'

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
    return boundedMap(projected)
  },
  { nulls: 'given' },
)
