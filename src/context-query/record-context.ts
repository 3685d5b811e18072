// State that the reading of all records of one response shares: the graph, the limits, what the call wrote, and the elements that were
// read. A response repeats an element in every row that names it; the element is read once.
import type { NodeId, RelationshipId, Snapshot } from '../engine/store.ts'
import { NodeValue, type PropertyValue, type RelationshipValue } from '../engine/value/value.ts'
import { jsonSize } from '../kernel/json/json-size.ts'
import type { ResponseBudget } from './response-budget.ts'
import { WrittenElements } from './written-elements.ts'

/** A property to resolve; its place in the record holds null until then. */
export interface DeferredProperty {
  readonly resolver: string
  readonly property: string
  /** Values for placeholders. */
  readonly values: PlaceholderValues
  /** Stores the value. Returns null, or why it cannot be stored, for the caller. */
  assign(value: unknown): string | null
}

/** The values of an element for the placeholders of a resolver. */
export interface PlaceholderValues {
  /** Own fields and properties. */
  readonly own: ReadonlyMap<string, PropertyValue | null>
  /** Properties that may not be used. A caller cannot replace them. */
  readonly hidden: ReadonlySet<string>
}

/** Data of an element that several records may share. */
export interface SharedData {
  data: unknown
  /** Characters charged for each use. */
  size: number
  /** Number of places in the response. */
  uses: number
}

/** The shared data of one kind of column. */
class SharedColumn {
  readonly nodes = new Map<NodeId, SharedData>()
  readonly relationships = new Map<RelationshipId, SharedData>()

  get isEmpty(): boolean {
    return this.nodes.size + this.relationships.size === 0
  }
}

/** The state of reading one response. */
export class RecordContext {
  readonly snapshot: Snapshot
  readonly budget: ResponseBudget
  /** Empty for a query that only reads. */
  readonly written: WrittenElements
  /** Properties to resolve when all rows are read. */
  readonly deferred: DeferredProperty[] = []
  private readonly globalIds = new Map<NodeId, string>()
  private readonly columns = new Map<object, SharedColumn>()

  constructor(snapshot: Snapshot, budget: ResponseBudget, written = new WrittenElements()) {
    this.snapshot = snapshot
    this.budget = budget
    this.written = written
  }

  /** Returns the global id of a node; empty for a node that was never captured. */
  globalId(node: NodeId): string {
    let id = this.globalIds.get(node)
    if (id === undefined) {
      id = (this.snapshot.nodeField(node, 'id') as string | null) ?? ''
      this.globalIds.set(node, id)
    }
    return id
  }

  /**
   * Returns what `read` returns for the element: calls it once for each `column`, which identifies what is read, and
   * charges each use. Throws ExecutionError if the response budget is exceeded.
   */
  shared(column: object, element: NodeValue | RelationshipValue, read: (into: SharedData) => unknown): unknown {
    const all = this.columns.get(column) ?? new SharedColumn()
    if (all.isEmpty) this.columns.set(column, all)
    const found = element instanceof NodeValue ? all.nodes : all.relationships
    let shared = found.get(element.id)
    if (shared === undefined) {
      shared = { data: null, size: 0, uses: 0 }
      shared.data = read(shared)
      shared.size = jsonSize(shared.data)
      found.set(element.id, shared)
    }
    shared.uses += 1
    this.budget.chargeSize(shared.size)
    return shared.data
  }
}
