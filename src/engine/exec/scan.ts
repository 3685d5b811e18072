// Where rows begin: the argument row, a key seek, an index seek, a label scan, all nodes.

import { Float } from '../../kernel/float.ts'
import { emptyChunk, type SymbolId } from '../store.ts'
import type { PropertyScalar, Value } from '../value/value.ts'
import type { Evaluate, Run } from './context.ts'
import type { Operator } from './operator.ts'

/** One row: the frame as the caller has filled it in. */
export class ArgumentOperator implements Operator {
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
type Fetch = (run: Run, from: number) => void

/** For each input row, every node id of a chunked list; with `goesOn` those behind the node from which the run goes on. */
class ChunkScan {
  readonly chunk = emptyChunk()
  private position = 0
  private readonly input: Operator
  private readonly slot: number
  private readonly goesOn: boolean

  constructor(input: Operator, slot: number, goesOn = false) {
    this.input = input
    this.slot = slot
    this.goesOn = goesOn
  }

  open(run: Run): void {
    this.input.open(run)
    if (this.goesOn) run.isLazy = true
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
  }

  next(run: Run, fetch: Fetch): boolean {
    const chunk = this.chunk
    for (;;) {
      if (this.position < chunk.length) {
        run.frame[this.slot] = chunk.ids[this.position++]
        return true
      }
      if (chunk.more) fetch(run, chunk.next)
      else if (this.input.next(run)) fetch(run, this.goesOn && run.after > 0 ? run.after + 1 : 0)
      else return false
      this.position = 0
      run.budget.touch(chunk.length + 1)
    }
  }
}

/** Every node, or every node that carries a label. */
export class NodeScan implements Operator {
  private readonly scan: ChunkScan
  private readonly fetch: Fetch

  constructor(input: Operator, slot: number, label: SymbolId | null, graph: number, goesOn?: boolean) {
    this.scan = new ChunkScan(input, slot, goesOn)
    const { chunk } = this.scan
    this.fetch =
      label === null
        ? (run, from) => run.graphs[graph]!.allNodes(from, chunk)
        : (run, from) => run.graphs[graph]!.nodesWithLabel(label, from, chunk)
  }

  open(run: Run): void {
    this.scan.open(run)
  }

  next(run: Run): boolean {
    return this.scan.next(run, this.fetch)
  }
}

/** Candidates of an equality, from the index; of a label when the value is not a scalar; none for null. */
export class PropertySeek implements Operator {
  private readonly scan: ChunkScan
  private readonly fetch: Fetch
  private wanted: Value = null

  constructor(
    input: Operator,
    slot: number,
    label: SymbolId,
    property: SymbolId,
    value: Evaluate,
    graph: number,
    goesOn?: boolean,
  ) {
    this.scan = new ChunkScan(input, slot, goesOn)
    const { chunk } = this.scan
    this.fetch = (run, from) => {
      if (!chunk.more) this.wanted = value(run)
      if (this.wanted === null) {
        chunk.length = 0
        chunk.more = false
        return
      }
      const snapshot = run.graphs[graph]!
      if (isScalar(this.wanted)) snapshot.nodesWithProperty(label, property, this.wanted, from, chunk)
      else snapshot.nodesWithLabel(label, from, chunk)
    }
  }

  open(run: Run): void {
    this.scan.open(run)
  }

  next(run: Run): boolean {
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
export class KeySeek implements Operator {
  private readonly input: Operator
  private readonly slot: number
  private readonly label: SymbolId
  private readonly externalId: Evaluate
  private readonly graph: number
  private readonly others: ChunkScan
  private readonly fetchOthers: Fetch
  private wanted = ''
  private found = 0
  private searching = false

  constructor(input: Operator, slot: number, label: SymbolId, externalId: Evaluate, graph: number) {
    this.input = input
    this.slot = slot
    this.label = label
    this.externalId = externalId
    this.graph = graph
    this.others = new ChunkScan(new ArgumentOperator(), slot)
    const { chunk } = this.others
    this.fetchOthers = (run, from) => run.graphs[graph]!.nodesWithLabel(label, from, chunk)
  }

  open(run: Run): void {
    this.input.open(run)
    this.searching = false
  }

  next(run: Run): boolean {
    for (;;) {
      if (this.searching) {
        if (this.nextOther(run)) return true
        this.searching = false
      }
      if (!this.input.next(run)) return false
      run.budget.touch(1)
      const value = this.externalId(run)
      if (typeof value !== 'string') continue
      this.wanted = value
      const snapshot = run.graphs[this.graph]!
      this.found = snapshot.findNode(this.label, value)
      if (snapshot.typedNodeCount(this.label) < snapshot.nodeCount(this.label)) {
        this.searching = true
        this.others.open(run)
      }
      if (this.found === 0) continue
      run.frame[this.slot] = this.found
      return true
    }
  }

  private nextOther(run: Run): boolean {
    const snapshot = run.graphs[this.graph]!
    while (this.others.next(run, this.fetchOthers)) {
      const node = run.frame[this.slot] as number
      if (node !== this.found && snapshot.nodeOwn(node, 'external_id') === this.wanted) return true
    }
    return false
  }
}
