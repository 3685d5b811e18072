// The data schema by the oracle: node and relationship types with their properties and counts.
import type { NaiveGraph, NaiveProperty, NaiveStoredValue } from './graph.ts'

type NaiveProperties = ReadonlyMap<string, NaiveProperty>

export function naiveSchema(graph: NaiveGraph): object {
  const isOwn = (type: string): boolean => type.startsWith('_')
  const nodes = [...graph.nodes.values()].filter(({ type }) => !isOwn(type))
  const relationships = [...graph.relationships.values()].filter(
    ({ type, source, target }) => ![type, source.type, target.type].some(isOwn),
  )
  const identities = (count: number) => (count === 0 ? [] : [{ name: 'identity', count }])
  return {
    nodes: Object.fromEntries(
      grouped(nodes, ({ type }) => type).map(([type, all]) => {
        const labels = all.flatMap((node) => [...node.labels].filter((label) => label !== type))
        const metadata = {
          node_count: all.length,
          properties: schemasOf(all.map(({ properties }) => properties)),
          system_labels: identities(all.filter(({ isIdentity }) => isIdentity).length),
          user_defined_labels: grouped(labels, String).map(([name, { length }]) => ({ name, count: length })),
        }
        return [type, { metadata }]
      }),
    ),
    edges: grouped(relationships, ({ source, type, target }) => `${source.type} ${type} ${target.type}`).map(
      ([key, all]) => {
        const [source, relation, target] = key.split(' ')
        const metadata = { count: all.length, properties: schemasOf(all.map(({ properties }) => properties)) }
        return { source, relation, target, directed: true, metadata }
      },
    ),
  }
}

function schemasOf(all: readonly NaiveProperties[]): object {
  const properties = grouped(
    all.flatMap((one) => [...one]),
    ([name]) => name,
  )
  return Object.fromEntries(
    properties.map(([name, found]) => {
      const fields = grouped(
        found.flatMap(([, { metadata }]) => Object.entries(metadata)),
        ([field]) => field,
      )
      const metadata = fields.map(([field, values]) => [field, counted(values.map(([, value]) => value))])
      return [name, { ...counted(found.map(([, { value }]) => value)), metadata: Object.fromEntries(metadata) }]
    }),
  )
}

function counted(values: readonly NaiveStoredValue[]): object {
  const types = grouped(values, typeName).map(([type, { length }]) => ({ type, count: length }))
  return { count: values.length, types }
}

function typeName(value: NaiveStoredValue): string {
  if (Array.isArray(value)) return value.length === 0 ? 'array' : `array of ${typeName(value[0] as NaiveStoredValue)}`
  return Number.isInteger(value) ? 'integer' : typeof value
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return [...groups]
}
