// One condition, many questions. A condition is the relation of the nodes that its variables take over all its rows;
// a question fixes some of the variables and asks for another, or only whether there is a row. Every question asks the
// same relation, so a search finds a node exactly when the check with that node is true.
import { assert } from '../kernel/assert.ts'
import type { BoundQuery, GraphReference, Slot } from './bind/bound.ts'
import { RESERVED_PREFIX } from './bind/dialect.ts'
import { slotsDeclaredBy } from './bind/expression-tree.ts'
import { restrictAtEnd, restrictAtIntroduction } from './bind/restrict-variable.ts'
import type { Profiler } from './exec/profiler.ts'
import type { Plan } from './plan/operators.ts'
import { type EngineOptions, type Execution, PlannedQuery, type QueryContext } from './planned-query.ts'
import type { NodeId, Snapshot } from './store.ts'
import { sortWithCharges } from './value/list-operations.ts'
import { sortIds } from './value/sort-ids.ts'
import type { NodeValue, Value } from './value/value.ts'

export interface AccessQuery {
  /** Variables whose node the caller gives, each with its type in `types`. */
  readonly fixed: readonly string[]
  /** The variable that is asked for; null asks whether there is a row. */
  readonly target: string | null
  /** The node types that variables must have. */
  readonly types: ReadonlyMap<string, string>
}

/** A node that was found, to be read through its graph's snapshot. */
export interface NodeReference {
  readonly snapshot: Snapshot
  readonly node: NodeId
}

/** Nodes of one graph that come behind a place in the order of their ids. */
export interface NodePage {
  /** Ascending, each once. */
  readonly nodes: Uint32Array
  /** There are no others. */
  readonly isComplete: boolean
}

const emptyNodePage: NodePage = { nodes: new Uint32Array(0), isComplete: true }

function grown(nodes: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(nodes.length * 4)
  more.set(nodes)
  return more
}

/** The slot of a variable that a condition must bind to a node; or what is wrong with it. */
export function resolveNodeVariable(query: BoundQuery, name: string): Slot | string {
  const slot = query.columns.find((column) => column.name === name)?.slot
  if (!slot) return `the condition must bind \`${name}\` and keep it in scope to its end`
  const isNode = slot.kind === 'node' || (slot.kind === 'value' && slot.type?.kind === 'node')
  if (!isNode) return `\`${name}\` must be a node that a pattern binds`
  // A row without the node would still be a row.
  if (introducingMatch(query, slot)?.optional) return `\`${name}\` must first be bound by MATCH, not by OPTIONAL MATCH`
  return slot
}

function introducingMatch(query: BoundQuery, slot: Slot) {
  for (const clause of query.clauses) {
    if (clause.kind === 'match' && slotsDeclaredBy(clause.match).some((s) => s.index === slot.index))
      return clause.match
  }
  return null
}

/** A question put in the planner's terms. */
export interface BoundAccessQuery {
  readonly query: BoundQuery
  /** By the question's `given`: the slot that takes the node's id; null where the node is told by its external id. */
  readonly fixedSlots: readonly (Slot | null)[]
  readonly targetSlot: Slot | null
  /** Puts the question on top of the query's own plan. */
  readonly addRoot: (plan: Plan) => Plan
}

/** The binder refuses parameters with such a name (`reservedPrefix`). */
function keyParameter(name: string): string {
  return `${RESERVED_PREFIX}${name}`
}

/** Every variable named must be one that `nodeVariable` accepts. */
export function bindAccessQuery(query: BoundQuery, question: AccessQuery): BoundAccessQuery {
  let { clauses } = query
  const given = new Map<string, Slot>()
  const atEnd: ReturnType<typeof restrictAtEnd> = []
  const { target, types } = question
  for (const name of new Set([...question.fixed, ...(target === null ? [] : [target]), ...types.keys()])) {
    const slot = nodeSlot(query, name)
    const isGiven = question.fixed.includes(name)
    const wanted = { type: types.get(name) ?? null, externalIdParameter: isGiven ? keyParameter(name) : null }
    // The id of a node of the default graph can be filled in where a MATCH of the condition itself looks for it. Two
    // variables may share a slot (`WITH x AS subject, x AS resource`): then the second is told by its key, and compared.
    const taken = [...given.values()].some((other) => other.index === slot.index)
    const byId = isGiven && !taken && wanted.type !== null && slot.graph === 0 && introducingMatch(query, slot) !== null
    const narrowed = taken ? null : restrictAtIntroduction(clauses, slot, wanted, byId)
    if (narrowed) {
      clauses = narrowed
      if (byId) given.set(name, slot)
    } else atEnd.push(...restrictAtEnd(slot, wanted))
  }
  const soughtSlot = target === null ? null : nodeSlot(query, target)
  return {
    query: { ...query, clauses },
    fixedSlots: question.fixed.map((name) => given.get(name) ?? null),
    targetSlot: soughtSlot,
    addRoot: (plan) => {
      const kept: Plan = atEnd.length > 0 ? { op: 'Filter', input: plan, predicates: atEnd } : plan
      return soughtSlot
        ? { op: 'Distinct', input: kept, slots: [soughtSlot], searchOrder: 'any' }
        : { op: 'First', input: kept }
    },
  }
}

function nodeSlot(query: BoundQuery, name: string): Slot {
  const slot = resolveNodeVariable(query, name)
  assert(typeof slot !== 'string', `${name} was accepted before`)
  return slot
}

export function planAccessQuery(posed: BoundAccessQuery, options: EngineOptions): PlannedQuery {
  const argument = posed.fixedSlots.filter((slot) => slot !== null)
  return new PlannedQuery(posed.query, argument, posed.addRoot, options)
}

/** A node that was not read before takes some microseconds. */
const STEPS_PER_NODE_READ = 2

/** A question, planned; asked with the external ids of the given nodes, in the order of the question. */
export class PreparedQuery {
  readonly planned: PlannedQuery
  private readonly accessQuery: AccessQuery
  private readonly bound: BoundAccessQuery
  private readonly onUnknownProperty: ((property: string) => void) | null

  /** `onUnknown` is told of a no that a property which a resolver supplies may have turned round. */
  constructor(
    query: BoundQuery,
    question: AccessQuery,
    options: EngineOptions,
    onUnknown: ((property: string) => void) | null = null,
  ) {
    this.onUnknownProperty = onUnknown
    this.accessQuery = question
    this.bound = bindAccessQuery(query, question)
    this.planned = planAccessQuery(this.bound, options)
  }

  exists(asking: QueryContext, given: readonly string[]): boolean {
    const execution = this.open(asking, given)
    if (execution === null) return false
    if (execution.root.next(execution.run)) return true
    const { unknownProperty } = execution.run
    if (unknownProperty !== null) this.onUnknownProperty?.(unknownProperty)
    return false
  }

  /** Each node once, in the order of graph and id: stable while the graph is unchanged. */
  findNodes(asking: QueryContext, given: readonly string[]): NodeReference[] {
    const execution = this.open(asking, given)
    if (!execution) return []
    const { run } = execution
    const { kind, graph } = this.bound.targetSlot!
    if (kind === 'node') {
      const snapshot = run.graphs[graph]!
      return Array.from(this.readIds(execution).nodes, (node) => ({ snapshot, node }))
    }
    return this.readValues(execution).map((node) => ({ snapshot: run.graphs[node.graph]!, node: node.id }))
  }

  /** Their external ids in that order. One node may stand in several graphs: it is found once. */
  findExternalIds(asking: QueryContext, given: readonly string[]): string[] {
    const execution = this.open(asking, given)
    if (!execution) return []
    const { run } = execution
    const { graphs } = run
    const { kind, graph } = this.bound.targetSlot!
    if (kind === 'node') {
      const snapshot = graphs[graph]!
      return Array.from(this.readIds(execution).nodes, (node) => {
        run.budget.chargeSteps(STEPS_PER_NODE_READ)
        return snapshot.nodeField(node, 'external_id') as string
      })
    }
    const read = ({ graph, id }: NodeValue): string => {
      run.budget.chargeSteps(STEPS_PER_NODE_READ)
      return graphs[graph]!.nodeField(id, 'external_id') as string
    }
    return [...new Set(this.readValues(execution).map(read))]
  }

  /** The graph of what is sought; null where its nodes are values, and may be of several. */
  get targetGraph(): GraphReference | null {
    const { query, targetSlot } = this.bound
    return targetSlot?.kind === 'node' ? query.graphs[targetSlot.graph]! : null
  }

  /** Those behind a node, only where `soughtIn` tells of one graph: `enough` of them are enough. */
  seekAfter(asking: QueryContext, given: readonly string[], after: NodeId, enough: number): NodePage {
    const execution = this.open(asking, given, after)
    return execution === null ? emptyNodePage : this.readIds(execution, enough)
  }

  private readIds({ root, run, isOrdered }: Execution, enough = Number.POSITIVE_INFINITY): NodePage {
    const { index } = this.bound.targetSlot!
    const { resumeAfter } = run
    let nodes = new Uint32Array(64)
    let length = 0
    while (root.next(run)) {
      const node = run.frame[index] as NodeId
      run.budget.chargeSteps(1)
      if (node <= resumeAfter) continue
      if (length === nodes.length) nodes = grown(nodes)
      nodes[length++] = node
      if (length >= enough && run.isIncremental) return { nodes: nodes.subarray(0, length), isComplete: false }
    }
    nodes = nodes.subarray(0, length)
    return { nodes: isOrdered ? nodes : sortIds(run.budget, nodes), isComplete: true }
  }

  private readValues({ root, run }: Execution): NodeValue[] {
    const { index } = this.bound.targetSlot!
    const found: NodeValue[] = []
    while (root.next(run)) {
      run.budget.chargeSteps(1)
      found.push(run.frame[index] as NodeValue)
    }
    return sortWithCharges(run.budget, found, (a, b) => a.graph - b.graph || a.id - b.id)
  }

  /** Opened, with the given nodes filled in; null when one of them does not exist. */
  open(asking: QueryContext, given: readonly string[], after: NodeId = 0): Execution | null {
    const execution = this.planned.prepare(asking)
    execution.run.resumeAfter = after
    return this.bindFixedNodes(execution, asking, given)
  }

  /** The same, compiled for one run that is looked at. */
  openProfiled(
    asking: QueryContext,
    given: readonly string[],
    profiler: Profiler,
  ): { readonly plan: Plan; readonly execution: Execution | null } {
    const prepared = this.planned.prepareProfiled(asking, profiler)
    return { plan: prepared.plan, execution: this.bindFixedNodes(prepared, asking, given) }
  }

  private bindFixedNodes(execution: Execution, asking: QueryContext, given: readonly string[]): Execution | null {
    const { run, root } = execution
    const { fixedSlots: slots } = this.bound
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]
      const name = this.accessQuery.fixed[i]!
      if (slot) {
        const node = nodeByKey(asking.snapshot, this.accessQuery.types.get(name)!, given[i]!)
        if (node === 0) return null
        run.frame[slot.index] = node
      } else run.parameters = new Map<string, Value>(run.parameters).set(keyParameter(name), given[i]!)
    }
    root.open(run)
    return execution
  }
}

/** The node with that type and external id; 0 when there is none. */
export function nodeByKey(snapshot: Snapshot, type: string, externalId: string): NodeId {
  const label = snapshot.symbol('label', type)
  return label === 0 ? 0 : snapshot.findNode(label, externalId)
}
