// Chooses the traversal of each link of a chain.
import type { ChainTraversal, IntermediateNode, TraversalLink } from './chain-link.ts'
import { LinkTraversal } from './link-traversal.ts'
import { RepetitionTraversal } from './repetition-traversal.ts'

/** Creates the traversals of a chain. `intermediates[i]` is the node between link i and link i + 1. */
export function linkTraversals(
  links: readonly TraversalLink[],
  intermediates: readonly IntermediateNode[],
): readonly ChainTraversal[] {
  return links.map((link, i) => {
    const [source, target] = [intermediates[i - 1] ?? null, intermediates[i] ?? null]
    return link.hops.further.length === 0
      ? new LinkTraversal(link, source, target)
      : new RepetitionTraversal(link, source, target)
  })
}
