// The trust scores of the nodes of an explained decision, and the dimension that lowers each the most.
import { createChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../kernel/element-rules.ts'
import { Float } from '../kernel/float.ts'
import type { EntityName, ExplainedScore } from './explain-schema.ts'

/** Nodes whose scores an explanation shows. */
const SCORES_MAX = 20

/** The weights of the dimensions of the profile that scores a node type; null: no profile does. */
export type DimensionWeights = (nodeType: string) => ReadonlyMap<string, number> | null

/**
 * The scores of nodes, each once. A node without score is left out, and so is one that no snapshot has. `nodes` may name scores
 * too: they stand for their nodes.
 */
export function scoresOfNodes(
  nodes: readonly EntityName[],
  snapshots: Iterable<Snapshot>,
  weightsOf: DimensionWeights,
): ExplainedScore[] {
  const found: ExplainedScore[] = []
  const all = [...snapshots]
  const seen = new Set<string>()
  for (const { type, id } of nodes) {
    for (const snapshot of type === null || id === null ? [] : all) {
      const node = scoredNode(snapshot.findNode(snapshot.symbol('label', type!), id!), type!, snapshot)
      const owner = {
        type: snapshot.nodeField(node, 'type'),
        id: snapshot.nodeField(node, 'external_id'),
      } as EntityName
      const key = JSON.stringify(owner)
      const score = node === 0 || seen.has(key) ? 0 : neighbour(node, 'out', snapshot)
      if (score === 0 || found.length === SCORES_MAX) continue
      seen.add(key)
      found.push(scoreOf(owner, score, snapshot, weightsOf(owner.type ?? '')))
    }
  }
  return found
}

/** The node that a score belongs to; another node itself. */
function scoredNode(node: NodeId, type: string, snapshot: Snapshot): NodeId {
  return node !== 0 && type === TRUST_SCORE_LABEL ? neighbour(node, 'in', snapshot) : node
}

/** The node at the other end of the relationship between a node and its score, or 0. */
function neighbour(node: NodeId, direction: 'in' | 'out', snapshot: Snapshot): NodeId {
  const chunk = createChunk()
  const score = snapshot.symbol('label', TRUST_SCORE_LABEL)
  snapshot.neighbours(node, direction, snapshot.symbol('type', '_HAS'), 0, chunk)
  for (let i = 0; i < chunk.length; i++)
    if (direction === 'in' || snapshot.hasLabel(chunk.ids[i]!, score)) return chunk.ids[i]!
  return 0
}

function scoreOf(
  node: EntityName,
  score: NodeId,
  snapshot: Snapshot,
  weights: ReadonlyMap<string, number> | null,
): ExplainedScore {
  const values = new Map<string, number>()
  for (const [name, value] of snapshot.nodeProperties(score)) if (value instanceof Float) values.set(name, value.value)
  const present = [...values].filter(([name]) => name !== '_final_score')
  const total = present.reduce((sum, [name]) => sum + (weights?.get(name) ?? 0), 0)
  const dimensions = present
    .map(([name, value]) => {
      const weight = weights?.get(name) ?? null
      const loss = weight === null || total === 0 ? null : (weight * (1 - value)) / total
      return { name: name.toUpperCase(), value, weight, loss }
    })
    .sort((a, b) => (b.loss ?? 0) - (a.loss ?? 0) || a.value - b.value)
  const [lowest] = dimensions
  const isLowered = lowest !== undefined && (lowest.loss ?? 1 - lowest.value) > 0
  return {
    node,
    final_score: values.get('_final_score') ?? null,
    lowered_by: isLowered ? lowest.name : null,
    dimensions,
  }
}
