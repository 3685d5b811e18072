// The names in a data schema, as the check for unknown names reads them.
import type { KnownSymbols } from '../../engine/unknown-symbols.ts'
import { nodeFieldNames } from '../../engine/value/element-properties.ts'
import type { DataSchema } from '../../graph-statistics/schema.ts'

/** Labels and types, relationship types and properties of the data. */
export interface DataNames {
  readonly label: ReadonlySet<string>
  readonly type: ReadonlySet<string>
  readonly property: ReadonlySet<string>
}

/** The names of a data schema. */
export function namesIn({ graph: { nodes, edges } }: DataSchema): DataNames {
  const ofNodes = Object.entries(nodes)
  return {
    label: new Set(
      ofNodes.flatMap(([type, { metadata }]) => [type, ...metadata.user_defined_labels.map(({ name }) => name)]),
    ),
    type: new Set(edges.map(({ relation }) => relation)),
    property: new Set([
      ...ofNodes.flatMap(([, { metadata }]) => Object.keys(metadata.properties)),
      ...edges.flatMap(({ metadata }) => Object.keys(metadata.properties)),
    ]),
  }
}

/** The own fields of nodes, which every graph has. */
export const ownFields: readonly string[] = nodeFieldNames

/** The names as those of a graph. */
export function asKnownSymbols(names: DataNames): KnownSymbols {
  return { symbol: (kind, name) => (names[kind].has(name) ? 1 : 0), symbolNames: (kind) => names[kind] }
}
