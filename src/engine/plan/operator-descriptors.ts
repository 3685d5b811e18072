// The descriptor of each operator: its properties that the planner uses, declared once. A new operator does not compile
// without its descriptor, and the analyses of the optimizer (demand, ordering, provided slots) read descriptors instead of a
// `switch` of their own.
// docs/decisions/0030-query-plans.md lists what else a new operator breaks.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import {
  AFTER_CURSOR,
  chainText,
  conjunctionText,
  cursorText,
  distinctFromText,
  expandText,
  namedExpression,
  rangeText,
  repeatedText,
  selectionName,
  selectionText,
  slotNames,
} from './operator-text.ts'
import type { HopTest, OperatorName, Plan, PlannedHop, PlanOf, RepetitionTest } from './operators.ts'
import { showExpression } from './show-expression.ts'

/** Plans in a type: the type itself, items of a list, or members of the items of a list. Never, if none exist. */
type PlansIn<T> = T extends Plan
  ? T
  : T extends readonly (infer Item)[]
    ? Item extends Plan
      ? Item
      : Item extends object
        ? { [Member in keyof Item]-?: Extract<Item[Member], Plan> }[keyof Item]
        : never
    : never

/** The members of a plan record that hold other plans. */
type InputMembers<P> = { [Member in keyof P]-?: [PlansIn<P[Member]>] extends [never] ? never : Member }[keyof P]

type Same<A, B> = [A, B] extends [B, A] ? true : false

/** How a plan record holds its inputs; `never` (which does not compile) if the walks over plans do not know the form. */
type InputShape<P> =
  Same<InputMembers<P>, never> extends true
    ? 'none'
    : Same<InputMembers<P>, 'input'> extends true
      ? 'input'
      : Same<InputMembers<P>, 'input' | 'inner'> extends true
        ? 'input-and-inner'
        : Same<InputMembers<P>, 'branches'> extends true
          ? 'branches'
          : never

type InnerRole<P> = P extends { readonly inner: Plan } ? 'joined' | 'optional' | 'tested' : null

/** The properties of one operator. The optimizer's rewrites are correct only if they are. */
interface OperatorDescriptor<P extends Plan> {
  /** Where the record holds its inputs. The type follows from the record. */
  readonly inputs: InputShape<P>
  /**
   * How the operator uses its inner plan. `joined`: the rows of the inner plan, and so its slots, are part of the output.
   * `optional`: likewise, but an input row stays if the inner plan has no row for it. `tested`: the operator only tests whether
   * the inner plan has a row, so duplicates and later rows do not matter. Null without an inner plan.
   */
  readonly inner: InnerRole<P>
  /**
   * How output rows follow from input rows. `streaming`: each input row yields its own output rows, in input order.
   * `counting`: input order, but a row depends on the rows before it. `reordering`: anything else.
   */
  readonly rowFlow: 'streaming' | 'counting' | 'reordering'
  /** How many input rows the operator needs: `first`, `all`, or as many as the operators above it ask for. */
  readonly rowsNeeded: 'first' | 'all' | 'as-above'
  /** Whether duplicate input rows change the result: they do, they do not, or it depends on the operators above. */
  inputDuplicates(plan: P): 'matter' | 'irrelevant' | 'as-above'
  /** The slots that the operator itself fills; those of its inputs are not among them. */
  fills(plan: P): readonly Slot[]
  /**
   * The slots that the operator writes while it works, such as the elements of one hop for its predicate. They hold nothing
   * afterwards. Slots that it restores are not among them.
   */
  scratch(plan: P): readonly Slot[]
  /** The slots that the operator itself reads. */
  reads(plan: P): readonly Slot[]
  /** The inputs whose slots still hold the current row after the operator has returned it; the frame is shared. */
  readableInputs(plan: P): readonly Plan[]
  /** The slots of the operator itself that then hold the current row: those that it fills, or others. */
  readonly readableSlots: 'filled' | ((plan: P) => readonly Slot[])
  /** The part of the pattern that a decision trace reports as missing if the operator returns no row. */
  readonly missing: 'predicate' | 'relationship' | 'node' | 'given-node' | 'row'
  /** Name and details for explain, in the words of Neo4j's execution plans where Neo4j has the operator. */
  describe(plan: P): OperatorText
}

/** An operator as explain shows it. `detail` is close to Cypher, and empty if there is nothing to show. */
export interface OperatorText {
  readonly operator: string
  readonly detail: string
}

const none = (): readonly never[] => []

/** The common descriptor of most operators: one input, and one output row or more for each input row. */
const streaming = {
  inputs: 'input',
  inner: null,
  rowFlow: 'streaming',
  rowsNeeded: 'as-above',
  inputDuplicates: (): 'as-above' => 'as-above',
  readableInputs: (plan: { readonly input: Plan }) => [plan.input],
  readableSlots: 'filled',
  scratch: none,
} as const

const descriptors: { readonly [Op in OperatorName]: OperatorDescriptor<PlanOf<Op>> } = {
  Argument: {
    ...streaming,
    missing: 'given-node',
    inputs: 'none',
    readableInputs: none,
    fills: (plan) => plan.slots,
    reads: none,
    describe: (plan) => ({ operator: 'Argument', detail: slotNames(plan.slots) }),
  },
  NodeUniqueIndexSeek: {
    ...streaming,
    missing: 'node',
    fills: (plan) => [plan.slot],
    reads: (plan) => slotsOf(plan.externalId),
    describe: ({ slot, label, externalId }) => ({
      operator: 'NodeUniqueIndexSeek',
      detail: `(${slot.name}:${label} {external_id: ${showExpression(externalId)}})`,
    }),
  },
  NodeIndexSeek: {
    ...streaming,
    missing: 'node',
    fills: (plan) => [plan.slot],
    reads: (plan) => slotsOf(plan.value),
    describe: (plan) => ({
      operator: 'NodeIndexSeek',
      detail: `(${plan.slot.name}:${plan.label} {${plan.property}: ${showExpression(plan.value)}})${cursorText(plan)}`,
    }),
  },
  NodeByLabelScan: {
    ...streaming,
    missing: 'node',
    fills: (plan) => [plan.slot],
    reads: none,
    describe: (plan) => ({
      operator: 'NodeByLabelScan',
      detail: `(${plan.slot.name}:${plan.label})${cursorText(plan)}`,
    }),
  },
  AllNodesScan: {
    ...streaming,
    missing: 'node',
    fills: (plan) => [plan.slot],
    reads: none,
    describe: (plan) => ({ operator: 'AllNodesScan', detail: `(${plan.slot.name})${cursorText(plan)}` }),
  },
  ExpandAll: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => [plan.to, plan.relationship],
    reads: (plan) => [plan.from, ...plan.distinctFrom],
    describe: (plan) => ({
      operator: 'Expand(All)',
      detail: `${expandText(plan)}${distinctFromText(plan.distinctFrom)}`,
    }),
  },
  ExpandInto: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => [plan.relationship],
    reads: (plan) => [plan.from, plan.to, ...plan.distinctFrom],
    describe: (plan) => ({
      operator: 'Expand(Into)',
      detail: `${expandText(plan)}${distinctFromText(plan.distinctFrom)}`,
    }),
  },
  VarLengthExpand: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => (plan.into ? [plan.relationship] : [plan.to, plan.relationship]),
    scratch: scratchOfStep,
    reads: (plan) => [plan.from, ...(plan.into ? [plan.to] : []), ...plan.distinctFrom, ...readsOfRepetition(plan)],
    describe: (plan) => ({
      operator: `VarLengthExpand(${plan.into ? 'Into' : 'All'})`,
      detail: `${repeatedText(plan, plan.relationship)}${distinctFromText(plan.distinctFrom)}${plan.repeatable ? ' repeatable' : ''}`,
    }),
  },
  BidirectionalExpandInto: {
    ...streaming,
    missing: 'relationship',
    fills: none,
    scratch: scratchOfChain,
    reads: (plan) => [plan.from, plan.to, ...readsOfChain(plan)],
    describe: (plan) => ({ operator: 'BidirectionalExpandInto', detail: chainText(plan) }),
  },
  PruningExpand: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => [plan.to],
    scratch: scratchOfChain,
    reads: (plan) => [plan.from, ...readsOfChain(plan)],
    describe: (plan) => ({ operator: 'PruningExpand', detail: chainText(plan) }),
  },
  OrderedExpand: {
    ...streaming,
    missing: 'relationship',
    rowFlow: 'reordering',
    fills: (plan) => [plan.to],
    reads: (plan) => [plan.from],
    describe: (plan) => ({
      operator: 'OrderedExpand',
      detail: `${expandText({ ...plan, relationship: null })}${AFTER_CURSOR}`,
    }),
  },
  DerivedExpand: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => (plan.into ? [] : [plan.to]),
    reads: (plan) => [plan.from, ...(plan.into ? [plan.to] : [])],
    describe: (plan) => ({
      operator: `DerivedExpand(${plan.into ? 'Into' : 'All'})`,
      detail: expandText({ ...plan, relationship: null, types: [plan.name] }),
    }),
  },
  ProjectEndpoints: {
    ...streaming,
    missing: 'relationship',
    fills: filledEndpoints,
    reads: readsOfEndpoints,
    describe: (plan) => ({ operator: 'ProjectEndpoints', detail: endpointsText(plan) }),
  },
  ProjectVarLengthEndpoints: {
    ...streaming,
    missing: 'relationship',
    fills: filledEndpoints,
    reads: readsOfEndpoints,
    describe: (plan) => ({ operator: 'ProjectEndpoints', detail: endpointsText(plan, rangeText(plan)) }),
  },
  ShortestPath: {
    ...streaming,
    missing: 'relationship',
    fills: (plan) => [...(plan.into ? [] : [plan.to]), plan.relationship, ...slotsInside(plan)],
    scratch: ({ steps, from, to }) =>
      // The search writes its ends too, and restores them.
      steps.flatMap(scratchOfStep).filter(({ index }) => index !== from.index && index !== to.index),
    reads: (plan) => [plan.from, ...(plan.into ? [plan.to] : []), ...readsOfSelection(plan)],
    describe: (plan) => ({ operator: selectionName(plan), detail: selectionText(plan) }),
  },
  GroupVariables: {
    ...streaming,
    missing: 'row',
    fills: (plan) => plan.groups.map(({ slot }) => slot),
    reads: (plan) => [plan.start, plan.relationship],
    describe: (plan) => ({ operator: 'GroupVariables', detail: slotNames(plan.groups.map(({ slot }) => slot)) }),
  },
  Cast: {
    ...streaming,
    missing: 'row',
    fills: (plan) => plan.casts.map((cast) => cast.to),
    reads: (plan) => plan.casts.map((cast) => cast.from),
    describe: (plan) => ({
      operator: 'Cast',
      detail: plan.casts.map(({ from, to }) => `${from.name} to ${to.kind}`).join(', '),
    }),
  },
  Filter: {
    ...streaming,
    missing: 'predicate',
    fills: none,
    reads: (plan) => plan.predicates.flatMap((predicate) => slotsOf(predicate)),
    describe: (plan) => ({ operator: 'Filter', detail: conjunctionText(plan.predicates) }),
  },
  SemiApply: {
    ...streaming,
    missing: 'row',
    inputs: 'input-and-inner',
    inner: 'tested',
    readableInputs: (plan) => (plan.negated ? [plan.input] : [plan.input, plan.inner]),
    fills: none,
    reads: none,
    describe: (plan) => ({ operator: plan.negated ? 'AntiSemiApply' : 'SemiApply', detail: '' }),
  },
  Optional: {
    ...streaming,
    missing: 'row',
    inputs: 'input-and-inner',
    inner: 'optional',
    // Without a match it sets its own slots to null; the slots of patterns that it only tested are stale.
    readableSlots: (plan) => plan.nulls,
    fills: none,
    reads: none,
    describe: (plan) => ({ operator: 'Optional', detail: slotNames(plan.nulls) }),
  },
  Apply: {
    ...streaming,
    missing: 'row',
    inputs: 'input-and-inner',
    inner: 'joined',
    readableInputs: (plan) => [plan.input, plan.inner],
    fills: none,
    reads: none,
    describe: () => ({ operator: 'Apply', detail: '' }),
  },
  Union: {
    ...streaming,
    missing: 'row',
    inputs: 'branches',
    rowFlow: 'reordering',
    readableInputs: none,
    // One branch has filled the row: only the slots that every branch fills are valid.
    readableSlots: ({ branches: [first] }) =>
      first && first.op !== 'Argument' ? descriptorOf(first).fills(first) : [],
    fills: none,
    reads: none,
    describe: () => ({ operator: 'Union', detail: '' }),
  },
  Unwind: {
    ...streaming,
    missing: 'row',
    fills: (plan) => [plan.slot],
    reads: (plan) => slotsOf(plan.list),
    describe: (plan) => ({ operator: 'Unwind', detail: `${showExpression(plan.list)} AS ${plan.slot.name}` }),
  },
  MakePath: {
    ...streaming,
    missing: 'row',
    fills: (plan) => [plan.slot],
    reads: (plan) => [...plan.nodes, ...plan.relationships],
    describe: (plan) => ({ operator: 'MakePath', detail: plan.slot.name }),
  },
  Projection: {
    ...streaming,
    missing: 'row',
    fills: (plan) => plan.items.map((item) => item.slot),
    reads: (plan) => plan.items.flatMap((item) => slotsOf(item.expression)),
    describe: (plan) => ({ operator: 'Projection', detail: plan.items.map(namedExpression).join(', ') }),
  },
  EagerAggregation: {
    ...streaming,
    missing: 'row',
    rowFlow: 'reordering',
    rowsNeeded: 'all',
    inputDuplicates: (plan) => (plan.aggregates.every(ignoresDuplicates) ? 'irrelevant' : 'matter'),
    readableInputs: none,
    readableSlots: (plan) =>
      plan.grouping.flatMap(({ slot, expression }) =>
        expression.kind === 'slot' && expression.slot.index === slot.index ? [slot] : [],
      ),
    fills: (plan) => [...plan.grouping.map((item) => item.slot), ...plan.aggregates.map((item) => item.slot)],
    reads: (plan) => [
      ...plan.grouping.flatMap((item) => slotsOf(item.expression)),
      ...plan.aggregates.flatMap(({ argument, parameter }) => [
        ...(argument ? slotsOf(argument) : []),
        ...(parameter ? slotsOf(parameter) : []),
      ]),
    ],
    describe: ({ grouping, aggregates }) => ({
      operator: 'EagerAggregation',
      detail: `${aggregates.map(aggregateText).join(', ')}${grouping.length > 0 ? ` BY ${grouping.map(namedExpression).join(', ')}` : ''}`,
    }),
  },
  Distinct: {
    ...streaming,
    missing: 'row',
    rowFlow: 'counting',
    inputDuplicates: () => 'irrelevant',
    fills: none,
    reads: (plan) => plan.slots,
    describe: (plan) => ({
      operator: plan.searchOrder === 'ascending' ? 'OrderedDistinct' : 'Distinct',
      detail: slotNames(plan.slots),
    }),
  },
  Sort: {
    ...streaming,
    missing: 'row',
    rowFlow: 'reordering',
    rowsNeeded: 'all',
    inputDuplicates: (plan) => (plan.limit === null && plan.skip === null ? 'as-above' : 'matter'),
    readableInputs: none,
    readableSlots: (plan) => plan.slots,
    fills: none,
    reads: (plan) => [...plan.slots, ...plan.by.flatMap((item) => slotsOf(item.expression))],
    describe: ({ by, skip, limit }) => {
      const keys = by.map((item) => showExpression(item.expression) + (item.descending ? ' DESC' : '')).join(', ')
      return limit
        ? {
            operator: 'Top',
            detail: `${keys} LIMIT ${showExpression(limit)}${skip ? ` SKIP ${showExpression(skip)}` : ''}`,
          }
        : { operator: 'Sort', detail: keys }
    },
  },
  Skip: {
    ...streaming,
    missing: 'row',
    rowFlow: 'counting',
    inputDuplicates: () => 'matter',
    fills: none,
    reads: none,
    describe: (plan) => ({ operator: 'Skip', detail: showExpression(plan.count) }),
  },
  Limit: {
    ...streaming,
    missing: 'row',
    rowFlow: 'counting',
    inputDuplicates: () => 'matter',
    fills: none,
    reads: none,
    describe: (plan) => ({ operator: 'Limit', detail: showExpression(plan.count) }),
  },
  First: {
    ...streaming,
    missing: 'row',
    rowFlow: 'counting',
    rowsNeeded: 'first',
    inputDuplicates: () => 'irrelevant',
    fills: none,
    reads: none,
    describe: () => ({ operator: 'First', detail: '' }),
  },
}

/** The descriptor of the operator at the root of a plan. */
export function descriptorOf<P extends Plan>(plan: P): OperatorDescriptor<P> {
  return descriptors[plan.op] as unknown as OperatorDescriptor<P>
}

/** A plan that another plan reads from, and what it is to that plan. */
export interface PlanInput {
  readonly role: 'input' | 'inner' | 'branch'
  readonly plan: Plan
}

/** The inputs of a plan, in the order in which explain shows them. */
export function inputsOf(plan: Plan): readonly PlanInput[] {
  if ('branches' in plan) return plan.branches.map((branch) => ({ role: 'branch', plan: branch }))
  if ('inner' in plan) {
    return [
      { role: 'inner', plan: plan.inner },
      { role: 'input', plan: plan.input },
    ]
  }
  return 'input' in plan ? [{ role: 'input', plan: plan.input }] : noInputs(plan)
}

/** The plan from which the rows of an operator come; null for Argument and for Union, which has several. */
export function inputOf(plan: Plan): Plan | null {
  if ('branches' in plan) return null
  if ('input' in plan) return plan.input
  noInputs(plan)
  return null
}

/** The same operator over changed inputs; the same object if no input changed. */
export function mapInputs(plan: Plan, change: (input: Plan, role: PlanInput['role']) => Plan): Plan {
  if ('branches' in plan) {
    const branches = plan.branches.map((branch) => change(branch, 'branch'))
    return branches.every((branch, i) => branch === plan.branches[i]) ? plan : { ...plan, branches }
  }
  if ('inner' in plan) {
    const input = change(plan.input, 'input')
    const inner = change(plan.inner, 'inner')
    return input === plan.input && inner === plan.inner ? plan : { ...plan, input, inner }
  }
  if ('input' in plan) {
    const input = change(plan.input, 'input')
    return input === plan.input ? plan : { ...plan, input }
  }
  noInputs(plan)
  return plan
}

/** Argument is the only operator without input: another one does not compile here. */
function noInputs(_plan: PlanOf<'Argument'>): readonly PlanInput[] {
  return []
}

interface RepeatedHops {
  readonly each: HopTest | null
  readonly further: readonly PlannedHop[]
}

function testsIn({ each, further }: RepeatedHops): readonly HopTest[] {
  return [each, ...further.map((hop) => hop.each)].flatMap((test) => test ?? [])
}

/** The slots that the tests of the hops read; those that the step fills itself are among them. */
function readsOfHops(step: RepeatedHops): readonly Slot[] {
  return testsIn(step).flatMap((test) => slotsOf(test.predicate))
}

interface TestedStep extends RepeatedHops {
  readonly repetition: RepetitionTest | null
}

/** The slots of the elements of one hop and of one repetition. */
function scratchOfStep(step: TestedStep): readonly Slot[] {
  const { nodes = [], relationships = [] } = step.repetition ?? {}
  return [...scratchOfHops(step), ...nodes, ...relationships]
}

function scratchOfHops(step: RepeatedHops): readonly Slot[] {
  return testsIn(step).flatMap(({ element, near, far }) => [element, near, far].flatMap((slot) => slot ?? []))
}

function scratchOfChain({ links, intermediates }: ExpandedChain): readonly Slot[] {
  return [...intermediates.map((node) => node.slot), ...links.flatMap(scratchOfHops)]
}

function readsOfRepetition(step: TestedStep): readonly Slot[] {
  return [...readsOfHops(step), ...(step.repetition?.predicates ?? []).flatMap(slotsOf)]
}

/** The slots that a path with a selector fills between its ends. */
function slotsInside({ nodes, steps, path }: PlanOf<'ShortestPath'>): readonly Slot[] {
  return [
    ...(path === null ? [] : [path]),
    ...nodes.slice(1, -1).map(({ slot }) => slot),
    ...steps.flatMap(({ slot, groups }) => [slot, ...groups.map((group) => group.slot)]),
  ]
}

function readsOfSelection({ steps, nodes, predicates }: PlanOf<'ShortestPath'>): readonly Slot[] {
  return [
    ...nodes.flatMap((node) => node.predicates).flatMap(slotsOf),
    ...predicates.flatMap(slotsOf),
    ...steps.flatMap(readsOfRepetition),
  ]
}

type ExpandedChain = PlanOf<'BidirectionalExpandInto' | 'PruningExpand'>

function readsOfChain({ links, intermediates }: ExpandedChain): readonly Slot[] {
  const predicates: BoundExpression[] = intermediates.flatMap((node) => node.predicates)
  return [...predicates.flatMap((predicate) => slotsOf(predicate)), ...links.flatMap(readsOfHops)]
}

type Endpoints = PlanOf<'ProjectEndpoints' | 'ProjectVarLengthEndpoints'>

function filledEndpoints({ from, to }: Endpoints): readonly Slot[] {
  return [from, to].flatMap((end) => (end.known ? [] : [end.slot]))
}

function readsOfEndpoints({ relationship, from, to, distinctFrom }: Endpoints): readonly Slot[] {
  return [relationship, ...(from.known ? [from.slot] : []), ...(to.known ? [to.slot] : []), ...distinctFrom]
}

function endpointsText(plan: Endpoints, range = ''): string {
  const step = { ...plan, from: plan.from.slot, to: plan.to.slot }
  return `${expandText(step, range)}${distinctFromText(plan.distinctFrom)}`
}

type PlannedAggregate = PlanOf<'EagerAggregation'>['aggregates'][number]

function ignoresDuplicates({ distinct, name }: PlannedAggregate): boolean {
  return distinct || name === 'min' || name === 'max'
}

function aggregateText({ slot, name, distinct, argument }: PlannedAggregate): string {
  return `${slot.name} = ${name}(${distinct ? 'DISTINCT ' : ''}${argument ? showExpression(argument) : '*'})`
}
