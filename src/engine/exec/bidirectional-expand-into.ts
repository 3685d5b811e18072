// BidirectionalExpandInto: whether two known nodes are connected by a chain of relationships, searched from both ends.
import type { NodeId } from '../store.ts'
import type { ChainTraversal, IntermediateNode, TraversalLink } from './chain-link.ts'
import { linkTraversals } from './chain-traversals.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Keeps the rows whose two nodes are connected. Link by link, it expands the end with the lower estimated cost. */
export class BidirectionalExpandIntoOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly links: readonly ChainTraversal[]
  private fromFrontier = new OrderedNodeSet()
  private toFrontier = new OrderedNodeSet()
  private spare = new OrderedNodeSet()

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
    const { links } = this
    this.fromFrontier.clear()
    this.fromFrontier.add(from, run.budget)
    this.toFrontier.clear()
    this.toFrontier.add(to, run.budget)
    let first = 0
    let last = links.length - 1
    while (first < last) {
      const { fromFrontier, toFrontier, spare } = this
      if (this.isFromSideCheaper(run, first, last)) {
        links[first++]!.expand(run, fromFrontier, spare, true)
        this.fromFrontier = spare
        this.spare = fromFrontier
      } else {
        links[last--]!.expand(run, toFrontier, spare, false)
        this.toFrontier = spare
        this.spare = toFrontier
      }
      if (spare.length === 0) return false
    }
    return links[first]!.areConnected(run, this.fromFrontier, this.toFrontier)
  }

  private isFromSideCheaper(run: ExecutionContext, first: number, last: number): boolean {
    const { fromFrontier, toFrontier, links } = this
    return links[first]!.cost(run, fromFrontier, true) <= links[last]!.cost(run, toFrontier, false)
  }
}
