// PruningExpand: the distinct nodes at the end of a chain of relationships. A chain of one repeated step is a breadth-first
// search (BFSPruningVarExpand in Neo4j).
import type { NodeId } from '../store.ts'
import { type ChainTraversal, expandAll, type IntermediateNode, type TraversalLink } from './chain-link.ts'
import { linkTraversals } from './chain-traversals.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Every node at the end of the chain, once per input row. The last link is expanded node by node, as rows are wanted. */
export class PruningExpandOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly links: readonly ChainTraversal[]
  private readonly last: ChainTraversal
  private readonly start = new OrderedNodeSet()
  /** The ends that are found, null before the first row, and the index of the next. */
  private ends: OrderedNodeSet | null = null
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
    this.last = this.links.at(-1)!
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.ends = null
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      const { ends } = this
      if (ends !== null) {
        if (this.position < ends.length) {
          run.frame[this.slots.to] = ends.ids[this.position++]
          return true
        }
        if (this.last.expandMore(run, true, false)) continue
      }
      if (!this.input.next(run)) return false
      const from = run.frame[this.slots.from] as NodeId
      this.ends = from === 0 ? null : this.begin(run, from)
      this.position = 0
    }
  }

  countRows(run: ExecutionContext): number {
    let count = 0
    while (this.input.next(run)) {
      const from = run.frame[this.slots.from] as NodeId
      if (from === 0) continue
      const ends = this.begin(run, from)
      while (this.last.expandMore(run, true, true));
      run.budget.chargeSteps(ends.length)
      count += ends.length
    }
    return count
  }

  private begin(run: ExecutionContext, from: NodeId): OrderedNodeSet {
    const { links, start } = this
    start.clear()
    start.add(from, run.budget)
    let nodes = start
    for (let i = 0; i < links.length - 1; i++) nodes = expandAll(run, links[i]!, nodes, true)
    return this.last.begin(run, nodes, true)
  }
}
