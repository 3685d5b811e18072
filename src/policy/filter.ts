// A decision filter: decides by tokens and parameters alone, before the graph is asked. Three-valued: what an absent claim
// leaves open is open under NOT too, and only what is surely true lets the policy take part.
import { RunFault } from '../engine/errors.ts'
import { contains, equals, isList, isMap, isNumber, lessOrEqual, lessThan } from '../engine/value/compare.ts'
import { effortOnItems, effortOnText } from '../engine/value/effort.ts'
import { instantMs } from '../engine/value/instant.ts'
import { chargedPattern, type TextPattern } from '../engine/value/pattern.ts'
import { includesText } from '../engine/value/text-work.ts'
import type { Truth, Value } from '../engine/value/value.ts'
import { unreachable } from '../kernel/assert.ts'
import { type Reference, valueAt } from './reference.ts'

export const comparisons = ['=', '<>', '<', '<=', '>', '>='] as const
export const textOperators = ['=~', 'STARTS WITH', 'ENDS WITH', 'CONTAINS'] as const
export const nullTests = ['IS NULL', 'IS NOT NULL'] as const

export type LeafOperator =
  | (typeof comparisons)[number]
  | (typeof textOperators)[number]
  | (typeof nullTests)[number]
  | 'IN'

export type Advice = Readonly<Record<string, string>>
type Parameters = ReadonlyMap<string, Value>

export type Operand =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'reference'; readonly reference: Reference }
  | { readonly kind: 'list'; readonly items: readonly Operand[] }
  /** Milliseconds since the epoch, so that moments written in different ways compare. */
  | { readonly kind: 'instant'; readonly of: Operand }
  | { readonly kind: 'pattern'; readonly pattern: TextPattern }

interface Placed {
  /** From `policy`: where the author finds it. */
  readonly path: string
  readonly advice: Advice | null
}

export type FilterNode = Placed &
  (
    | { readonly kind: 'and' | 'or'; readonly operands: readonly FilterNode[] }
    | { readonly kind: 'not'; readonly operand: FilterNode }
    | {
        readonly kind: 'leaf'
        readonly operator: LeafOperator
        readonly attribute: Reference
        /** Null for the null tests. */
        readonly operand: Operand | null
      }
  )

export interface FailingLeaf {
  readonly path: string
  readonly operator: LeafOperator
  readonly attribute: string
  /** The attribute, or what it is compared with, is not there. */
  readonly unknown: boolean
}

export interface Refusal {
  /** Of the leaves, and of the branches around them; each once, in the order of the text. */
  readonly advice: readonly Advice[]
  readonly leaves: readonly FailingLeaf[]
}

export class Filter {
  /** Roots of the references, each once. */
  readonly parameters: readonly string[]
  private readonly root: FilterNode

  constructor(root: FilterNode, parameters: readonly string[]) {
    this.root = root
    this.parameters = parameters
  }

  /** Throws a RunFault `missing-parameter` where a parameter is not what its place takes. */
  admits(parameters: Parameters): boolean {
    return truthOf(this.root, parameters) === true
  }

  /** Why it does not admit them. */
  refusal(parameters: Parameters): Refusal {
    const advice = new Set<Advice>()
    const leaves: FailingLeaf[] = []
    collect(this.root, true, parameters, advice, leaves)
    return { advice: [...advice], leaves }
  }
}

function truthOf(node: FilterNode, parameters: Parameters): Truth {
  effortOnItems(1)
  switch (node.kind) {
    case 'leaf':
      return leafTruth(node, parameters)
    case 'not': {
      const truth = truthOf(node.operand, parameters)
      return truth === null ? null : !truth
    }
    case 'and':
      return joined(node.operands, parameters, false)
    case 'or':
      return joined(node.operands, parameters, true)
    default:
      return unreachable(node)
  }
}

/** `decisive`: the truth of one operand that settles the whole. */
function joined(operands: readonly FilterNode[], parameters: Parameters, decisive: boolean): Truth {
  let truth: Truth = !decisive
  for (const operand of operands) {
    const one = truthOf(operand, parameters)
    if (one === decisive) return decisive
    if (one === null) truth = null
  }
  return truth
}

/** After the filter has decided: a parameter that is wrong where the decision never looked leaves its leaf open. */
function truthAfter(node: FilterNode, parameters: Parameters): Truth {
  try {
    return truthOf(node, parameters)
  } catch (fault) {
    if (!(fault instanceof RunFault)) throw fault
    return null
  }
}

/** The leaves that keep `node` from being `wanted`, which it is not. */
function collect(
  node: FilterNode,
  wanted: boolean,
  parameters: Parameters,
  advice: Set<Advice>,
  leaves: FailingLeaf[],
): void {
  if (node.advice !== null) advice.add(node.advice)
  if (node.kind === 'leaf') {
    const unknown = truthAfter(node, parameters) === null
    leaves.push({ path: node.path, operator: node.operator, attribute: node.attribute.text, unknown })
  } else if (node.kind === 'not') {
    collect(node.operand, !wanted, parameters, advice, leaves)
  } else {
    for (const operand of node.operands) {
      if (truthAfter(operand, parameters) !== wanted) collect(operand, wanted, parameters, advice, leaves)
    }
  }
}

type Leaf = Extract<FilterNode, { kind: 'leaf' }>

function leafTruth({ operator, attribute, operand }: Leaf, parameters: Parameters): Truth {
  const left = valueAt(attribute, parameters)
  if (operator === 'IS NULL') return left === null
  if (operator === 'IS NOT NULL') return left !== null
  if (left === null || operand === null) return null
  if (operand.kind === 'pattern') return typeof left === 'string' ? operand.pattern.matches(left) : null
  if (operand.kind === 'instant') return compared(operator, instantMs(left), instantOf(operand.of, parameters))
  const right = operandValue(operand, parameters)
  if (right === null) return null
  switch (operator) {
    case 'IN':
      return isList(right) ? isOneOf(left, right) : null
    case 'STARTS WITH':
      return bothText(left, right) ? startsWith(left, right as string) : null
    case 'ENDS WITH':
      return bothText(left, right) ? endsWith(left, right as string) : null
    case 'CONTAINS':
      // A claim such as `roles` is a list, and has the item; one such as `scope` is a text.
      if (isList(left)) return isOneOf(right, left)
      return bothText(left, right) ? includesText(left, right as string) : null
    case '=~':
      return typeof left === 'string' ? patternFrom(operand, right).matches(left) : null
    default:
      return compared(operator, left, right)
  }
}

function startsWith(text: string, part: string): boolean {
  effortOnText(part.length)
  return text.startsWith(part)
}

function endsWith(text: string, part: string): boolean {
  effortOnText(part.length)
  return text.endsWith(part)
}

function bothText(left: Value, right: Value): left is string {
  return typeof left === 'string' && typeof right === 'string'
}

/** Kinds that do not compare leave it open, so that no negation of it is true either. */
function compared(operator: LeafOperator, left: Value, right: Value): Truth {
  if (left === null || right === null || !sameKind(left, right)) return null
  switch (operator) {
    case '=':
      return equals(left, right)
    case '<>': {
      const same = equals(left, right)
      return same === null ? null : !same
    }
    case '<':
      return lessThan(left, right)
    case '<=':
      return lessOrEqual(left, right)
    case '>':
      return lessThan(right, left)
    case '>=':
      return lessOrEqual(right, left)
    default:
      return null
  }
}

function sameKind(left: Value, right: Value): boolean {
  if (isNumber(left)) return isNumber(right)
  if (isList(left)) return isList(right)
  if (isMap(left)) return isMap(right)
  return typeof left === typeof right
}

function isOneOf(value: Value, list: readonly Value[]): Truth {
  const found = contains(list, value)
  return found === false && !list.every((item) => isComparable(value, item)) ? null : found
}

function isComparable(value: Value, item: Value): boolean {
  effortOnItems(1)
  return item !== null && sameKind(value, item)
}

function operandValue(operand: Operand, parameters: Parameters): Value {
  switch (operand.kind) {
    case 'literal':
      return operand.value
    case 'reference':
      return valueAt(operand.reference, parameters)
    case 'list':
      return operand.items.map((item) => {
        effortOnItems(1)
        return operandValue(item, parameters)
      })
    default:
      return null
  }
}

function instantOf(operand: Operand, parameters: Parameters): number | null {
  const value = operandValue(operand, parameters)
  const ms = instantMs(value)
  if (ms === null && value !== null) refuseParameter(operand)
  return ms
}

function patternFrom(operand: Operand, source: Value): TextPattern {
  const compiled = typeof source === 'string' ? chargedPattern(source) : null
  if (compiled?.ok) return compiled.value
  refuseParameter(operand)
  return { matches: () => false }
}

/** A claim is what its issuer made it; what a caller sent wrongly, the caller is told. */
function refuseParameter(operand: Operand): void {
  if (operand.kind !== 'reference') return
  const { root } = operand.reference
  if (root === 'token' || root === 'svc_token') return
  throw new RunFault('missing-parameter', `parameter \`$${root}\` is not what the filter takes`, root)
}
