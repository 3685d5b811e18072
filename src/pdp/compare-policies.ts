// Compares two sets of policies on one snapshot: the pairs of subject and resource that only one of the sets grants, for each action.
// Only pairs of a policy that is in one set alone can change, so only those policies are listed; each of their pairs is then checked
// against the whole other set. If the sets forbid different pairs, each pair that a policy grants can change, so all policies that grant
// are listed. See docs/decisions/0048-comparing-policies.md and docs/decisions/0071-forbid-policies.md.
import { ExecutionError } from '../engine/errors.ts'
import type { NodeId } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { requestStartMs } from '../kernel/request/remote-reads.ts'
import { ok, type Result } from '../kernel/result.ts'
import { type CompiledPolicy, isForbidding, isGranting } from '../policy/compile-policy.ts'
import { type ComparisonScope, PairParameters, parametersNotGiven } from './comparison-parameters.ts'
import type { ChangedPair, ChangedPairs, LeftOutPolicy } from './comparison-schema.ts'
import type { DecisionDeps } from './decision-deps.ts'
import { hasAnyTag } from './evaluation-inputs.ts'
import { elementsOf } from './explain.ts'
import { forbidsPair, grantsPair, Pair, type PairContext, type PairsOfNode, PolicyPairs } from './policy-pairs.ts'
import { type ReadSession, readInSession } from './read-session.ts'

/** A policy of a comparison. */
export interface ComparedPolicy extends CompiledPolicy {
  /** False: it is only proposed, and its id has no meaning. */
  readonly isStored: boolean
  /** The text of the model that gives relationships of the policy their meaning; absent or empty: none of them is derived. */
  readonly model?: string
}

type ComparedGrant = ComparedPolicy & { readonly effect: 'permit' }
type ComparedForbid = ComparedPolicy & { readonly effect: 'forbid' }

/** The two sets of policies. */
export interface PolicySets {
  readonly old: readonly ComparedPolicy[]
  readonly new: readonly ComparedPolicy[]
}

/** Limits of a comparison. A comparison that reaches one lists what it left out. */
export interface ComparisonLimits {
  readonly timeMs: number
  readonly stepsMax: number
  readonly rowsHeldMax: number
  /** Examples of each list. */
  readonly sampleMax: number
  /** See `SEARCHED_PARTNERS_MIN`, the default. Tests of small graphs set it. */
  readonly searchedPartnersMin?: number
}

/** The pairs that change, and the policies that were left out. */
export interface DecisionChanges {
  readonly gains: readonly ChangedPairs[]
  readonly losses: readonly ChangedPairs[]
  readonly leftOut: readonly LeftOutPolicy[]
  readonly steps: number
}

/**
 * Compares the sets for decisions in a scope. Every reported pair changes; if `leftOut` is not empty, others may change too.
 * Errors: `invalid` for input parameters. Throws LaneRequiredError on an event loop.
 */
export function comparePolicies(
  deps: DecisionDeps,
  graphs: ReadSession['graphs'],
  caller: AgentCaller,
  scope: ComparisonScope,
  sets: PolicySets,
  limits: ComparisonLimits,
): Result<DecisionChanges, ServiceError> {
  return readInSession(graphs, deps, (session) => {
    const comparison = new PolicyComparison(deps, session, caller, scope, limits)
    const prepared = comparison.prepare(sets)
    if (!prepared.ok) return prepared
    comparison.run()
    return ok(comparison.result())
  })
}

/** The policies of both sets for actions that have the same policies. */
interface ComparedGroup {
  readonly subjectType: string
  readonly resourceType: string
  readonly actions: string[]
  readonly old: readonly ComparedPolicy[]
  readonly new: readonly ComparedPolicy[]
}

/** Milliseconds that one policy is followed before the next one, so that a large one does not use the whole time. */
const SLICE_MS = 25
/** Pairs between two starts of the budget, which counts the rows that a run holds until its end. */
const PAIRS_PER_START = 256
/** From this many partners of a node on, those of another policy are searched and not checked one by one. */
const SEARCHED_PARTNERS_MIN = 24
/** A search may take as many steps as checks of the partners would take at most. */
const STEPS_PER_CHECK = 12

type Exhaustion = 'time' | 'steps'

class PolicyComparison {
  private readonly deps: DecisionDeps
  private readonly session: ReadSession
  private readonly caller: AgentCaller
  private readonly scope: ComparisonScope
  private readonly limits: ComparisonLimits
  private readonly endMs: number
  private stepsBefore = 0
  private readonly tasks: ComparisonTask[] = []
  private readonly leftOut = new Map<string, LeftOutPolicy>()
  private exhausted: Exhaustion | null = null

  constructor(
    deps: DecisionDeps,
    session: ReadSession,
    caller: AgentCaller,
    scope: ComparisonScope,
    limits: ComparisonLimits,
  ) {
    this.deps = deps
    this.session = session
    this.caller = caller
    this.scope = scope
    this.limits = limits
    this.endMs = requestStartMs() + limits.timeMs
  }

  /** Finds what has to be compared. */
  prepare(sets: PolicySets): Result<null, ServiceError> {
    const { deps, session, caller, scope } = this
    this.startBudget()
    for (const group of groupsOf(sets, scope)) {
      const { subjectType, resourceType } = group
      const policies = [...group.old, ...group.new]
      const parameters = PairParameters.bind(
        deps,
        caller,
        scope,
        { subject: subjectType, resource: resourceType },
        policies,
      )
      if (!parameters.ok) return parameters
      const onMissing = (policy: CompiledPolicy, name: string): void =>
        this.leaveOutParameters(group, policy as ComparedPolicy, [name])
      const context: PairContext = { session, scope, parameters: parameters.value, onMissing }
      for (const policy of new Set(policies)) {
        const missing = parametersNotGiven(policy, scope, caller)
        if (missing.length > 0) this.leaveOutParameters(group, policy, missing)
      }
      this.addTasks('gain', group, bySide(group.new), bySide(group.old), context)
      this.addTasks('loss', group, bySide(group.old), bySide(group.new), context)
    }
    return ok(null)
  }

  private addTasks(
    change: ComparisonTask['change'],
    group: ComparedGroup,
    own: PolicySide,
    other: PolicySide,
    context: PairContext,
  ): void {
    const { scope, caller, limits } = this
    const texts = haveSameTexts(own.forbids, other.forbids) ? new Set(other.grants.map(textOf)) : new Set()
    const earlier: ComparedGrant[] = []
    // A policy without one of its input parameters grants nothing, as in a decision.
    const isBound = (name: string): boolean =>
      context.parameters.values.has(name) || (name === 'subject_id' && scope.token !== null)
    const masking = other.grants.filter(({ inputParameters }) => inputParameters.every(isBound))
    const forbids = { own: own.forbids, other: other.forbids }
    for (const policy of own.grants) {
      if (texts.has(textOf(policy)) || parametersNotGiven(policy, scope, caller).length > 0) continue
      this.tasks.push(
        new ComparisonTask(change, group, policy, { earlier: [...earlier], masking, forbids }, context, limits),
      )
      earlier.push(policy)
    }
  }

  /** Follows all policies in turn until they are read to their ends, or until the budget is exhausted. */
  run(): void {
    let running = this.tasks
    while (running.length > 0 && this.exhausted === null) {
      running = running.filter((task) => this.exhausted === null && this.followForSlice(task))
    }
    for (const task of this.tasks) if (task.state !== 'done' && task.state !== 'failed') this.leaveOutUnfinished(task)
  }

  /** Returns whether the policy has further pairs. */
  private followForSlice(task: ComparisonTask): boolean {
    const sliceEndMs = Math.min(performance.now() + SLICE_MS, this.endMs)
    const refill = (): void => void this.startBudget()
    for (;;) {
      try {
        const nowMs = this.startBudget()
        if (nowMs >= this.endMs) this.exhausted = 'time'
        if (nowMs >= sliceEndMs) return true
        if (!task.step(refill)) return false
      } catch (error) {
        if (!(error instanceof ExecutionError)) throw error
        const exhausted = exhaustionOf(error)
        if (exhausted !== null) {
          this.exhausted = exhausted
          return true
        }
        // A location that no longer exists, or one node with more rows than fit into memory.
        if (error.code !== 'budget') {
          this.leaveOutFault(task, error)
          return false
        }
        task.skipNode(error)
      }
    }
  }

  /** Starts the budget with what is left, and returns the time. Throws ExecutionError if no steps are left. */
  private startBudget(): number {
    const { session, limits, deps } = this
    this.stepsBefore += session.budget.stepsCharged
    const stepsMax = limits.stepsMax - this.stepsBefore
    const nowMs = performance.now()
    const timeMs = Math.max(1, this.endMs - nowMs)
    session.budget.start({ ...deps.limits, stepsMax: Math.max(0, stepsMax), timeMs, rowsHeldMax: limits.rowsHeldMax })
    if (stepsMax >= 0) return nowMs
    throw new ExecutionError('budget', 'the limit of steps is reached', 'traversalStepsMax')
  }

  private leaveOutParameters(group: ComparedGroup, policy: ComparedPolicy, missing: readonly string[]): void {
    const key = `${group.subjectType} ${group.resourceType} ${group.actions.join(' ')} ${policy.isStored} ${policy.id} ${policy.name}`
    const before = this.leftOut.get(key)?.missing ?? []
    const names = [...new Set([...before, ...missing])]
    const left = leftOutOf(group, policy)
    const shown = names.map((name) => `\`$${name}\``).join(', ')
    const effect = left.in === 'both' ? 'the decisions are compared without' : 'not compared without'
    const message = `${effect} ${shown}: ${names.map(howToGive).join('; ')}`
    this.leftOut.set(key, { ...left, reason: 'parameters', missing: names, message })
  }

  private leaveOutFault(task: ComparisonTask, error: ExecutionError): void {
    task.state = 'failed'
    const message = `the policy failed: ${error.redactedMessage}`
    this.leftOut.set(`fault ${this.leftOut.size}`, { ...leftOutOf(task.group, task.policy), reason: 'fault', message })
  }

  private leaveOutUnfinished(task: ComparisonTask): void {
    const { group, policy, change, pairs, visited, total, tooLarge } = task
    const limit =
      tooLarge ??
      (this.exhausted === 'steps'
        ? `the limit of ${this.limits.stepsMax} steps was reached`
        : `the time limit of ${Math.round(this.limits.timeMs)} ms was reached`)
    const of = total === 0 ? {} : { of: total }
    this.leftOut.set(`budget ${this.leftOut.size}`, {
      ...leftOutOf(group, policy),
      reason: 'budget',
      message: `${limit}; its ${change === 'gain' ? 'gains' : 'losses'} are at least ${pairs}`,
      pairs,
      read: visited,
      ...of,
    })
  }

  /** The pairs found so far. */
  result(): DecisionChanges {
    this.stepsBefore += this.session.budget.stepsCharged
    const changed = (change: ComparisonTask['change']): readonly ChangedPairs[] =>
      this.tasks.flatMap((task) => (task.change === change && task.pairs > 0 ? [task.result()] : []))
    return {
      gains: changed('gain'),
      losses: changed('loss'),
      leftOut: [...this.leftOut.values()],
      steps: this.stepsBefore,
    }
  }
}

/** The policies of one set by their effects. */
interface PolicySide {
  readonly grants: readonly ComparedGrant[]
  readonly forbids: readonly ComparedForbid[]
}

function bySide(policies: readonly ComparedPolicy[]): PolicySide {
  return { grants: policies.filter(isGranting), forbids: policies.filter(isForbidding) }
}

/** The policies that can keep a pair from being a change. */
interface Masks {
  /** Policies of the same set that are listed before: they have counted the pair. */
  readonly earlier: readonly ComparedGrant[]
  /** Policies of the other set: with one of them the pair does not change, unless the other set forbids it. */
  readonly masking: readonly ComparedGrant[]
  readonly forbids: { readonly own: readonly ComparedForbid[]; readonly other: readonly ComparedForbid[] }
}

/** One policy whose pairs can change, for actions with the same policies. */
class ComparisonTask {
  readonly change: 'gain' | 'loss'
  readonly group: ComparedGroup
  readonly policy: ComparedGrant
  state: 'new' | 'open' | 'done' | 'incomplete' | 'failed' = 'new'
  /** Pairs that change. */
  pairs = 0
  /** Why nodes were skipped; null: none was. */
  tooLarge: string | null = null
  /** If one of them grants a pair, the pair does not change, or an earlier policy has counted it. Empty if a set forbids. */
  private readonly masking: ComparedGrant[]
  /** Null: no set forbids. */
  private readonly masks: Masks | null
  private readonly context: PairContext
  private readonly sampleMax: number
  private readonly searchedPartnersMin: number
  private readonly pair: Pair
  private readonly sample: ChangedPair[] = []
  /** Pairs of nodes that have an example already: they are shown if there are not enough nodes. */
  private readonly further: ChangedPair[] = []
  private lastSampled: string | null = null
  private source: PolicyPairs | null = null

  constructor(
    change: ComparisonTask['change'],
    group: ComparedGroup,
    policy: ComparedGrant,
    masks: Masks,
    context: PairContext,
    { sampleMax, searchedPartnersMin = SEARCHED_PARTNERS_MIN }: ComparisonLimits,
  ) {
    this.change = change
    this.group = group
    this.policy = policy
    const { earlier, masking, forbids } = masks
    this.masks = forbids.own.length + forbids.other.length === 0 ? null : masks
    this.masking = this.masks === null ? [...earlier, ...masking] : []
    this.context = context
    this.sampleMax = sampleMax
    this.searchedPartnersMin = searchedPartnersMin
    this.pair = new Pair(context.session.snapshot)
  }

  get visited(): number {
    return this.source?.visited ?? 0
  }

  get total(): number {
    return this.source?.total ?? 0
  }

  /**
   * Compares the next node. Returns false after the last one. `refill`: starts the budget with what is left of the comparison. Throws
   * ExecutionError.
   */
  step(refill: () => void): boolean {
    this.state = 'open'
    this.source ??= new PolicyPairs(this.policy, this.context)
    const found = this.source.next()
    if (found === null) {
      this.state = this.tooLarge === null ? 'done' : 'incomplete'
      return false
    }
    const { nodes, ids } = found
    const { left: partners, unchecked } =
      nodes === null ? { left: ids, unchecked: this.masking } : this.notMasked(found, nodes, refill)
    for (let i = 0; i < partners.length; i++) {
      if (i % PAIRS_PER_START === PAIRS_PER_START - 1) refill()
      const partner = partners[i] ?? 0
      if (typeof partner === 'string') this.compare(found, 0, partner, unchecked, refill)
      else this.compare(found, partner, null, unchecked, refill)
    }
    return true
  }

  /** After an error that concerns one node. */
  skipNode(error: ExecutionError): void {
    this.tooLarge = `${error.redactedMessage} for one node`
    this.source?.skip()
  }

  result(): ChangedPairs {
    const { policy, group, pairs, sample, further, sampleMax, state } = this
    return {
      policy: nameOf(policy),
      actions: group.actions,
      subject_type: group.subjectType,
      resource_type: group.resourceType,
      pairs,
      at_least: state !== 'done',
      sample: [...sample, ...further].slice(0, sampleMax),
    }
  }

  private compare(
    found: PairsOfNode,
    node: NodeId,
    id: string | null,
    masking: ComparedGrant[],
    refill: () => void,
  ): void {
    const { pair, context } = this
    pair.set(found.end, found.node, found.id)
    pair.set(found.end === 'subject' ? 'resource' : 'subject', node, id)
    for (let i = 0; i < masking.length; i++) {
      const other = masking[i] as ComparedGrant
      if (!grantsPair(other, context, pair)) continue
      // The next pair is probably granted by the same policy.
      if (i > 0) masking.unshift(...masking.splice(i, 1))
      return
    }
    if (this.masks !== null && !this.changes(this.masks)) return
    this.pairs += 1
    this.keep(found, refill)
  }

  /** Whether the pair, which the policy grants, has another decision in the other set, and is not counted yet. */
  private changes({ earlier, masking, forbids }: Masks): boolean {
    const { context, pair } = this
    const isGranted = (policies: readonly ComparedGrant[]): boolean =>
      policies.some((policy) => grantsPair(policy, context, pair))
    const isForbidden = (policies: readonly ComparedForbid[]): boolean =>
      policies.some((policy) => forbidsPair(policy, context, pair))
    if (isGranted(earlier) || isForbidden(forbids.own)) return false
    return !isGranted(masking) || isForbidden(forbids.other)
  }

  private keep({ end }: PairsOfNode, refill: () => void): void {
    const { pair, sample, further, sampleMax } = this
    if (sample.length >= sampleMax) return
    const followed = end === 'subject' ? pair.subjectId : pair.resourceId
    const isNew = followed !== this.lastSampled
    if (!isNew && further.length >= sampleMax) return
    this.lastSampled = followed
    ;(isNew ? sample : further).push(this.traced())
    refill()
  }

  /** The path takes the limits of a decision. */
  private traced(): ChangedPair {
    const { pair, policy, context } = this
    const { session, parameters } = context
    const { subjectId, resourceId } = pair
    const shown: ChangedPair = {
      subject: { type: policy.subjectType, id: subjectId },
      resource: { type: policy.resourceType, id: resourceId },
    }
    parameters.setSubject(subjectId)
    parameters.setResource(resourceId)
    session.parameters = parameters.values
    try {
      const { matched } = policy.condition.trace(session, subjectId, resourceId)
      return matched === null ? shown : { ...shown, matched: elementsOf(matched) }
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      return shown
    }
  }

  /**
   * Drops partners that another policy grants, if a search of that policy costs less than checks. `unchecked`: the policies with
   * which the partners that are left have to be checked.
   */
  private notMasked(
    found: PairsOfNode,
    nodes: Uint32Array,
    refill: () => void,
  ): { readonly left: Uint32Array; readonly unchecked: ComparedGrant[] } {
    if (nodes.length < this.searchedPartnersMin) return { left: nodes, unchecked: this.masking }
    const unchecked: ComparedGrant[] = []
    let left = nodes
    for (const policy of this.masking) {
      const searched = left.length < this.searchedPartnersMin ? null : this.searched(policy, found, left)
      refill()
      if (searched === null) unchecked.push(policy)
      else left = withoutNodes(left, searched)
    }
    return { left, unchecked }
  }

  /** The partners that a policy grants, up to the last one of `nodes`; null: they have to be checked. */
  private searched(
    { condition, filter, parameters }: ComparedPolicy,
    { end, node }: PairsOfNode,
    nodes: Uint32Array,
  ): Uint32Array | null {
    const { session } = this.context
    if (parameters.length > 0 || filter !== null || node === 0) return null
    if (!condition.isInDefaultGraph || condition.locations.length > 0 || condition.mayFail([session.snapshot]))
      return null
    const after = (nodes[0] ?? 1) - 1
    const { budget } = session
    try {
      budget.limitSteps(nodes.length * STEPS_PER_CHECK)
      const found =
        end === 'subject'
          ? condition.resourcesOfNode(session, node, after, Number.POSITIVE_INFINITY)
          : condition.subjectsOfNode(session, node, after, Number.POSITIVE_INFINITY)
      return found.nodes
    } catch (error) {
      if (error instanceof ExecutionError && error.code === 'budget') return null
      throw error
    }
  }
}

/** Both ascending. */
function withoutNodes(nodes: Uint32Array, removed: Uint32Array): Uint32Array {
  let at = 0
  return nodes.filter((node) => {
    while (at < removed.length && (removed[at] ?? 0) < node) at++
    return removed[at] !== node
  })
}

/** Null: the error concerns only one node. */
function exhaustionOf({ code, subject }: ExecutionError): Exhaustion | null {
  if (code !== 'budget') return null
  if (subject === 'decisionTimeMs') return 'time'
  return subject === 'traversalStepsMax' ? 'steps' : null
}

/** The policies by subject type, resource type and action; actions with the same policies are one group. */
function groupsOf({ old: before, new: after }: PolicySets, scope: ComparisonScope): readonly ComparedGroup[] {
  const byKey = new Map<string, { action: string; old: ComparedPolicy[]; new: ComparedPolicy[] }>()
  const add = (policies: readonly ComparedPolicy[], set: 'old' | 'new'): void => {
    for (const policy of policies) {
      if (!isInScope(policy, scope)) continue
      for (const action of policy.actions) {
        if (scope.action.name !== undefined && scope.action.name !== action) continue
        const key = JSON.stringify([policy.subjectType, policy.resourceType, action])
        const entry = byKey.get(key) ?? { action, old: [], new: [] }
        byKey.set(key, entry)
        // Of policies with the same text one is enough.
        if (!entry[set].some((other) => textOf(other) === textOf(policy))) entry[set].push(policy)
      }
    }
  }
  add(before, 'old')
  add(after, 'new')
  const groups = new Map<string, ComparedGroup>()
  for (const { action, old: oldPolicies, new: newPolicies } of byKey.values()) {
    const first = oldPolicies[0] ?? newPolicies[0]
    if (first === undefined || haveSameTexts(oldPolicies, newPolicies)) continue
    const { subjectType, resourceType } = first
    const signature = writeJson([subjectType, resourceType, oldPolicies.map(textOf), newPolicies.map(textOf)])
    const group = groups.get(signature)
    if (group !== undefined) group.actions.push(action)
    else groups.set(signature, { subjectType, resourceType, actions: [action], old: oldPolicies, new: newPolicies })
  }
  return [...groups.values()]
}

/** Whether the scope has decisions by the policy, for some action. Tags do not select among policies that forbid. */
export function isInScope(policy: ComparedPolicy, { subject, resource, policyTags }: ComparisonScope): boolean {
  if (subject.type !== undefined && subject.type !== policy.subjectType) return false
  if (resource.type !== undefined && resource.type !== policy.resourceType) return false
  return policyTags === undefined || isForbidding(policy) || hasAnyTag(policy, policyTags)
}

function haveSameTexts(a: readonly ComparedPolicy[], b: readonly ComparedPolicy[]): boolean {
  const texts = new Set(a.map(textOf))
  return a.length === b.length && b.every((policy) => texts.has(textOf(policy)))
}

const texts = new WeakMap<ComparedPolicy, string>()

/** The parts of a policy that decide, as text: policies with the same text grant, or forbid, the same pairs. */
function textOf(policy: ComparedPolicy): string {
  const known = texts.get(policy)
  if (known !== undefined) return known
  const { version, effect, subjectType, resourceType, document } = policy
  const text = writeJson([
    version,
    effect,
    subjectType,
    resourceType,
    document.condition.cypher,
    document.condition.filter ?? null,
    policy.model ?? '',
  ])
  texts.set(policy, text)
  return text
}

function nameOf({ id, name, isStored }: ComparedPolicy): ChangedPairs['policy'] {
  return { id: isStored ? id : null, name }
}

function leftOutOf(group: ComparedGroup, policy: ComparedPolicy) {
  const isIn = (set: readonly ComparedPolicy[]): boolean => set.some((other) => textOf(other) === textOf(policy))
  const isOld = isIn(group.old)
  return {
    policy: nameOf(policy),
    in: isOld ? (isIn(group.new) ? ('both' as const) : ('old' as const)) : ('new' as const),
    actions: group.actions,
    subject_type: group.subjectType,
    resource_type: group.resourceType,
  }
}

function howToGive(name: string): string {
  switch (name) {
    case 'subject_properties':
    case 'resource_properties':
    case 'action_properties':
      return `give \`${name.replace('_', '.')}\``
    case 'token':
    case 'subject_id':
      return 'give `token.claims`'
    case 'svc_token':
      return 'give `token.delegation`'
    case '_appId':
      return 'compare as an application agent'
    default:
      return `give \`context.input_params.${name}\``
  }
}
