// Whether two known nodes hang together by a chain, met in the middle; and which nodes hang at the end of one.
import type { NodeId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type IntermediateNode, LinkTraversal, type TraversalLink } from './link-traversal.ts'
import { OrderedNodeSet } from './node-set.ts'
import type { PhysicalOperator } from './physical-operator.ts'

export interface EndpointPair {
  readonly from: number
  readonly to: number
}

/** `stops[i]` stands between link i and the next. */
function linkTraversals(links: readonly TraversalLink[], stops: readonly IntermediateNode[]): readonly LinkTraversal[] {
  return links.map((link, i) => new LinkTraversal(link, stops[i - 1] ?? null, stops[i] ?? null))
}

/** Keeps the rows whose two nodes are connected. It walks from whichever side has less to walk over, link by link. */
export class BidirectionalExpandIntoOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: EndpointPair
  private readonly links: readonly LinkTraversal[]
  private fromFrontier = new OrderedNodeSet()
  private toFrontier = new OrderedNodeSet()
  private spare = new OrderedNodeSet()

  constructor(
    input: PhysicalOperator,
    slots: EndpointPair,
    links: readonly TraversalLink[],
    stops: readonly IntermediateNode[],
  ) {
    this.input = input
    this.slots = slots
    this.links = linkTraversals(links, stops)
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
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
        if (spare.length === 0) return false
      } else {
        links[last--]!.expand(run, toFrontier, spare, false)
        this.toFrontier = spare
        this.spare = toFrontier
        if (spare.length === 0) return false
      }
    }
    return links[first]!.areConnected(run, this.fromFrontier, this.toFrontier)
  }

  private isFromSideCheaper(run: ExecutionContext, first: number, last: number): boolean {
    const { fromFrontier, toFrontier, links } = this
    return links[first]!.cost(run, fromFrontier, true) <= links[last]!.cost(run, toFrontier, false)
  }
}

/** For each row, every node at the end of the chain, once. */
export class PruningExpandOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: EndpointPair
  private readonly links: readonly LinkTraversal[]
  private reached = new OrderedNodeSet()
  private spare = new OrderedNodeSet()
  private position = 0

  constructor(
    input: PhysicalOperator,
    slots: EndpointPair,
    links: readonly TraversalLink[],
    stops: readonly IntermediateNode[],
  ) {
    this.input = input
    this.slots = slots
    this.links = linkTraversals(links, stops)
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.reached.clear()
    this.position = 0
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.position < this.reached.length) {
        run.frame[this.slots.to] = this.reached.ids[this.position++]
        return true
      }
      if (!this.input.next(run)) return false
      const from = run.frame[this.slots.from] as number
      if (from !== 0) this.expand(run, from)
    }
  }

  private expand(run: ExecutionContext, from: NodeId): void {
    this.position = 0
    this.reached.clear()
    this.reached.add(from, run.budget)
    for (const span of this.links) {
      const { reached, spare } = this
      span.expand(run, reached, spare, true)
      this.reached = spare
      this.spare = reached
      if (spare.length === 0) return
    }
  }
}
