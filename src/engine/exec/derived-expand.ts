// DerivedExpand: a step over a relationship that a definition derives, by the table of the pairs that the run knows.
import type { BoundDerived } from '../bind/bound.ts'
import type { NodeId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The step, and the graph of its nodes. `direction`: `out` if `from` is the source of the definition. */
interface DerivedStep {
  readonly step: BoundDerived
  readonly graph: number
  readonly direction: 'out' | 'in'
}

/** Keeps the rows whose two nodes are a pair. */
export class DerivedExpandIntoOperator extends UnaryOperator {
  private readonly source: number
  private readonly target: number
  private readonly derived: DerivedStep

  constructor(input: PhysicalOperator, { from, to }: EndpointPair, derived: DerivedStep) {
    super(input)
    this.derived = derived
    const isForward = derived.direction === 'out'
    this.source = isForward ? from : to
    this.target = isForward ? to : from
  }

  next(run: ExecutionContext): boolean {
    const { step, graph } = this.derived
    while (this.input.next(run)) {
      const source = run.frame[this.source] as NodeId
      const target = run.frame[this.target] as NodeId
      if (source === 0 || target === 0) continue
      run.budget.chargeSteps(1)
      if (run.derived!.holds(step, run, graph, source, target)) return true
    }
    return false
  }
}

/** Each node that is paired with the node of the row. */
export class DerivedExpandAllOperator extends UnaryOperator {
  private readonly ends: EndpointPair
  private readonly derived: DerivedStep
  private nodes = new OrderedNodeSet()
  private at = 0
  private length = 0

  constructor(input: PhysicalOperator, ends: EndpointPair, derived: DerivedStep) {
    super(input)
    this.ends = ends
    this.derived = derived
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.at = 0
    this.length = 0
  }

  next(run: ExecutionContext): boolean {
    const { ends, derived } = this
    for (;;) {
      if (this.at < this.length) {
        run.frame[ends.to] = this.nodes.ids[this.at++]!
        run.budget.chargeSteps(1)
        return true
      }
      if (!this.input.next(run)) return false
      const from = run.frame[ends.from] as NodeId
      if (from === 0) continue
      this.nodes = run.derived!.nodes(derived.step, run, derived.graph, derived.direction, from)
      this.at = 0
      this.length = this.nodes.length
    }
  }
}
