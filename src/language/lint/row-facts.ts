// The facts that hold for every row of a condition: what its predicates say about single properties, parameters and labels.
// A contradiction among them means that no row exists. The analysis is sound and incomplete: a fact is recorded only if the
// predicate can be true with no other value, under three-valued logic and for values of any kind.
import type { Comparison } from '../../../grammar/ast.ts'
import type { BoundExpression, BoundLabels, BoundMatch, Slot } from '../../engine/bind/bound.ts'
import type { Value } from '../../engine/value/value.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'

type ComparisonSign = Comparison['rest'][number]['operator']
/** A value whose comparisons the analysis knows. Integers and floats are compared exactly, also when mixed. */
export type Literal = number | bigint | string | boolean

/** Where a value is read from: the same key means the same value within one row. */
export interface FactTerm {
  readonly key: string
  /** For messages. */
  readonly text: string
}

interface Bound {
  readonly value: number | bigint
  readonly isStrict: boolean
}

interface TermFacts {
  /** All values that remain; null: not limited. */
  values: readonly Literal[] | null
  excluded: readonly Literal[]
  lower: Bound | null
  upper: Bound | null
  kind: 'number' | 'string' | 'boolean' | null
  isNull: boolean
  isNotNull: boolean
}

const unknownTerm: TermFacts = {
  values: null,
  excluded: [],
  lower: null,
  upper: null,
  kind: null,
  isNull: false,
  isNotNull: false,
}

const reversed: Readonly<Record<ComparisonSign, ComparisonSign>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

/** Facts about one row. `contradiction`: why no row exists; null: one may exist. */
export class RowFacts {
  contradiction: string | null = null
  private terms = new Map<string, TermFacts>()
  private labels = new Map<number, { readonly has: Set<string>; readonly lacks: Set<string> }>()
  private readonly aliases = new Map<number, FactTerm>()
  private readonly nodeTypes = new Map<number, string>()
  private readonly present = new Set<number>()

  /** The same facts, to which others can be added. */
  clone(): RowFacts {
    const copy = new RowFacts()
    copy.contradiction = this.contradiction
    for (const [key, facts] of this.terms) copy.terms.set(key, { ...facts })
    for (const [slot, { has, lacks }] of this.labels)
      copy.labels.set(slot, { has: new Set(has), lacks: new Set(lacks) })
    for (const [slot, term] of this.aliases) copy.aliases.set(slot, term)
    for (const [slot, type] of this.nodeTypes) copy.nodeTypes.set(slot, type)
    for (const slot of this.present) copy.present.add(slot)
    return copy
  }

  /** A node of a known type. */
  setType(slot: Slot, type: string): void {
    const other = this.nodeTypes.get(slot.index)
    if (other !== undefined && other !== type)
      this.contradict(`\`${slot.name}\` cannot have two types, \`${other}\` and \`${type}\``)
    this.nodeTypes.set(slot.index, type)
    this.assumeLabel(slot, type, true)
    this.compare(elementTerm(slot, 'type', true), '=', type)
  }

  /** A parameter with a known value. */
  setParameter(name: string, value: string | null): void {
    const term = parameterTerm(name, [])
    if (value === null) this.assumeNull(term, true)
    else this.compare(term, '=', value)
  }

  /** A slot that holds the value of an expression. */
  setAlias(slot: Slot, expression: BoundExpression): void {
    const term = this.termOf(expression)
    if (term !== null) this.aliases.set(slot.index, term)
  }

  /** The nodes and predicates of a MATCH that is not optional. */
  assumeMatch(match: BoundMatch): void {
    for (const { slot } of match.nodes) this.present.add(slot.index)
    for (const { slot } of match.relationships) this.present.add(slot.index)
    for (const predicate of match.predicates) this.assume(predicate, true)
    for (const { range, each, selection } of match.relationships) {
      if (selection !== null) continue
      if (range?.max != null && range.max < range.min)
        this.contradict(`a walk cannot have at least ${range.min} and at most ${range.max} relationships`)
      if (each === null || (range !== null && range.min === 0)) continue
      const inner = this.clone()
      inner.assume(each.predicate, true)
      if (inner.contradiction !== null) this.contradict(inner.contradiction)
    }
  }

  /** The expression is true, or, if `wanted` is false, it is false. */
  assume(expression: BoundExpression, wanted: boolean): void {
    switch (expression.kind) {
      case 'constant':
        if (expression.value !== wanted) this.contradict('a predicate is never true')
        return
      case 'and':
      case 'or':
        if ((expression.kind === 'and') === wanted)
          for (const operand of expression.operands) this.assume(operand, wanted)
        else this.assumeOne(expression.operands.map((operand) => (facts) => facts.assume(operand, wanted)))
        return
      case 'not':
        this.assume(expression.operand, !wanted)
        return
      case 'comparison':
        this.assumeComparison(expression.left, expression.operator, expression.right, wanted)
        return
      case 'null-test': {
        const isNull = expression.negated !== wanted
        const { operand } = expression
        if (isNull && operand.kind === 'slot' && this.present.has(operand.slot.index))
          this.contradict(`\`${operand.slot.name}\` is never null`)
        const term = this.termOf(operand)
        if (term !== null) this.assumeNull(term, isNull)
        return
      }
      case 'binary':
        this.assumeBinary(expression.operator, expression.left, expression.right, wanted)
        return
      case 'label-test':
        if (expression.target.kind === 'slot') this.assumeLabels(expression.target.slot, expression.labels, wanted)
        return
      case 'exists': {
        if (!wanted) return
        const inner = this.clone()
        inner.assumeMatch(expression.match)
        if (inner.contradiction !== null) this.contradict(inner.contradiction)
        return
      }
      case 'element-property':
      case 'parameter':
      case 'slot': {
        const term = this.termOf(expression)
        if (term !== null) this.compare(term, '=', wanted)
        return
      }
      case 'xor':
      case 'element-properties':
      case 'property':
      case 'index':
      case 'slice':
      case 'negate':
      case 'list':
      case 'map':
      case 'value-test':
      case 'case':
      case 'function':
      case 'list-comprehension':
      case 'quantifier':
      case 'reduce':
      case 'subquery':
        return
      default:
        assertNever(expression)
    }
  }

  /** At least one of the assumptions holds. */
  assumeOne(options: readonly ((facts: RowFacts) => void)[]): void {
    let reason: string | null = null
    let possible: ((facts: RowFacts) => void) | null = null
    for (const option of options) {
      const branch = this.clone()
      option(branch)
      if (branch.contradiction === null) {
        if (possible !== null) return
        possible = option
      } else reason ??= branch.contradiction
    }
    if (possible !== null) possible(this)
    else if (reason !== null) this.contradict(reason)
  }

  /** The term has a value, and the comparison with the literal is true. */
  compare(term: FactTerm, operator: ComparisonSign, literal: Literal): void {
    this.change(term, (facts) => {
      facts.isNotNull = true
      switch (operator) {
        case '=':
          facts.values = (facts.values ?? [literal]).filter((one) => isEqual(one, literal))
          this.kindOf(term, facts, literal)
          return
        case '<>':
          facts.excluded = [...facts.excluded, literal]
          return
        default:
          // Values of two kinds have no order.
          this.kindOf(term, facts, literal)
          if (typeof literal !== 'number' && typeof literal !== 'bigint') return
          if (operator.startsWith('<')) facts.upper = tighter(facts.upper, literal, operator === '<', -1)
          else facts.lower = tighter(facts.lower, literal, operator === '>', 1)
      }
    })
  }

  /** The term is one of the literals. */
  assumeOneOf(term: FactTerm, literals: readonly Literal[]): void {
    this.change(term, (facts) => {
      facts.isNotNull = true
      facts.values =
        facts.values === null ? literals : facts.values.filter((one) => literals.some((other) => isEqual(one, other)))
    })
  }

  /** The term is null, or is not. */
  assumeNull(term: FactTerm, isNull: boolean): void {
    this.change(term, (facts) => {
      if (isNull) facts.isNull = true
      else facts.isNotNull = true
    })
  }

  /** The term is a string. */
  assumeText(term: FactTerm): void {
    this.change(term, (facts) => {
      facts.isNotNull = true
      this.kindOf(term, facts, '')
    })
  }

  /** Whether the expression is true for every row for which the facts hold. */
  implies(expression: BoundExpression): boolean {
    switch (expression.kind) {
      case 'constant':
        return expression.value === true
      case 'and':
        return expression.operands.every((operand) => this.implies(operand))
      case 'or':
        return expression.operands.some((operand) => this.implies(operand))
      case 'comparison': {
        const [term, literal] = [this.termOf(expression.left), literalOf(expression.right)]
        if (term !== null && literal !== undefined) return this.impliesComparison(term, expression.operator, literal)
        const [other, first] = [this.termOf(expression.right), literalOf(expression.left)]
        if (other === null || first === undefined) return false
        return this.impliesComparison(other, reversed[expression.operator], first)
      }
      case 'null-test': {
        const term = this.termOf(expression.operand)
        const facts = term === null ? undefined : this.terms.get(term.key)
        return facts !== undefined && (expression.negated ? facts.isNotNull : facts.isNull)
      }
      case 'binary': {
        if (expression.operator !== 'IN') return false
        const term = this.termOf(expression.left)
        const values = term === null ? null : (this.terms.get(term.key)?.values ?? null)
        const list = literalsOf(expression.right)
        return (
          values !== null &&
          list !== null &&
          values.every((one) => list.some((other) => other !== null && isEqual(one, other)))
        )
      }
      case 'label-test':
        return expression.target.kind === 'slot' && this.impliesLabels(expression.target.slot, expression.labels)
      default:
        return false
    }
  }

  private impliesComparison(term: FactTerm, operator: ComparisonSign, literal: Literal): boolean {
    const facts = this.terms.get(term.key)
    if (facts === undefined) return false
    if (facts.values !== null) return facts.values.every((value) => isCertain(value, operator, literal))
    if (operator === '<>') return facts.isNotNull && facts.excluded.some((one) => isEqual(one, literal))
    if (typeof literal !== 'number' && typeof literal !== 'bigint') return false
    const { lower, upper } = facts
    switch (operator) {
      case '<':
      case '<=':
        return (
          upper !== null &&
          (upper.value < literal || (isEqual(upper.value, literal) && (operator === '<=' || upper.isStrict)))
        )
      case '>':
      case '>=':
        return (
          lower !== null &&
          (lower.value > literal || (isEqual(lower.value, literal) && (operator === '>=' || lower.isStrict)))
        )
      case '=':
        return false
      default:
        return assertNever(operator)
    }
  }

  private impliesLabels(slot: Slot, labels: BoundLabels): boolean {
    const known = this.labels.get(slot.index)
    if (known === undefined) return false
    switch (labels.kind) {
      case 'label':
        return known.has.has(labels.name)
      case 'label-and':
        return labels.operands.every((operand) => this.impliesLabels(slot, operand))
      case 'label-or':
        return labels.operands.some((operand) => this.impliesLabels(slot, operand))
      case 'label-not':
        return labels.operand.kind === 'label' && known.lacks.has(labels.operand.name)
      case 'label-any':
        return known.has.size > 0
      case 'label-dynamic':
        return false
      default:
        return assertNever(labels)
    }
  }

  private assumeComparison(
    left: BoundExpression,
    operator: ComparisonSign,
    right: BoundExpression,
    wanted: boolean,
  ): void {
    if (isNullConstant(left) || isNullConstant(right)) {
      this.contradict(`a comparison with null is never true: use \`IS NULL\` or \`IS NOT NULL\``)
      return
    }
    const [term, other] = [this.termOf(left), this.termOf(right)]
    const [literal, otherLiteral] = [literalOf(left), literalOf(right)]
    if (literal !== undefined && otherLiteral !== undefined) {
      if (wanted && !isTrue(literal, operator, otherLiteral))
        this.contradict('a comparison of two constants is never true')
      return
    }
    if (term !== null && otherLiteral !== undefined) this.assumeWithLiteral(term, operator, otherLiteral, wanted)
    else if (other !== null && literal !== undefined) this.assumeWithLiteral(other, reversed[operator], literal, wanted)
    else if (term !== null && other !== null) {
      this.assumeNull(term, false)
      this.assumeNull(other, false)
      if (wanted && term.key === other.key && (operator === '<' || operator === '>'))
        this.contradict(`\`${term.text}\` is never less than itself`)
      if (operator !== (wanted ? '=' : '<>') || left.kind !== 'slot' || right.kind !== 'slot') return
      const [type, otherType] = [this.nodeTypes.get(left.slot.index), this.nodeTypes.get(right.slot.index)]
      if (type !== undefined && otherType !== undefined && type !== otherType)
        this.contradict(
          `\`${term.text}\` and \`${other.text}\` have the types \`${type}\` and \`${otherType}\` and are never the same node`,
        )
    }
  }

  private assumeWithLiteral(term: FactTerm, operator: ComparisonSign, literal: Literal, wanted: boolean): void {
    if (wanted) this.compare(term, operator, literal)
    else if (operator === '=') this.compare(term, '<>', literal)
    else if (operator === '<>') this.compare(term, '=', literal)
    // The opposite does not follow: NaN is neither less nor greater.
    else this.assumeNull(term, false)
  }

  private assumeBinary(
    operator: Extract<BoundExpression, { kind: 'binary' }>['operator'],
    left: BoundExpression,
    right: BoundExpression,
    wanted: boolean,
  ): void {
    const term = this.termOf(left)
    if (operator === 'IN') {
      const list = literalsOf(right)
      if (list === null) return
      const values = list.filter((one) => one !== null)
      if (wanted) {
        if (values.length === 0) this.contradict('`IN` with an empty list is never true')
        else if (term !== null) this.assumeOneOf(term, values)
      } else if (values.length < list.length) this.contradict('`NOT … IN` is never true for a list with null')
      else if (term !== null && values.length > 0) for (const value of values) this.compare(term, '<>', value)
      return
    }
    if (operator !== 'STARTS WITH' && operator !== 'ENDS WITH' && operator !== 'CONTAINS' && operator !== '=~') return
    if (isNullConstant(left) || isNullConstant(right)) this.contradict(`\`${operator}\` with null is never true`)
    for (const side of [term, this.termOf(right)]) if (side !== null) this.assumeText(side)
    const part = literalOf(right)
    const facts = term === null ? undefined : this.terms.get(term.key)
    if (!wanted || facts?.values == null || operator === '=~' || typeof part !== 'string') return
    const tests = { 'STARTS WITH': 'startsWith', 'ENDS WITH': 'endsWith', CONTAINS: 'includes' } as const
    facts.values = facts.values.filter((one) => typeof one === 'string' && one[tests[operator]](part))
    this.check(term!, facts)
  }

  private assumeLabels(slot: Slot, labels: BoundLabels, wanted: boolean): void {
    switch (labels.kind) {
      case 'label':
        this.assumeLabel(slot, labels.name, wanted)
        return
      case 'label-not':
        this.assumeLabels(slot, labels.operand, !wanted)
        return
      case 'label-and':
      case 'label-or':
        if ((labels.kind === 'label-and') === wanted)
          for (const operand of labels.operands) this.assumeLabels(slot, operand, wanted)
        else this.assumeOne(labels.operands.map((operand) => (facts) => facts.assumeLabels(slot, operand, wanted)))
        return
      case 'label-any':
      case 'label-dynamic':
        return
      default:
        assertNever(labels)
    }
  }

  private assumeLabel(slot: Slot, label: string, wanted: boolean): void {
    const known = this.labels.getOrInsertComputed(slot.index, () => ({
      has: new Set<string>(),
      lacks: new Set<string>(),
    }))
    if (wanted) known.has.add(label)
    else known.lacks.add(label)
    if (known.has.has(label) && known.lacks.has(label))
      this.contradict(`\`${slot.name}\` cannot have the label \`${label}\` and lack it`)
    if (slot.kind === 'relationship' && known.has.size > 1)
      this.contradict(
        `\`${slot.name}\` cannot have two types, ${[...known.has].map((one) => `\`${one}\``).join(' and ')}`,
      )
  }

  private termOf(expression: BoundExpression): FactTerm | null {
    switch (expression.kind) {
      case 'element-property':
        return elementTerm(expression.slot, expression.key, expression.own !== null)
      case 'parameter':
        return parameterTerm(expression.name, expression.path)
      case 'slot':
        return (
          this.aliases.get(expression.slot.index) ?? {
            key: `slot ${expression.slot.index}`,
            text: expression.slot.name,
          }
        )
      default:
        return null
    }
  }

  private change(term: FactTerm, change: (facts: TermFacts) => void): void {
    const facts = this.terms.getOrInsertComputed(term.key, () => ({ ...unknownTerm }))
    change(facts)
    this.check(term, facts)
  }

  private kindOf(term: FactTerm, facts: TermFacts, literal: Literal): void {
    const kind = kindOfLiteral(literal)
    if (facts.kind !== null && facts.kind !== kind)
      this.contradict(`\`${term.text}\` cannot be a ${facts.kind} and a ${kind}`)
    facts.kind = kind
  }

  private check(term: FactTerm, facts: TermFacts): void {
    const { values, excluded, lower, upper, kind, isNull, isNotNull } = facts
    if (isNull && isNotNull) this.contradict(`\`${term.text}\` is null, and a predicate needs its value`)
    const isBetween = (value: Literal): boolean =>
      (lower === null || isTrue(value, lower.isStrict ? '>' : '>=', lower.value)) &&
      (upper === null || isTrue(value, upper.isStrict ? '<' : '<=', upper.value))
    if (values !== null) {
      const left = values.filter(
        (one) =>
          !excluded.some((other) => isEqual(one, other)) &&
          isBetween(one) &&
          (kind === null || kindOfLiteral(one) === kind),
      )
      facts.values = left
      if (left.length === 0) this.contradict(`no value of \`${term.text}\` satisfies all predicates`)
    } else if (lower !== null && upper !== null) {
      const isEmpty =
        lower.value > upper.value || (isEqual(lower.value, upper.value) && (lower.isStrict || upper.isStrict))
      if (isEmpty) this.contradict(`no value of \`${term.text}\` satisfies all predicates`)
    }
  }

  /** The first reason counts. */
  private contradict(reason: string): void {
    this.contradiction ??= reason
  }
}

/** The term of a parameter, also of one that a filter reads. */
export function parameterTerm(name: string, path: readonly string[]): FactTerm {
  return { key: `parameter ${JSON.stringify([name, ...path])}`, text: `$${[name, ...path].join('.')}` }
}

function elementTerm(slot: Slot, key: string, isOwn: boolean): FactTerm {
  return { key: `element ${slot.index} ${isOwn ? 'own' : 'property'} ${key}`, text: `${slot.name}.${key}` }
}

/** The value of a constant that the analysis compares; undefined for another expression, and for null and other values. */
function literalOf(expression: BoundExpression): Literal | undefined {
  return expression.kind === 'constant' ? literalOfValue(expression.value) : undefined
}

/** The literal of a value; undefined if the analysis does not compare it. */
export function literalOfValue(value: Value): Literal | undefined {
  if (value instanceof Float) return Number.isNaN(value.value) ? undefined : value.value
  if (typeof value === 'number') return Number.isNaN(value) ? undefined : value
  return typeof value === 'string' || typeof value === 'boolean' || typeof value === 'bigint' ? value : undefined
}

/** The items of a list of constants; null: another expression, or an item that the analysis does not compare. */
function literalsOf(expression: BoundExpression): readonly (Literal | null)[] | null {
  const items: readonly (Value | undefined)[] | null =
    expression.kind === 'list'
      ? expression.items.map((item) => (item.kind === 'constant' ? item.value : undefined))
      : expression.kind === 'constant' && Array.isArray(expression.value)
        ? expression.value
        : null
  if (items === null) return null
  const literals = items.map((item) => (item === null ? null : item === undefined ? undefined : literalOfValue(item)))
  return literals.every((one) => one !== undefined) ? literals : null
}

function isNullConstant(expression: BoundExpression): boolean {
  return expression.kind === 'constant' && expression.value === null
}

function kindOfLiteral(literal: Literal): 'number' | 'string' | 'boolean' {
  return typeof literal === 'string' ? 'string' : typeof literal === 'boolean' ? 'boolean' : 'number'
}

function isEqual(left: Literal, right: Literal): boolean {
  // biome-ignore lint/suspicious/noDoubleEquals: an integer may be a number or a bigint.
  return kindOfLiteral(left) === kindOfLiteral(right) && left == right
}

/** Whether a comparison is certainly true. */
function isCertain(left: Literal, operator: ComparisonSign, right: Literal): boolean {
  const isOrder = operator !== '=' && operator !== '<>'
  return isTrue(left, operator, right) && !(isOrder && kindOfLiteral(left) !== 'number')
}

/** Whether a comparison may be true. Strings have an order that the analysis does not know. */
function isTrue(left: Literal, operator: ComparisonSign, right: Literal): boolean {
  if (operator === '=') return isEqual(left, right)
  if (operator === '<>') return !isEqual(left, right)
  if (kindOfLiteral(left) !== kindOfLiteral(right)) return false
  if (kindOfLiteral(left) !== 'number') return true
  if (operator === '<') return left < right
  if (operator === '<=') return left <= right
  return operator === '>' ? left > right : left >= right
}

function tighter(bound: Bound | null, value: number | bigint, isStrict: boolean, sign: 1 | -1): Bound {
  if (bound === null) return { value, isStrict }
  if (isEqual(bound.value, value)) return { value, isStrict: isStrict || bound.isStrict }
  const isTighter = sign > 0 ? value > bound.value : value < bound.value
  return isTighter ? { value, isStrict } : bound
}
