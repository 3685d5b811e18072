// BidirectionalExpandInto: whether two known nodes are connected by a chain of relationships, searched from both ends.
import type { NodeId } from '../store.ts'
import { type ChainTraversal, expandAll, type IntermediateNode, type TraversalLink } from './chain-link.ts'
import { linkTraversals } from './chain-traversals.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Keeps the rows whose two nodes are connected. Link by link, it expands the end with the lower estimated cost. */
export class BidirectionalExpandIntoOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly links: readonly ChainTraversal[]
  private readonly fromStart = new OrderedNodeSet()
  private readonly toStart = new OrderedNodeSet()

  /** `intermediates[i]` is the node between link i and link i + 1. */
  constructor(
    input: PhysicalOperator,
    slots: EndpointPair,
    links: readonly TraversalLink[],
    intermediates: readonly IntermediateNode[],
  ) {
    super(input)
    this.slots = slots
    this.links = linkTraversals(links, intermediates)
  }

  next(run: ExecutionContext): boolean {
    while (this.input.next(run)) {
      const from = run.frame[this.slots.from] as number
      const to = run.frame[this.slots.to] as number
      if (from !== 0 && to !== 0 && this.areConnected(run, from, to)) return true
    }
    return false
  }

  private areConnected(run: ExecutionContext, from: NodeId, to: NodeId): boolean {
    const { links, fromStart, toStart } = this
    fromStart.clear()
    fromStart.add(from, run.budget)
    toStart.clear()
    toStart.add(to, run.budget)
    let fromFrontier = fromStart
    let toFrontier = toStart
    let first = 0
    let last = links.length - 1
    while (first < last) {
      const isFromSide = links[first]!.cost(run, fromFrontier, true) <= links[last]!.cost(run, toFrontier, false)
      if (isFromSide) fromFrontier = expandAll(run, links[first++]!, fromFrontier, true)
      else toFrontier = expandAll(run, links[last--]!, toFrontier, false)
      if ((isFromSide ? fromFrontier : toFrontier).length === 0) return false
    }
    return links[first]!.areConnected(run, fromFrontier, toFrontier)
  }
}
