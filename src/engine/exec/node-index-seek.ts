// NodeIndexSeek: the nodes with a label and a property value, from the property index.
import { Float } from '../../kernel/float.ts'
import type { SymbolId } from '../store.ts'
import type { PropertyScalar, Value } from '../value/value.ts'
import { ChunkedNodeScan, type FetchChunk } from './chunked-node-scan.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/**
 * Candidates of an equality, for each input row. The index holds scalars only: for another value these are all nodes with
 * the label, and none for null. A filter above checks the equality.
 */
export class NodeIndexSeekOperator implements PhysicalOperator {
  private readonly scan: ChunkedNodeScan
  private readonly fetch: FetchChunk
  private soughtValue: Value = null

  constructor(
    input: PhysicalOperator,
    slot: number,
    label: SymbolId,
    property: SymbolId,
    value: CompiledExpression,
    graph: number,
    isResumed?: boolean,
  ) {
    this.scan = new ChunkedNodeScan(input, slot, isResumed)
    const { chunk } = this.scan
    this.fetch = (run, from) => {
      if (!chunk.more) this.soughtValue = value(run)
      if (this.soughtValue === null) {
        chunk.length = 0
        chunk.more = false
        return
      }
      const snapshot = run.graphs[graph]!
      if (isScalar(this.soughtValue)) snapshot.nodesWithProperty(label, property, this.soughtValue, from, chunk)
      else snapshot.nodesWithLabel(label, from, chunk)
    }
  }

  open(run: ExecutionContext): void {
    this.scan.open(run)
  }

  next(run: ExecutionContext): boolean {
    return this.scan.next(run, this.fetch)
  }
}

function isScalar(value: Value): value is PropertyScalar {
  return typeof value !== 'object' || value instanceof Float
}
