// Lists the pairs that a policy grants, node by node: each step takes one node of one side and returns its partners, so memory does
// not grow with the number of pairs. Pairs are those that an evaluation grants, each once.
import { ExecutionError } from '../engine/errors.ts'
import { createChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import type { CompiledPolicy, ForbiddingPolicy, GrantingPolicy } from '../policy/compile-policy.ts'
import { type ComparisonScope, type PairParameters, parametersOfPair } from './comparison-parameters.ts'
import { firstMissingParameter, isBudgetExhausted } from './evaluation-inputs.ts'
import type { ReadSession } from './read-session.ts'

/** A pair of a subject and a resource. One object is reused for all pairs of a comparison. */
export class Pair {
  /** 0: known by its id only. */
  subject: NodeId = 0
  /** As `subject`. */
  resource: NodeId = 0
  private subjectName: string | null = null
  private resourceName: string | null = null
  private readonly snapshot: Snapshot

  /** `snapshot`: of the default graph, which has the nodes. */
  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
  }

  /** Sets one end. `id`: null: it is read when it is needed. */
  set(end: 'subject' | 'resource', node: NodeId, id: string | null): void {
    if (end === 'subject') {
      this.subject = node
      this.subjectName = id
    } else {
      this.resource = node
      this.resourceName = id
    }
  }

  /** External id of the subject. */
  get subjectId(): string {
    this.subjectName ??= this.snapshot.nodeField(this.subject, 'external_id') as string
    return this.subjectName
  }

  /** External id of the resource. */
  get resourceId(): string {
    this.resourceName ??= this.snapshot.nodeField(this.resource, 'external_id') as string
    return this.resourceName
  }
}

/** Collaborators of a run of a policy. */
export interface PairContext {
  readonly session: ReadSession
  readonly scope: ComparisonScope
  readonly parameters: PairParameters
  /** Called for a parameter whose value has the wrong type for its place. */
  onMissing(policy: CompiledPolicy, name: string): void
}

/**
 * Whether the policy grants the pair, as an evaluation decides: an error of the policy does not grant. Throws ExecutionError if the
 * budget is exhausted.
 */
export function grantsPair(
  policy: GrantingPolicy,
  { session, parameters, onMissing }: PairContext,
  pair: Pair,
): boolean {
  const { condition, filter, readsPair } = readingOf(policy)
  if (readsPair) {
    parameters.setSubject(pair.subjectId)
    parameters.setResource(pair.resourceId)
  }
  session.parameters = parameters.values
  try {
    session.budget.chargeSteps(1)
    if (filter !== null && !filter.admits(session.budget, parameters.values)) return false
    if (pair.subject !== 0 && pair.resource !== 0 && condition.isInDefaultGraph)
      return condition.checkNodes(session, pair.subject, pair.resource)
    return condition.check(session, pair.subjectId, pair.resourceId)
  } catch (error) {
    if (!(error instanceof ExecutionError) || isBudgetExhausted(error)) throw error
    if (error.code === 'missing-parameter' && error.subject !== null) onMissing(policy, error.subject)
    return false
  }
}

/**
 * Whether the policy forbids the pair, as an evaluation decides: a missing parameter and an error of the policy forbid. Throws
 * ExecutionError if the budget is exhausted.
 */
export function forbidsPair(policy: ForbiddingPolicy, context: PairContext, pair: Pair): boolean {
  const { condition, filter, readsPair } = readingOf(policy)
  const { session, parameters, onMissing } = context
  if (readsPair) {
    parameters.setSubject(pair.subjectId)
    parameters.setResource(pair.resourceId)
  }
  session.parameters = parameters.values
  if (firstMissingParameter(policy, parameters.values) !== null) return true
  try {
    session.budget.chargeSteps(1)
    if (filter?.excludes(session.budget, parameters.values) === true) return false
    return condition.check(session, pair.subjectId, pair.resourceId)
  } catch (error) {
    if (!(error instanceof ExecutionError) || isBudgetExhausted(error)) throw error
    if (error.code === 'missing-parameter' && error.subject !== null) onMissing(policy, error.subject)
    return true
  }
}

const pairParameters = new Set(['subject_external_id', 'resource_external_id', 'token', 'svc_token', 'subject_id'])

function readingOf(policy: CompiledPolicy) {
  const { condition, filter, parameters } = policy
  return { condition, filter, readsPair: parameters.some((name) => pairParameters.has(name)) }
}

/** One node with its partners: nodes of the default graph, or external ids. */
export interface PairsOfNode {
  /** Which end of the pairs the node is. */
  readonly end: 'subject' | 'resource'
  readonly node: NodeId
  /** External id of the node; null: it was not read. */
  readonly id: string | null
  /** Ascending; null: `ids` has the partners. */
  readonly nodes: Uint32Array | null
  readonly ids: readonly string[]
}

/** Partners that are listed at once, if the plan finds them in order. */
const PARTNERS_PER_STEP = 65_536

/** The pairs of one policy. */
export class PolicyPairs {
  /** Nodes of the end that is followed. */
  readonly total: number
  /** Those whose partners are all listed. */
  visited = 0
  private readonly policy: GrantingPolicy
  private readonly context: PairContext
  private readonly end: 'subject' | 'resource'
  private readonly method: 'search' | 'each' | 'ids'
  private readonly needsConfirmation: boolean
  private readonly candidates: Iterator<Candidate>
  private current: Candidate | null = null
  private after: NodeId = 0

  constructor(policy: GrantingPolicy, context: PairContext) {
    this.policy = policy
    this.context = context
    const { session, scope } = context
    const { condition, subjectType, resourceType } = policy
    const depends = parametersOfPair(policy, scope)
    const graphs = graphsOf(policy, context)
    const isLocal = condition.isInDefaultGraph && condition.locations.length === 0
    this.method = depends.subject && depends.resource ? 'each' : isLocal ? 'search' : 'ids'
    const subjects = isLocal ? countOf(session.snapshot, subjectType, scope.subject.id) : 0
    const resources = isLocal ? countOf(session.snapshot, resourceType, scope.resource.id) : 0
    this.end = depends.subject ? 'subject' : depends.resource || resources < subjects ? 'resource' : 'subject'
    this.total = this.end === 'subject' ? subjects : resources
    this.needsConfirmation = condition.mayFail(graphs)
    const [type, id] = this.end === 'subject' ? [subjectType, scope.subject.id] : [resourceType, scope.resource.id]
    this.candidates = candidatesIn(isLocal ? [session.snapshot] : graphs, type, id)
  }

  /**
   * Returns a node with some of its partners, or null after the last one. Throws ExecutionError if the budget is exhausted; then
   * `skip` continues with the next node.
   */
  next(): PairsOfNode | null {
    if (this.current === null) {
      const { done, value } = this.candidates.next()
      if (done === true) return null
      this.current = value
      this.after = 0
    }
    const { end, current } = this
    const { session, parameters } = this.context
    if (this.policy.parameters.length > 0) {
      const id = this.idOf(current)
      if (end === 'subject') parameters.setSubject(id)
      else parameters.setResource(id)
    }
    session.parameters = parameters.values
    session.budget.chargeSteps(1)
    const found = this.partnersOf(current)
    if (found.isLast) this.skip()
    const { nodes, ids } = found
    return { end, node: current.node, id: current.id, nodes, ids }
  }

  /** Leaves out the partners of this node that were not returned yet. */
  skip(): void {
    if (this.current === null) return
    this.current = null
    this.visited += 1
  }

  private idOf(candidate: Candidate): string {
    candidate.id ??= this.context.session.snapshot.nodeField(candidate.node, 'external_id') as string
    return candidate.id
  }

  private partnersOf(candidate: Candidate): Partners {
    const { policy, context } = this
    const { session, scope } = context
    if (this.method === 'each') return this.checkedPartners(candidate)
    try {
      const { filter } = policy
      if (filter !== null && !filter.admits(session.budget, session.parameters)) return noPartners
      const other = scope[this.end === 'subject' ? 'resource' : 'subject'].id
      // One pair is checked and not searched.
      if (other !== undefined) return this.checkedPartners(candidate)
      return this.method === 'ids' ? this.partnerIds(candidate) : this.partnerNodes(candidate)
    } catch (error) {
      if (!(error instanceof ExecutionError) || isBudgetExhausted(error)) throw error
      if (error.code === 'missing-parameter' && error.subject !== null) {
        context.onMissing(policy, error.subject)
        return noPartners
      }
      // An error for one partner must not hide the others.
      return this.checkedPartners(candidate)
    }
  }

  private partnerNodes(candidate: Candidate): Partners {
    const { condition } = this.policy
    const { session } = this.context
    const { nodes, isComplete } =
      this.end === 'subject'
        ? condition.resourcesOfNode(session, candidate.node, this.after, PARTNERS_PER_STEP)
        : condition.subjectsOfNode(session, candidate.node, this.after, PARTNERS_PER_STEP)
    this.after = nodes.at(-1) ?? this.after
    const confirmed = this.needsConfirmation ? nodes.filter((node) => this.isGranted(candidate, node, null)) : nodes
    return { nodes: confirmed, ids: [], isLast: isComplete }
  }

  private partnerIds(candidate: Candidate): Partners {
    const { condition } = this.policy
    const { session } = this.context
    const id = this.idOf(candidate)
    const found = this.end === 'subject' ? condition.resources(session, id) : condition.subjects(session, id)
    const ids = this.needsConfirmation ? found.filter((one) => this.isGranted(candidate, 0, one)) : found
    return { nodes: null, ids, isLast: true }
  }

  /** Checks each node of the other end: slow, and needed if the policy reads both ids, or fails for some nodes. */
  private checkedPartners(candidate: Candidate): Partners {
    const { policy, context } = this
    const { session, scope } = context
    const [type, id] =
      this.end === 'subject' ? [policy.resourceType, scope.resource.id] : [policy.subjectType, scope.subject.id]
    const graphs =
      this.method === 'ids' || policy.condition.locations.length > 0 ? graphsOf(policy, context) : [session.snapshot]
    const isLocal = graphs.length === 1 && graphs[0] === session.snapshot
    const nodes: NodeId[] = []
    const ids: string[] = []
    for (const other of { [Symbol.iterator]: () => candidatesIn(graphs, type, id) }) {
      session.budget.chargeSteps(1)
      if (!this.isGranted(candidate, isLocal ? other.node : 0, isLocal ? null : other.id)) continue
      if (isLocal) nodes.push(other.node)
      else ids.push(other.id ?? '')
    }
    return { nodes: isLocal ? Uint32Array.from(nodes) : null, ids, isLast: true }
  }

  private isGranted(candidate: Candidate, node: NodeId, id: string | null): boolean {
    const { snapshot } = this.context.session
    const pair = new Pair(snapshot)
    pair.set(this.end, candidate.node, this.idOf(candidate))
    pair.set(this.end === 'subject' ? 'resource' : 'subject', node, id)
    return grantsPair(this.policy, this.context, pair)
  }
}

interface Partners {
  readonly nodes: Uint32Array | null
  readonly ids: readonly string[]
  readonly isLast: boolean
}

const noPartners: Partners = { nodes: new Uint32Array(0), ids: [], isLast: true }

interface Candidate {
  /** 0: known by its id only. */
  readonly node: NodeId
  id: string | null
}

/** The graphs that a policy reads, the default graph first. Throws ExecutionError for an unknown location. */
function graphsOf({ condition }: CompiledPolicy, { session, parameters }: PairContext): readonly Snapshot[] {
  const named = condition.locations.map(({ kind, name }) => (kind === 'parameter' ? parameters.values.get(name) : name))
  return [...new Set([session.snapshot, ...named.map((location) => session.locate(String(location)))])]
}

function countOf(snapshot: Snapshot, type: string, id: string | undefined): number {
  if (id !== undefined) return 1
  const label = snapshot.symbol('label', type)
  return label === 0 ? 0 : snapshot.typedNodeCount(label)
}

/** The nodes of a type, each once. In several graphs they are identified by their ids. */
function* candidatesIn(
  graphs: readonly Snapshot[],
  type: string,
  id: string | undefined,
): Generator<Candidate, undefined> {
  const isSeveral = graphs.length > 1
  const labels = graphs.map((graph) => graph.symbol('label', type))
  const chunk = createChunk()
  for (const [i, graph] of graphs.entries()) {
    const label = labels[i] ?? 0
    if (label === 0) continue
    const isKnown = (name: string): boolean =>
      graphs.slice(0, i).some((earlier, j) => labels[j] !== 0 && earlier.findNode(labels[j] ?? 0, name) !== 0)
    if (id !== undefined) {
      const node = graph.findNode(label, id)
      if (node !== 0 && !isKnown(id)) yield { node: isSeveral ? 0 : node, id }
      continue
    }
    const isOnlyType = graph.isOnlyType(label)
    for (let from = 0; ; from = chunk.next) {
      graph.nodesWithLabel(label, from, chunk)
      for (const node of chunk.ids.slice(0, chunk.length)) {
        // The label index also holds nodes of other types that carry this label.
        if (!isOnlyType && graph.nodeType(node) !== label) continue
        if (!isSeveral) yield { node, id: null }
        else {
          const name = graph.nodeField(node, 'external_id')
          if (typeof name === 'string' && !isKnown(name)) yield { node: 0, id: name }
        }
      }
      if (!chunk.more) break
    }
  }
  return undefined
}
