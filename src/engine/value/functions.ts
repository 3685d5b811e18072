// The functions that a text can call: one table, looked up without regard to case. A function sees values and the run's
// snapshots, nothing else; what is not in the table cannot be called.
import { propertiesOf } from './element.ts'
import { elementFunctions } from './functions/element.ts'
import { aliases, type CypherFunction, define } from './functions/function.ts'
import { graphFunctions } from './functions/graph.ts'
import { listFunctions } from './functions/list.ts'
import { mathFunctions } from './functions/math.ts'
import { scalarFunctions } from './functions/scalar.ts'
import { stringFunctions } from './functions/string.ts'
import { temporalFunctions } from './functions/temporal.ts'
import type { Value } from './value.ts'
import { boundedMap } from './weight.ts'

const table = new Map<string, CypherFunction>()
const sections = [
  scalarFunctions,
  stringFunctions,
  listFunctions,
  mathFunctions,
  elementFunctions,
  temporalFunctions,
  graphFunctions,
]
for (const entry of sections.flat()) table.set(entry.name.toLowerCase(), entry)
for (const [alias, name] of aliases) table.set(alias.toLowerCase(), table.get(name.toLowerCase())!)

export function functionNamed(name: string): CypherFunction | undefined {
  return table.get(name.toLowerCase())
}

/** In the table's own spelling, aliases left out. */
export function functionNames(): readonly string[] {
  return [...new Set([...table.values()].map((entry) => entry.name))]
}

/**
 * What `n {.a, .*}` is bound to: (element, entries as a map, whether all properties go under them). Not in the table, so
 * that no text can call it by name.
 */
export const MAP_PROJECTION = 'map projection'

export const mapProjection = define(
  MAP_PROJECTION,
  3,
  [],
  'map',
  (run, element, entries, all) => {
    if (element === null) return null
    const own = entries as ReadonlyMap<string, Value>
    if (all !== true) return own
    const projected = new Map<string, Value>()
    for (const entries of [propertiesOf(run, 'map projection', element), own]) {
      for (const [key, value] of entries) {
        run.budget.touch(1)
        projected.set(key, value)
      }
    }
    return boundedMap(projected)
  },
  { nulls: 'given' },
)
