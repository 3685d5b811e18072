// Values of paths, and of the list variables of quantified path patterns, from a start node and a list of relationships.
import type { NodeId, RelationshipId } from '../store.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'

/** Collects the elements of a path. Each relationship continues at the node that the one before has reached. */
export class PathBuilder {
  private readonly run: ExecutionContext
  private readonly graph: number
  private readonly nodes: NodeValue[]
  private readonly relationships: RelationshipValue[] = []
  private node: NodeId

  constructor(run: ExecutionContext, graph: number, start: NodeId) {
    this.run = run
    this.graph = graph
    this.node = start
    this.nodes = [new NodeValue(graph, start)]
  }

  /** Adds relationships and the nodes that they reach. */
  append(relationships: readonly RelationshipId[]): void {
    const { run, graph } = this
    const snapshot = run.graphs[graph]!
    run.budget.chargeSteps(relationships.length)
    for (const id of relationships) {
      const source = snapshot.relationshipSource(id)
      this.node = source === this.node ? snapshot.relationshipTarget(id) : source
      this.relationships.push(new RelationshipValue(graph, id))
      this.nodes.push(new NodeValue(graph, this.node))
    }
  }

  /** The path. */
  value(): PathValue {
    return new PathValue(this.nodes, this.relationships)
  }
}

/** A list variable of a quantified path pattern. */
export interface CompiledGroup {
  readonly slot: number
  readonly element: 'node' | 'relationship'
  /** The number of the element in one repetition, from the left. */
  readonly index: number
}

/** Fills the list variables from the trail of a pattern whose repetition has `hops` hops. */
export function fillGroups(
  run: ExecutionContext,
  graph: number,
  groups: readonly CompiledGroup[],
  start: NodeId,
  trail: readonly RelationshipId[],
  hops: number,
): void {
  if (groups.length === 0) return
  const { frame } = run
  const snapshot = run.graphs[graph]!
  run.budget.chargeSteps(trail.length * groups.length)
  const nodes: NodeId[] = [start]
  for (const id of trail) {
    const source = snapshot.relationshipSource(id)
    nodes.push(source === nodes.at(-1) ? snapshot.relationshipTarget(id) : source)
  }
  for (const { slot, element, index } of groups) {
    if (element === 'relationship') {
      const ids: RelationshipId[] = []
      for (let at = index; at < trail.length; at += hops) ids.push(trail[at]!)
      frame[slot] = ids
    } else {
      const values: Value[] = []
      for (let at = 0; at < trail.length; at += hops) values.push(new NodeValue(graph, nodes[at + index]!))
      frame[slot] = values
    }
  }
}
