// Where rows begin: the argument row, a key seek, an index seek, a label scan, all nodes.

import { Float } from '../../kernel/float.ts'
import { createChunk, type SymbolId } from '../store.ts'
import type { PropertyScalar, Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** One row: the frame as the caller has filled it in. */
export class ArgumentOperator implements PhysicalOperator {
  private pending = false

  open(): void {
    this.pending = true
  }

  next(): boolean {
    const pending = this.pending
    this.pending = false
    return pending
  }
}

/** Fetches the next chunk of node ids into its buffer. */
type FetchChunk = (run: ExecutionContext, from: number) => void

/** For each input row, every node id of a chunked list; with `goesOn` those behind the node from which the run goes on. */
class ChunkedNodeScan {
  readonly chunk = createChunk()
  private position = 0
  private readonly input: PhysicalOperator
  private readonly slot: number
  private readonly isResumed: boolean

  constructor(input: PhysicalOperator, slot: number, goesOn = false) {
    this.input = input
    this.slot = slot
    this.isResumed = goesOn
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    if (this.isResumed) run.isIncremental = true
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
  }

  next(run: ExecutionContext, fetch: FetchChunk): boolean {
    const chunk = this.chunk
    for (;;) {
      if (this.position < chunk.length) {
        run.frame[this.slot] = chunk.ids[this.position++]
        return true
      }
      if (chunk.more) fetch(run, chunk.next)
      else if (this.input.next(run)) fetch(run, this.isResumed && run.resumeAfter > 0 ? run.resumeAfter + 1 : 0)
      else return false
      this.position = 0
      run.budget.chargeSteps(chunk.length + 1)
    }
  }
}

/** Every node, or every node that carries a label. */
export class NodeScanOperator implements PhysicalOperator {
  private readonly scan: ChunkedNodeScan
  private readonly fetch: FetchChunk

  constructor(input: PhysicalOperator, slot: number, label: SymbolId | null, graph: number, goesOn?: boolean) {
    this.scan = new ChunkedNodeScan(input, slot, goesOn)
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

/** Candidates of an equality, from the index; of a label when the value is not a scalar; none for null. */
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
    goesOn?: boolean,
  ) {
    this.scan = new ChunkedNodeScan(input, slot, goesOn)
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

/**
 * The node with that type and external id. Where some nodes carry the label without being of that type, those are looked
 * through too, since an external id is only unique within a type.
 */
export class NodeUniqueIndexSeekOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
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
    this.input = input
    this.slot = slot
    this.label = label
    this.externalId = externalId
    this.graph = graph
    this.labelScan = new ChunkedNodeScan(new ArgumentOperator(), slot)
    const { chunk } = this.labelScan
    this.fetchLabelled = (run, from) => run.graphs[graph]!.nodesWithLabel(label, from, chunk)
  }

  open(run: ExecutionContext): void {
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
      if (snapshot.typedNodeCount(this.label) < snapshot.nodeCount(this.label)) {
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
