// Goals with their answers: the pairs of a definition with one end or both ends given. The executions of one context share those that
// are complete, so what one policy or one question of a batch has derived is not derived again.
import type { TabledDefinition } from '../bind/bound.ts'
import type { Budget } from '../budget.ts'
import type { NodeId, Snapshot } from '../store.ts'
import { identical } from '../value/identical.ts'
import type { Value } from '../value/value.ts'
import { OrderedNodeSet } from './node-set.ts'

/** The given ends of a goal: both, the source or the target. */
export type GoalForm = 'pair' | 'out' | 'in'

/** What goals that become complete together have in common. */
export class Fixpoint {
  /** Whether no alternative of these goals is left to run. Stays false if a limit ends the execution before. */
  isComplete = false
}

/** The question for the pairs of a definition with the given ends, and the answers that are known. 0: the end is not given. */
export class Goal {
  readonly form: GoalForm
  readonly source: NodeId
  readonly target: NodeId
  readonly fixpoint: Fixpoint
  /** Whether the given pair is one. */
  holds = false
  /** Empty for a pair. */
  readonly answers: OrderedNodeSet

  constructor(form: GoalForm, source: NodeId, target: NodeId, fixpoint: Fixpoint) {
    this.form = form
    this.source = source
    this.target = target
    this.fixpoint = fixpoint
    this.answers = form === 'pair' ? noAnswers : new OrderedNodeSet()
  }

  /** Whether no further answer can follow. */
  get isAnswered(): boolean {
    return this.holds || this.fixpoint.isComplete
  }
}

const noAnswers = new OrderedNodeSet()

/** The goals of one definition on one graph. */
export class GoalIndex {
  /** The values of the parameters that the definition reads, itself or through others. */
  readonly parameters: readonly (Value | undefined)[]
  private readonly out = new Map<NodeId, Goal>()
  private readonly in = new Map<NodeId, Goal>()
  private readonly pairs = new Map<NodeId, Map<NodeId, Goal>>()

  constructor(parameters: readonly (Value | undefined)[]) {
    this.parameters = parameters
  }

  get(form: GoalForm, source: NodeId, target: NodeId): Goal | undefined {
    if (form === 'pair') return this.pairs.get(source)?.get(target)
    return form === 'out' ? this.out.get(source) : this.in.get(target)
  }

  /** Adds a goal, in place of one with the same ends. */
  set(goal: Goal): void {
    const { form, source, target } = goal
    if (form === 'out') this.out.set(source, goal)
    else if (form === 'in') this.in.set(target, goal)
    else {
      const ofSource = this.pairs.get(source)
      if (ofSource === undefined) this.pairs.set(source, new Map([[target, goal]]))
      else ofSource.set(target, goal)
    }
  }
}

/** Goals and answers up to which a further execution finds them: some megabytes. */
const ENTRIES_MAX = 50_000

/**
 * The goals of the executions of one context, by graph and definition. Definitions of two models differ, also if their texts are equal.
 * An execution uses a goal of another one only if it is answered.
 */
export class KnownGoals {
  private bySnapshot = new Map<Snapshot, Map<TabledDefinition, GoalIndex>>()
  /** Goals and answers. */
  private entries = 0

  /** Called before each execution: forgets all goals if they are many. */
  begin(): void {
    if (this.entries <= ENTRIES_MAX) return
    this.bySnapshot = new Map()
    this.entries = 0
  }

  /** Counts a goal or an answer. */
  count(): void {
    this.entries += 1
  }

  /** The goals for these values of the parameters that the definition reads. Those for other values are forgotten. */
  goalsOf(
    snapshot: Snapshot,
    definition: TabledDefinition,
    parameters: readonly (Value | undefined)[],
    budget: Budget,
  ): GoalIndex {
    let ofSnapshot = this.bySnapshot.get(snapshot)
    if (ofSnapshot === undefined) {
      ofSnapshot = new Map()
      this.bySnapshot.set(snapshot, ofSnapshot)
    }
    const known = ofSnapshot.get(definition)
    if (known?.parameters.every((value, at) => identical(budget, value, parameters[at])) === true) return known
    const goals = new GoalIndex(parameters)
    ofSnapshot.set(definition, goals)
    return goals
  }
}
