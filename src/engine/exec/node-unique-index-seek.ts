// NodeUniqueIndexSeek: the nodes with a label and an external id, from the key index.
import type { SymbolId } from '../store.ts'
import { ArgumentOperator } from './argument.ts'
import { ChunkedNodeScan, type FetchChunk } from './chunked-node-scan.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/**
 * The node with that type and external id, for each input row. An external id is unique within a type only. If nodes of
 * another type carry the label, they are scanned too.
 */
export class NodeUniqueIndexSeekOperator extends UnaryOperator {
  private readonly slot: number
  private readonly label: SymbolId
  private readonly externalId: CompiledExpression
  private readonly graph: number
  private readonly labelScan: ChunkedNodeScan
  private readonly fetchLabelled: FetchChunk
  private soughtId = ''
  private found = 0
  private isScanning = false

  constructor(input: PhysicalOperator, slot: number, label: SymbolId, externalId: CompiledExpression, graph: number) {
    super(input)
    this.slot = slot
    this.label = label
    this.externalId = externalId
    this.graph = graph
    this.labelScan = new ChunkedNodeScan(new ArgumentOperator(), slot)
    const { chunk } = this.labelScan
    this.fetchLabelled = (run, from) => run.graphs[graph]!.nodesWithLabel(label, from, chunk)
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.isScanning = false
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.isScanning) {
        if (this.nextOfOtherType(run)) return true
        this.isScanning = false
      }
      if (!this.input.next(run)) return false
      run.budget.chargeSteps(1)
      const value = this.externalId(run)
      if (typeof value !== 'string') continue
      this.soughtId = value
      const snapshot = run.graphs[this.graph]!
      this.found = snapshot.findNode(this.label, value)
      if (!snapshot.isOnlyType(this.label)) {
        this.isScanning = true
        this.labelScan.open(run)
      }
      if (this.found === 0) continue
      run.frame[this.slot] = this.found
      return true
    }
  }

  private nextOfOtherType(run: ExecutionContext): boolean {
    const snapshot = run.graphs[this.graph]!
    while (this.labelScan.next(run, this.fetchLabelled)) {
      const node = run.frame[this.slot] as number
      if (node !== this.found && snapshot.nodeField(node, 'external_id') === this.soughtId) return true
    }
    return false
  }
}
