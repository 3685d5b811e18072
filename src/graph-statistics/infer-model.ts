// Writes the declared types that the data of a project has, from its data schema: the text of a model to begin with.
import { isReservedName } from '../kernel/element-rules.ts'
import { cypherName } from '../kernel/text/cypher-names.ts'
import type { DataSchema, PropertySchema } from './schema.ts'

/** Further labels of one node type of which each combination is written as a type of its own. */
const OPTIONAL_LABELS_MAX = 3

/** The names of types of values in a data schema, and in a model. */
const valueTypes: ReadonlyMap<string, string> = new Map([
  ['string', 'STRING'],
  ['integer', 'INTEGER'],
  ['number', 'FLOAT'],
  ['boolean', 'BOOLEAN'],
  ['date', 'DATE'],
  ['localtime', 'LOCAL TIME'],
  ['time', 'ZONED TIME'],
  ['localdatetime', 'LOCAL DATETIME'],
  ['datetime', 'ZONED DATETIME'],
  ['duration', 'DURATION'],
])

/** The text of a model with the types of the data; null: nothing was captured. A property that all elements have is NOT NULL. */
export function inferModel({ graph: { nodes, edges } }: DataSchema): string | null {
  const types = Object.entries(nodes).filter(([type]) => !isReservedName(type))
  if (types.length === 0) return null
  const ofNodes = types.flatMap(([type, { metadata }]) => {
    const properties = propertiesText(metadata.properties, metadata.node_count)
    return labelSets(type, metadata.user_defined_labels, metadata.node_count).map((labels) => {
      return `(:${labels.map(cypherName).join('&')}${properties})`
    })
  })
  const known = new Set(types.map(([type]) => type))
  // Relationships of one type with the same properties are one declaration.
  const ends = new Map<string, { readonly sources: Set<string>; readonly targets: Set<string>; text: string }>()
  for (const { source, target, relation, metadata } of edges) {
    if (isReservedName(relation) || !known.has(source) || !known.has(target)) continue
    const text = `-[:${cypherName(relation)}${propertiesText(metadata.properties, metadata.count)}]->`
    const key = `${source} ${text}`
    const found = ends.get(key) ?? { sources: new Set([source]), targets: new Set(), text }
    found.targets.add(target)
    ends.set(key, found)
  }
  const joined = new Map<string, { readonly sources: Set<string>; readonly targets: Set<string>; text: string }>()
  for (const { sources, targets, text } of ends.values()) {
    const key = `${text} ${[...targets].sort().join(' ')}`
    const found = joined.get(key) ?? { sources: new Set(), targets, text }
    for (const source of sources) found.sources.add(source)
    joined.set(key, found)
  }
  const ofRelationships = [...joined.values()].map(
    ({ sources, targets, text }) => `(:${alternatives(sources)})${text}(:${alternatives(targets)})`,
  )
  return `${[...ofNodes, ...ofRelationships].join(',\n')}\n`
}

/** The sets of labels of the nodes of a type: all have the labels that each has, and some the others. */
function labelSets(
  type: string,
  labels: readonly { readonly name: string; readonly count: number }[],
  nodes: number,
): readonly (readonly string[])[] {
  const own = labels.filter(({ name }) => name !== type && !isReservedName(name))
  const always = [type, ...own.filter(({ count }) => count >= nodes).map(({ name }) => name)]
  const optional = own.filter(({ count }) => count < nodes).map(({ name }) => name)
  if (optional.length > OPTIONAL_LABELS_MAX) return [always, ...optional.map((name) => [...always, name])]
  const sets: (readonly string[])[] = [always]
  for (const name of optional) sets.push(...sets.map((set) => [...set, name]))
  return sets
}

function propertiesText(properties: Readonly<Record<string, PropertySchema>>, elements: number): string {
  const texts = Object.entries(properties).map(([name, { count, types }]) => {
    const names = [...new Set(types.map(({ type }) => valueTypeText(type)))]
    const isRequired = count >= elements && !types.some(({ type }) => type === 'null')
    const found = names.includes('ANY') || names.length === 0 ? ['ANY'] : withoutNarrower(names)
    return `${cypherName(name)} ${found.map((one) => (isRequired ? `${one} NOT NULL` : one)).join(' | ')}`
  })
  return texts.length === 0 ? '' : ` {${texts.join(', ')}}`
}

/** FLOAT includes integers. */
function withoutNarrower(names: readonly string[]): readonly string[] {
  return names.includes('FLOAT') ? names.filter((name) => name !== 'INTEGER') : names
}

/** ANY for what a resolver supplies, and for a list whose items are not known. */
function valueTypeText(type: string): string {
  const items = /^array of (.*)$/.exec(type)?.[1]
  if (items === undefined) return valueTypes.get(type) ?? 'ANY'
  return `LIST<${valueTypes.get(items) ?? 'ANY'}>`
}

function alternatives(names: ReadonlySet<string>): string {
  return [...names].map(cypherName).join('|')
}
