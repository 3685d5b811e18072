// The meaning of definitions: the least set of pairs for which a body has a row, computed by running every body over the whole graph
// until nothing is added, one layer after the other. The pairs become relationships of the reference graph.
import type { DefinitionEnd, DefinitionText } from '../../../grammar/ast.ts'
import { parseModel } from '../../../grammar/index.ts'
import type { GeneratedModel } from '../../generate/model.ts'
import { labelsOf, matchesLabels } from './expression.ts'
import { Interpreter } from './interpreter.ts'
import type { GraphNode, GraphRelationship, ReferenceGraph, ReferenceValue } from './values.ts'

/** The graph with a relationship for each pair of each definition. */
export function withDerived(
  graph: ReferenceGraph,
  { text, layers }: GeneratedModel,
  parameters: ReadonlyMap<string, ReferenceValue>,
): ReferenceGraph {
  const parsed = parseModel(text)
  if (!parsed.ok) throw new Error(`does not parse: ${parsed.diagnostics[0]?.message}\n${text}`)
  const definitions = new Map(parsed.model.definitions.map((each) => [each.name.text, each]))
  const derivedTypes = [...definitions.keys()]
  let derived: GraphRelationship[] = []
  for (const layer of layers) {
    for (let size = -1; size < derived.length; ) {
      size = derived.length
      for (const name of layer) {
        const whole = { nodes: graph.nodes, relationships: [...graph.relationships, ...derived], derivedTypes }
        const kept = derived.filter(({ type }) => type !== name)
        derived = [...kept, ...pairsOf(definitions.get(name)!, whole, parameters)]
      }
    }
  }
  return { nodes: graph.nodes, relationships: [...graph.relationships, ...derived], derivedTypes }
}

function pairsOf(
  { name, source, target, body }: DefinitionText,
  graph: ReferenceGraph,
  parameters: ReadonlyMap<string, ReferenceValue>,
): GraphRelationship[] {
  const interpreter = new Interpreter(graph, parameters)
  const nodesOf = ({ labels }: DefinitionEnd): readonly GraphNode[] =>
    graph.nodes.filter((node) => labels === null || matchesLabels(labels, labelsOf(node)))
  return nodesOf(source).flatMap((from) =>
    nodesOf(target).flatMap((to) => {
      const ends = new Map([
        [source.variable.text, from],
        [target.variable.text, to],
      ])
      return interpreter.run(body, ends).length > 0 ? [pair(name.text, from, to)] : []
    }),
  )
}

function pair(type: string, source: GraphNode, target: GraphNode): GraphRelationship {
  return { kind: 'relationship', source, target, type, properties: new Map(), isDerived: true }
}
