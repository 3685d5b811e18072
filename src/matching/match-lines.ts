// The matches of a pipeline as lines of JSON, read from the graph while they are sent.

import type { StoredDocument } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { NodeId } from '../engine/store.ts'
import { writeJson } from '../kernel/json/json.ts'
import { typesOf } from './entity-matching-pipeline.ts'
import { type MatchBatch, type MatchedGraphs, readMatches } from './node-batches.ts'
import { onlyOwn } from './same-as.ts'

/** Source nodes of a step. A step takes about a millisecond, because it runs on the event loop of the serving process. */
const STEP_NODES = 64

/**
 * Yields the relationships of a pipeline as lines, in chunks; the last line has their number. Each step reads one snapshot, so that a
 * run in progress may change the graph between the steps.
 */
export async function* matchLines(
  { nodes, global }: MatchedGraphs,
  pipeline: StoredDocument,
): AsyncGenerator<string, void> {
  const wanted = { types: typesOf(pipeline), owns: onlyOwn(pipeline.id) }
  let count = 0
  for (const graph of global === null ? nodes : [...nodes, global]) {
    for (let from: NodeId | null = 0; from !== null; ) {
      const begin: NodeId = from
      const { matches, next }: MatchBatch = await readGraph(graph, (snapshot) =>
        readMatches(snapshot, wanted, begin, STEP_NODES),
      )
      from = next
      count += matches.length
      if (matches.length > 0) {
        yield matches
          .map(({ source, target, properties }) => {
            const { pipeline_id: _, ...others } = Object.fromEntries(properties)
            return `${writeJson({ source_external_id: source, target_external_id: target, ...others })}\n`
          })
          .join('')
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  yield `${JSON.stringify({ matched_pairs: count })}\n`
}
