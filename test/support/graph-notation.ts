// The arrow notation of scenarios as a graph of the reference interpreter, and printed.
import { Float } from '../../src/kernel/float.ts'
import {
  NotationError,
  type NotationGraph,
  type NotationValue,
  readGraphNotation,
} from '../../src/scenarios/graph-notation.ts'
import type { GraphNode, ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'

export { NotationError }

export function readGraph(text: string): ReferenceGraph {
  return referenceGraph(readGraphNotation(text))
}

export function referenceGraph(graph: NotationGraph): ReferenceGraph {
  const nodes = new Map(
    graph.nodes.map((node) => [
      node,
      { kind: 'node', ...node, properties: referenceProperties(node.properties) } as GraphNode,
    ]),
  )
  return {
    nodes: [...nodes.values()],
    relationships: graph.relationships.map(({ source, target, type, properties }) => ({
      kind: 'relationship',
      source: nodes.get(source) as GraphNode,
      target: nodes.get(target) as GraphNode,
      type,
      properties: referenceProperties(properties),
    })),
  }
}

function referenceProperties(properties: ReadonlyMap<string, NotationValue>): Map<string, ReferenceValue> {
  return new Map([...properties].map(([name, value]) => [name, referenceValue(value)]))
}

function referenceValue(value: NotationValue): ReferenceValue {
  if (value instanceof Float) return value.value
  return Array.isArray(value) ? value.map(referenceValue) : (value as ReferenceValue)
}

// ---------------------------------------------------------------- writing

const word = (name: string): string => (/^[\p{L}\p{N}_][\p{L}\p{N}_-]*$/u.test(name) ? name : quote(name))
const quote = (text: string): string => `'${text.replace(/['\\]/g, '\\$&')}'`

/** A value as both the notation and Cypher write it: 1 and 1.0 stay distinct. */
export function printValue(value: ReferenceValue): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : String(value)
  if (Array.isArray(value)) return `[${value.map(printValue).join(', ')}]`
  if (value instanceof Map) return writeMap(value)
  return String(value)
}

const writeMap = (map: ReadonlyMap<string, ReferenceValue>): string =>
  `{${[...map].map(([key, value]) => `${word(key)}: ${printValue(value)}`).join(', ')}}`

/** Nodes first, one per line, then relationships. */
export function printGraph(graph: ReferenceGraph): string {
  const several = new Set(
    graph.nodes.map((node) => node.externalId).filter((id, index, all) => all.indexOf(id) !== index),
  )
  const short = (node: GraphNode): string =>
    `(${word(node.externalId)}${several.has(node.externalId) ? `:${word(node.type)}` : ''})`
  const nodes = graph.nodes.map((node) => {
    const properties = new Map(node.properties)
    if (node.isIdentity) properties.set('identity', true)
    const labels = [node.type, ...node.labels].map((label) => `:${word(label)}`).join('')
    return `(${word(node.externalId)}${labels}${properties.size > 0 ? ` ${writeMap(properties)}` : ''})`
  })
  const relationships = graph.relationships.map(({ source, target, type, properties }) => {
    return `${short(source)}-[:${word(type)}${properties.size > 0 ? ` ${writeMap(properties)}` : ''}]->${short(target)}`
  })
  return [...nodes, ...relationships].join('\n')
}
