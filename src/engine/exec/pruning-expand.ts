// PruningExpand: the distinct nodes at the end of a chain of relationships.
import type { NodeId } from '../store.ts'
import type { ChainTraversal, IntermediateNode, TraversalLink } from './chain-link.ts'
import { linkTraversals } from './chain-traversals.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Every node at the end of the chain, once per input row. */
export class PruningExpandOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly links: readonly ChainTraversal[]
  private reached = new OrderedNodeSet()
  private spare = new OrderedNodeSet()
  private position = 0

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

  override open(run: ExecutionContext): void {
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
    for (const link of this.links) {
      const { reached, spare } = this
      link.expand(run, reached, spare, true)
      this.reached = spare
      this.spare = reached
      if (spare.length === 0) return
    }
  }
}
