// One condition, many questions. A condition is the relation of the nodes that its variables take over all its rows;
// a question fixes some of the variables and asks for another, or only whether there is a row. Every question asks the
// same relation, so a search finds a node exactly when the check with that node is true.
import { assert } from '../kernel/assert.ts'
import type { BoundQuery, GraphReference, Slot } from './bind/bound.ts'
import { reservedPrefix } from './bind/dialect.ts'
import { narrow } from './bind/narrow.ts'
import { declaredIn } from './bind/walk.ts'
import type { Profiler } from './exec/profile.ts'
import type { Plan } from './plan/operators.ts'
import { type Asking, type EngineOptions, type Execution, PlannedQuery } from './planned-query.ts'
import type { NodeId, Snapshot } from './store.ts'
import { sortCharged } from './value/effort.ts'
import { sortIds } from './value/sort-ids.ts'
import type { NodeValue, Value } from './value/value.ts'

export interface Question {
  /** Variables whose node the caller gives, each with its type in `types`. */
  readonly given: readonly string[]
  /** The variable that is asked for; null asks whether there is a row. */
  readonly sought: string | null
  /** The node types that variables must have. */
  readonly types: ReadonlyMap<string, string>
}

/** A node that was found, to be read through its graph's snapshot. */
export interface Found {
  readonly snapshot: Snapshot
  readonly node: NodeId
}

/** Nodes of one graph that come behind a place in the order of their ids. */
export interface NodesBehind {
  /** Ascending, each once. */
  readonly nodes: Uint32Array
  /** There are no others. */
  readonly isAll: boolean
}

const noNodes: NodesBehind = { nodes: new Uint32Array(0), isAll: true }

function grown(nodes: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const more = new Uint32Array(nodes.length * 4)
  more.set(nodes)
  return more
}

/** The slot of a variable that a condition must bind to a node; or what is wrong with it. */
export function nodeVariable(query: BoundQuery, name: string): Slot | string {
  const slot = query.columns.find((column) => column.name === name)?.slot
  if (!slot) return `the condition must bind \`${name}\` and keep it in scope to its end`
  const isNode = slot.kind === 'node' || (slot.kind === 'value' && slot.type?.kind === 'node')
  if (!isNode) return `\`${name}\` must be a node that a pattern binds`
  // A row without the node would still be a row.
  if (introducedBy(query, slot)?.optional) return `\`${name}\` must first be bound by MATCH, not by OPTIONAL MATCH`
  return slot
}

function introducedBy(query: BoundQuery, slot: Slot) {
  for (const clause of query.clauses) {
    if (clause.kind === 'match' && declaredIn(clause.match).some((s) => s.index === slot.index)) return clause.match
  }
  return null
}

/** A question put in the planner's terms. */
export interface PosedQuestion {
  readonly query: BoundQuery
  /** By the question's `given`: the slot that takes the node's id; null where the node is told by its external id. */
  readonly given: readonly (Slot | null)[]
  readonly sought: Slot | null
  /** Puts the question on top of the query's own plan. */
  readonly finish: (plan: Plan) => Plan
}

/** The binder refuses parameters with such a name (`reservedPrefix`). */
function keyParameter(name: string): string {
  return `${reservedPrefix}${name}`
}

/** Every variable named must be one that `nodeVariable` accepts. */
export function poseQuestion(query: BoundQuery, question: Question): PosedQuestion {
  let { clauses } = query
  const given = new Map<string, Slot>()
  const atEnd: ReturnType<typeof narrow.atEnd> = []
  const { sought, types } = question
  for (const name of new Set([...question.given, ...(sought === null ? [] : [sought]), ...types.keys()])) {
    const slot = acceptedVariable(query, name)
    const isGiven = question.given.includes(name)
    const wanted = { type: types.get(name) ?? null, externalIdParameter: isGiven ? keyParameter(name) : null }
    // The id of a node of the default graph can be filled in where a MATCH of the condition itself looks for it. Two
    // variables may share a slot (`WITH x AS subject, x AS resource`): then the second is told by its key, and compared.
    const taken = [...given.values()].some((other) => other.index === slot.index)
    const byId = isGiven && !taken && wanted.type !== null && slot.graph === 0 && introducedBy(query, slot) !== null
    const narrowed = taken ? null : narrow.atIntroduction(clauses, slot, wanted, byId)
    if (narrowed) {
      clauses = narrowed
      if (byId) given.set(name, slot)
    } else atEnd.push(...narrow.atEnd(slot, wanted))
  }
  const soughtSlot = sought === null ? null : acceptedVariable(query, sought)
  return {
    query: { ...query, clauses },
    given: question.given.map((name) => given.get(name) ?? null),
    sought: soughtSlot,
    finish: (plan) => {
      const kept: Plan = atEnd.length > 0 ? { op: 'filter', input: plan, predicates: atEnd } : plan
      return soughtSlot
        ? { op: 'distinct', input: kept, slots: [soughtSlot], sought: 'in any order' }
        : { op: 'first', input: kept }
    },
  }
}

function acceptedVariable(query: BoundQuery, name: string): Slot {
  const slot = nodeVariable(query, name)
  assert(typeof slot !== 'string', `${name} was accepted before`)
  return slot
}

export function plannedQuestion(posed: PosedQuestion, options: EngineOptions): PlannedQuery {
  const argument = posed.given.filter((slot) => slot !== null)
  return new PlannedQuery(posed.query, argument, posed.finish, options)
}

/** A node that was not read before takes some microseconds. */
const STEPS_OF_READ = 2

/** A question, planned; asked with the external ids of the given nodes, in the order of the question. */
export class Answerer {
  readonly planned: PlannedQuery
  private readonly question: Question
  private readonly posed: PosedQuestion
  private readonly onUnknown: ((property: string) => void) | null

  /** `onUnknown` is told of a no that a property which a resolver supplies may have turned round. */
  constructor(
    query: BoundQuery,
    question: Question,
    options: EngineOptions,
    onUnknown: ((property: string) => void) | null = null,
  ) {
    this.onUnknown = onUnknown
    this.question = question
    this.posed = poseQuestion(query, question)
    this.planned = plannedQuestion(this.posed, options)
  }

  exists(asking: Asking, given: readonly string[]): boolean {
    const execution = this.begin(asking, given)
    if (execution === null) return false
    if (execution.root.next(execution.run)) return true
    const { unknown } = execution.run
    if (unknown !== null) this.onUnknown?.(unknown)
    return false
  }

  /** Each node once, in the order of graph and id: stable while the graph is unchanged. */
  find(asking: Asking, given: readonly string[]): Found[] {
    const execution = this.begin(asking, given)
    if (!execution) return []
    const { run } = execution
    const { kind, graph } = this.posed.sought!
    if (kind === 'node') {
      const snapshot = run.graphs[graph]!
      return Array.from(this.ids(execution).nodes, (node) => ({ snapshot, node }))
    }
    return this.values(execution).map((node) => ({ snapshot: run.graphs[node.graph]!, node: node.id }))
  }

  /** Their external ids in that order. One node may stand in several graphs: it is found once. */
  findExternalIds(asking: Asking, given: readonly string[]): string[] {
    const execution = this.begin(asking, given)
    if (!execution) return []
    const { run } = execution
    const { graphs } = run
    const { kind, graph } = this.posed.sought!
    if (kind === 'node') {
      const snapshot = graphs[graph]!
      return Array.from(this.ids(execution).nodes, (node) => {
        run.budget.touch(STEPS_OF_READ)
        return snapshot.nodeOwn(node, 'external_id') as string
      })
    }
    const read = ({ graph, id }: NodeValue): string => {
      run.budget.touch(STEPS_OF_READ)
      return graphs[graph]!.nodeOwn(id, 'external_id') as string
    }
    return [...new Set(this.values(execution).map(read))]
  }

  /** The graph of what is sought; null where its nodes are values, and may be of several. */
  get soughtIn(): GraphReference | null {
    const { query, sought } = this.posed
    return sought?.kind === 'node' ? query.graphs[sought.graph]! : null
  }

  /** Those behind a node, only where `soughtIn` tells of one graph: `enough` of them are enough. */
  findBehind(asking: Asking, given: readonly string[], after: NodeId, enough: number): NodesBehind {
    const execution = this.begin(asking, given, after)
    return execution === null ? noNodes : this.ids(execution, enough)
  }

  private ids({ root, run, isInOrder }: Execution, enough = Number.POSITIVE_INFINITY): NodesBehind {
    const { index } = this.posed.sought!
    const { after } = run
    let nodes = new Uint32Array(64)
    let length = 0
    while (root.next(run)) {
      const node = run.frame[index] as NodeId
      run.budget.touch(1)
      if (node <= after) continue
      if (length === nodes.length) nodes = grown(nodes)
      nodes[length++] = node
      if (length >= enough && run.isLazy) return { nodes: nodes.subarray(0, length), isAll: false }
    }
    nodes = nodes.subarray(0, length)
    return { nodes: isInOrder ? nodes : sortIds(nodes), isAll: true }
  }

  private values({ root, run }: Execution): NodeValue[] {
    const { index } = this.posed.sought!
    const found: NodeValue[] = []
    while (root.next(run)) {
      run.budget.touch(1)
      found.push(run.frame[index] as NodeValue)
    }
    return sortCharged(found, (a, b) => a.graph - b.graph || a.id - b.id)
  }

  /** Opened, with the given nodes filled in; null when one of them does not exist. */
  begin(asking: Asking, given: readonly string[], after: NodeId = 0): Execution | null {
    const execution = this.planned.prepare(asking)
    execution.run.after = after
    return this.fillIn(execution, asking, given)
  }

  /** The same, compiled for one run that is looked at. */
  beginObserved(
    asking: Asking,
    given: readonly string[],
    profiler: Profiler,
  ): { readonly plan: Plan; readonly execution: Execution | null } {
    const prepared = this.planned.prepareObserved(asking, profiler)
    return { plan: prepared.plan, execution: this.fillIn(prepared, asking, given) }
  }

  private fillIn(execution: Execution, asking: Asking, given: readonly string[]): Execution | null {
    const { run, root } = execution
    const { given: slots } = this.posed
    for (let i = 0; i < slots.length; i++) {
      const slot = slots[i]
      const name = this.question.given[i]!
      if (slot) {
        const node = nodeByKey(asking.snapshot, this.question.types.get(name)!, given[i]!)
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
