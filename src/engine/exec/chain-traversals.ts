// Chooses the traversal of each link of a chain.
import { RepetitionTraversal } from './breadth-first-search.ts'
import type { ChainTraversal, IntermediateNode, TraversalLink } from './chain-link.ts'
import { HopTraversal } from './hop-traversal.ts'

/** Creates the traversals of a chain. `intermediates[i]` is the node between link i and link i + 1. */
export function linkTraversals(
  links: readonly TraversalLink[],
  intermediates: readonly IntermediateNode[],
): readonly ChainTraversal[] {
  return links.map((link, i) => {
    const [source, target] = [intermediates[i - 1] ?? null, intermediates[i] ?? null]
    const { min, max, further } = link.hops
    const isHop = min === 1 && max === 1 && further.length === 0
    return isHop ? new HopTraversal(link, source, target) : new RepetitionTraversal(link, source, target)
  })
}
