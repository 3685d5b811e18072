// AllNodesScan and NodeByLabelScan: every node of a graph, or every node with a label.
import type { SymbolId } from '../store.ts'
import { ChunkedNodeScan, type FetchChunk } from './chunked-node-scan.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** Every node with the label, in ascending order of ids, for each input row; every node if the label is null. */
export class NodeScanOperator implements PhysicalOperator {
  private readonly scan: ChunkedNodeScan
  private readonly fetch: FetchChunk

  constructor(input: PhysicalOperator, slot: number, label: SymbolId | null, graph: number, isResumed?: boolean) {
    this.scan = new ChunkedNodeScan(input, slot, isResumed)
    const { chunk } = this.scan
    this.fetch =
      label === null
        ? (run, from) => run.graphs[graph]!.allNodes(from, chunk)
        : (run, from) => run.graphs[graph]!.nodesWithLabel(label, from, chunk)
  }

  open(run: ExecutionContext): void {
    this.scan.open(run)
  }

  next(run: ExecutionContext): boolean {
    return this.scan.next(run, this.fetch)
  }
}
