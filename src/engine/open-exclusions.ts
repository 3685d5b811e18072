// Finds exclusions that a null turns off: a comparison with null is not true, so a pattern or a filter that excludes by it finds
// nothing, or CASE takes its next alternative, and the request is granted. The analysis follows which value of each condition grants, and
// whether a null counts as that value. Reads the syntax tree; lint and the warnings of stored policies report the findings.
import type { Clause, Expression, Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'

/** A comparison inside of an exclusion that may be null. */
interface OpenExclusion {
  readonly span: Span
  readonly message: string
  /** The text to write at `span`: with it a null excludes. Null if the comparison must be moved to a WHERE first. */
  readonly suggestion: string | null
}

/** Parameters that always have a value. */
const alwaysSet: ReadonlySet<string> = new Set([
  'subject_external_id',
  'subject_type',
  'resource_external_id',
  'resource_type',
])

/** Fields that every element has. */
const alwaysThere: ReadonlySet<string> = new Set(['external_id', 'type', 'id', 'create_time', 'update_time'])

/** The exclusions of a text that a null turns off; none if the text does not parse. */
export function openExclusionsIn(text: string): readonly OpenExclusion[] {
  const parsed = parse(text)
  return parsed.ok ? openExclusions(parsed.query, text) : []
}

/** The exclusions of a query that a null turns off. `text`: its source. */
export function openExclusions(query: Query, text: string): readonly OpenExclusion[] {
  const search = new ExclusionSearch(query, text)
  walkTree(query, (node) => search.enter(node as Expression))
  return search.found
}

/** A part of the tree by its members: bodies of subqueries and clauses differ, and all may have these. */
interface TreePart {
  readonly kind?: string
  readonly span?: Span
  readonly variable?: { readonly text: string } | null
  readonly where?: Expression | null
  readonly range?: unknown
  readonly properties?: Expression | null
}

interface Visited {
  /** One bit for each of the four ways in which a condition is visited. */
  readonly conditions: Map<Expression, number>
  readonly excluded: Set<object>
}

/** Visits of conditions in one query: some milliseconds. A large policy needs hundreds. */
const STEPS_MAX = 20_000

class ExclusionSearch {
  readonly found: OpenExclusion[] = []
  private readonly text: string
  /** The texts of the operands of IS NULL and IS NOT NULL: their author has decided what a null means. */
  private readonly tested = new Set<string>()
  private readonly entered = new WeakSet<object>()
  /** The OPTIONAL MATCH or CALL that declares a name. */
  private readonly optional = new Map<string, object>()
  /** The rows of an aggregate without a key: the clauses before it. */
  private readonly aggregated = new Map<Expression, readonly Clause[]>()
  /** The expressions of WITH and RETURN that have a name. */
  private readonly projected = new Map<string, Expression>()
  private readonly reported = new Set<number>()
  /** The names of the excluded pattern, or of the item of a list. */
  private own: ReadonlySet<string> = new Set()
  /** By `own`, what was visited under it: names repeat expressions, and a chain of names repeats them exponentially often. */
  private readonly visited = new WeakMap<ReadonlySet<string>, Visited>()
  /** A tree in whose predicates the analysis is: they may read a variable whose source is the tree. */
  private readonly entering = new Set<object>()
  private readonly sources = new Map<Expression, readonly object[]>()
  private readonly emptyValues = new Map<Expression, LiteralValue | undefined>()
  private steps = 0

  constructor(query: Query, text: string) {
    this.text = text
    walkTree(query, (node) => {
      if ((node.kind === 'match' || node.kind === 'call') && node.optional) {
        for (const name of declaredBy(node)) this.optional.set(name, node)
      }
      if (node.kind === 'query') for (const { clauses } of node.parts) this.project(clauses)
      if (node.kind === 'null-test') this.tested.add(this.textOf(node.operand))
    })
  }

  /** The names that clauses give to expressions. Without a key, an aggregate has a value for no row too. */
  private project(clauses: readonly Clause[]): void {
    for (const [index, clause] of clauses.entries()) {
      if (clause.kind !== 'with' && clause.kind !== 'return') continue
      const isGlobal = !clause.star && clause.items.every(({ expression }) => isAggregate(expression))
      for (const { alias, expression } of clause.items) {
        if (alias === null || (expression.kind === 'variable' && expression.name === alias.text)) continue
        this.projected.set(alias.text, expression)
        if (isGlobal) this.aggregated.set(expression, clauses.slice(0, index))
      }
    }
  }

  /** Each expression of the query, parents first: one that was not visited yet stands where it must hold. */
  enter(expression: Expression): void {
    if (!this.entered.has(expression)) this.visit(expression, true, false)
  }

  /**
   * Visits a condition. `wanted`: the value with which the request is granted. `open`: null counts as that value, because the
   * condition decides between alternatives, or whether a pattern is empty.
   */
  private visit(expression: Expression, wanted: boolean, open: boolean): void {
    this.entered.add(expression)
    const { conditions } = this.visitedHere()
    const form = 1 << ((wanted ? 2 : 0) + (open ? 1 : 0))
    const before = conditions.get(expression) ?? 0
    if ((before & form) !== 0 || this.isTooLarge(expression)) return
    conditions.set(expression, before | form)
    switch (expression.kind) {
      case 'unary':
        if (expression.operator === 'NOT') this.visit(expression.operand, !wanted, open)
        return
      case 'binary':
        this.binary(expression, wanted, open)
        return
      case 'comparison':
        if (open) {
          const operands = [expression.first, ...expression.rest.map(({ operand }) => operand)]
          this.compared(expression, operands, !wanted)
        }
        for (const { left, operator, right } of pairsOf(expression)) this.pair(left, operator, right, wanted, open)
        return
      case 'exists':
      case 'pattern-predicate':
        if (!wanted) this.excluded([expression])
        return
      case 'quantifier': {
        const { quantifier, where, list } = expression
        if (quantifier === (wanted ? 'none' : 'any')) this.excluded([expression])
        else if (where && open) this.visit(where, quantifier === 'none' ? !wanted : wanted, open)
        if (quantifier === (wanted ? 'all' : 'any')) this.excluded(this.sourcesOf(list))
        if (open) this.compared(expression, [list], !wanted)
        return
      }
      case 'function':
        this.call(expression, wanted)
        return
      case 'case':
        this.alternatives(expression, (result) => certainty(result, wanted), wanted)
        return
      case 'variable': {
        const projected = this.projected.get(expression.name)
        if (projected === undefined) return
        // A name may be projected again from itself.
        this.projected.delete(expression.name)
        this.visit(projected, wanted, open)
        this.projected.set(expression.name, projected)
        return
      }
      case 'null-test':
        if (expression.negated !== wanted) this.excluded(this.sourcesOf(expression.operand))
        return
      case 'parameter':
      case 'property':
      case 'index':
        if (open) this.compared(expression, [expression], !wanted)
    }
  }

  private visitedHere(): Visited {
    const found = this.visited.get(this.own)
    if (found !== undefined) return found
    const visited: Visited = { conditions: new Map(), excluded: new Set() }
    this.visited.set(this.own, visited)
    return visited
  }

  /** Counts a step. Reports once that the rest is not analysed. */
  private isTooLarge({ span }: Expression): boolean {
    this.steps += 1
    if (this.steps === STEPS_MAX)
      this.found.push({
        span,
        message:
          'the query is too large to find all exclusions that a null turns off: name fewer conditions, or split it',
        suggestion: null,
      })
    return this.steps >= STEPS_MAX
  }

  private binary(expression: Extract<Expression, { kind: 'binary' }>, wanted: boolean, open: boolean): void {
    const { operator, left, right } = expression
    switch (operator) {
      case 'AND':
      case 'OR':
        this.visit(left, wanted, open)
        this.visit(right, wanted, open)
        return
      case 'XOR':
        this.pair(left, '<>', right, wanted, open)
        return
      case 'IN':
        if (open) this.compared(expression, [left, right], !wanted)
        if (!wanted) this.excluded(this.sourcesOf(right))
        if (right.kind === 'list') for (const item of right.items) this.pair(left, '=', item, wanted, open)
        return
      default:
        if (open) this.compared(expression, [left, right], !wanted)
    }
  }

  /** Two compared values: one of them may be a condition, a number or a list that a null makes false or empty. */
  private pair(left: Expression, operator: Operator, right: Expression, wanted: boolean, open: boolean): void {
    for (const [value, other, sign] of [
      [left, right, operator],
      [right, left, mirrored[operator]],
    ] as const) {
      const literal = literalOf(other)
      const isEquality = sign === '=' || sign === '<>'
      if (typeof literal === 'boolean' && isEquality) {
        this.visit(value, wanted === (literal === (sign === '=')), open)
      } else if (isEquality && isCondition(value)) {
        // The other value decides which of the two is wanted.
        this.visit(value, true, open)
        this.visit(value, false, open)
      }
      const chosen = value.kind === 'variable' ? (this.projected.get(value.name) ?? value) : value
      if (chosen.kind === 'case' && literal !== undefined) {
        const judge = (result: Expression | null): Certainty => {
          const given = result === null ? null : literalOf(result)
          if (given === null) return 'no'
          return given === undefined ? 'maybe' : holds(given, sign, literal) === wanted ? 'yes' : 'no'
        }
        this.alternatives(chosen, judge, null)
      }
      const empty = this.emptyValueOf(value)
      if (empty === undefined) continue
      const result = literal === undefined ? couldHold(sign, wanted) : holds(empty, sign, literal) === wanted
      if (result) this.excluded(this.sourcesOf(value))
    }
  }

  private call({ name, args }: Extract<Expression, { kind: 'function' }>, wanted: boolean): void {
    const [first, second] = args
    switch (name.text.toLowerCase()) {
      case 'isempty':
        if (wanted) this.excluded(args.flatMap((arg) => this.sourcesOf(arg)))
        return
      case 'coalesce':
        // Its author has decided what a null means, but not what an element that was not found means.
        if (first) this.visit(first, wanted, false)
        if (first && second && literalOf(second) === wanted) this.excluded(this.sourcesOf(first))
        return
      default:
        for (const arg of args) if (isCondition(arg)) for (const value of [true, false]) this.visit(arg, value, false)
    }
  }

  /** CASE: a condition that is null does not choose its branch. `wanted` is null if the results are no conditions. */
  private alternatives(
    { subject, branches, otherwise }: Extract<Expression, { kind: 'case' }>,
    judge: (result: Expression | null) => Certainty,
    wanted: boolean | null,
  ): void {
    const results = [...branches.map(({ then }) => then), otherwise].map(judge)
    const isTested = branches.some(({ when }) => when.some((one) => one.kind === 'null-test'))
    for (const [index, { when, then }] of branches.entries()) {
      const result = results[index]!
      const later = results.slice(index + 1)
      const opens = result === 'no' ? later.some((one) => one !== 'no') : result === 'maybe' && later.includes('yes')
      for (const one of when) {
        if (subject === null) this.visit(one, result === 'yes', opens)
        else if (opens && !isTested && one.kind !== 'null' && one.kind !== 'null-test')
          this.compared(one, [subject, one], null)
        this.entered.add(one)
      }
      if (wanted !== null) this.visit(then, wanted, false)
    }
    if (wanted !== null && otherwise !== null) this.visit(otherwise, wanted, false)
  }

  /** The value of an expression if what it counts or collects is empty; undefined: unknown. */
  private emptyValueOf(expression: Expression): LiteralValue | undefined {
    if (!this.emptyValues.has(expression)) this.emptyValues.set(expression, this.findEmptyValue(expression))
    return this.emptyValues.get(expression)
  }

  private findEmptyValue(expression: Expression): LiteralValue | undefined {
    switch (expression.kind) {
      case 'count-subquery':
      case 'count-star':
        return 0
      case 'collect-subquery':
      case 'list-comprehension':
      case 'pattern-comprehension':
        return EMPTY_LIST
      case 'variable': {
        const projected = this.projected.get(expression.name)
        if (projected === undefined) return undefined
        this.projected.delete(expression.name)
        const value = this.emptyValueOf(projected)
        this.projected.set(expression.name, projected)
        return value
      }
      case 'binary': {
        const [left, right] = [expression.left, expression.right].map(
          (part) => this.emptyValueOf(part) ?? literalOf(part),
        )
        if (typeof left !== 'number' || typeof right !== 'number') return undefined
        const { operator } = expression
        if (operator === '+') return left + right
        return operator === '-' ? left - right : operator === '*' ? left * right : undefined
      }
      case 'function': {
        const { name, args } = expression
        const function_ = name.text.toLowerCase()
        if (function_ === 'coalesce') {
          if (args[1] === undefined) return args[0] && this.emptyValueOf(args[0])
          return this.sourcesOf(args[0]!).length > 0 ? literalOf(args[1]) : undefined
        }
        if (['count', 'size', 'sum', 'length'].includes(function_)) return 0
        return function_ === 'collect' ? EMPTY_LIST : undefined
      }
      default:
        return undefined
    }
  }

  /** The patterns, subqueries and lists from which a value is made: without a row it is null, 0 or empty. */
  private sourcesOf(expression: Expression): readonly object[] {
    const known = this.sources.get(expression)
    if (known !== undefined) return known
    const found = [...new Set(this.findSources(expression))]
    this.sources.set(expression, found)
    return found
  }

  private findSources(expression: Expression): readonly object[] {
    switch (expression.kind) {
      case 'count-subquery':
      case 'collect-subquery':
      case 'list-comprehension':
      case 'pattern-comprehension':
        return [expression]
      case 'variable': {
        const optional = this.optional.get(expression.name)
        if (optional !== undefined) return [optional]
        const projected = this.projected.get(expression.name)
        if (projected === undefined) return []
        this.projected.delete(expression.name)
        const sources = [...this.sourcesOf(projected), ...(this.aggregated.get(projected) ?? [])]
        this.projected.set(expression.name, projected)
        return sources
      }
      case 'property':
      case 'index':
      case 'slice':
        return this.sourcesOf(expression.target)
      case 'binary':
        return [...this.sourcesOf(expression.left), ...this.sourcesOf(expression.right)]
      case 'function':
        return expression.args.flatMap((arg) => this.sourcesOf(arg))
      default:
        return []
    }
  }

  /** Each tree must be empty for the request to be granted. */
  private excluded(trees: readonly object[]): void {
    const before = this.own
    const own = new Set(before)
    for (const tree of trees) collectNames(tree, own)
    const { excluded } = this.visitedHere()
    this.own = own
    for (const tree of trees) {
      if (excluded.has(tree) || this.entering.has(tree)) continue
      excluded.add(tree)
      this.entering.add(tree)
      this.predicates(tree)
      this.entering.delete(tree)
    }
    this.own = before
  }

  /** The predicates of a pattern, a subquery or a list: none of its rows may hold. */
  private predicates(tree: unknown): void {
    if (tree === null || typeof tree !== 'object') return
    if (Array.isArray(tree)) {
      for (const item of tree) this.predicates(item)
      return
    }
    const part = tree as TreePart
    if (part.where) this.visit(part.where, false, true)
    if (part.properties?.kind === 'map') this.map(part, part.properties)
    for (const [member, child] of Object.entries(tree)) {
      if (member !== 'where' && member !== 'properties' && member !== 'span') this.predicates(child)
    }
  }

  /** `safe`: the value that a null must count as to exclude; null if the comparison cannot be wrapped. */
  private compared({ span }: Expression, operands: readonly Expression[], safe: boolean | null): void {
    const nullable = operands.map((operand) => this.nullableIn(operand)).find((name) => name !== null)
    if (nullable === undefined) return
    this.report(span, nullable, safe === null ? null : `coalesce(${this.text.slice(span.start, span.end)}, ${safe})`)
  }

  private map({ variable, where, range }: TreePart, map: Extract<Expression, { kind: 'map' }>): void {
    const nullable = map.entries.map(({ value }) => this.nullableIn(value)).find((name) => name !== null)
    if (nullable === undefined) return
    const tests = map.entries.map(({ key, value }) => {
      const test = `${variable?.text}.${this.text.slice(key.span.start, key.span.end)} = ${this.textOf(value)}`
      return this.nullableIn(value) === null ? test : `coalesce(${test}, true)`
    })
    this.report(map.span, nullable, variable && !where && !range ? `WHERE ${tests.join(' AND ')}` : null)
  }

  private report(span: Span, nullable: string, suggestion: string | null): void {
    if (this.reported.has(span.start)) return
    this.reported.add(span.start)
    const message = `\`${nullable}\` may be null, and then this comparison excludes nothing and the request is granted: ${
      suggestion === null ? 'move the comparison to a WHERE and write `coalesce(…, true)`' : `write \`${suggestion}\``
    }`
    this.found.push({ span, message, suggestion })
  }

  /** The text of a parameter, a claim, or a property of an element outside of the exclusion, that may be null. */
  private nullableIn(expression: Expression): string | null {
    const isNullable =
      expression.kind === 'parameter'
        ? !alwaysSet.has(expression.name)
        : expression.kind === 'property' && this.isOuterProperty(expression)
    if (isNullable) return this.tested.has(this.textOf(expression)) ? null : this.textOf(expression)
    if (expression.kind === 'property') {
      const { target } = expression
      // The claim, not the token, is compared.
      const root = this.nullableIn(target)
      return root === null || this.tested.has(this.textOf(expression)) ? null : this.textOf(expression)
    }
    const firstOf = (parts: readonly Expression[]): string | null =>
      parts.map((part) => this.nullableIn(part)).find((name) => name !== null) ?? null
    switch (expression.kind) {
      case 'variable': {
        const projected = this.own.has(expression.name) ? undefined : this.projected.get(expression.name)
        if (projected === undefined) return null
        this.projected.delete(expression.name)
        const name = this.nullableIn(projected)
        this.projected.set(expression.name, projected)
        return name
      }
      case 'case':
        return firstOf([
          ...expression.branches.map(({ then }) => then),
          ...(expression.otherwise ? [expression.otherwise] : []),
        ])
      case 'index':
        return firstOf([expression.target, expression.index])
      case 'slice':
        return firstOf([expression.target, ...[expression.from, expression.to].filter((bound) => bound !== null)])
      case 'list':
        return firstOf(expression.items)
      case 'map':
        return firstOf(expression.entries.map(({ value }) => value))
      case 'unary':
        return firstOf([expression.operand])
      case 'binary':
        return firstOf([expression.left, expression.right])
      case 'comparison':
        return firstOf([expression.first, ...expression.rest.map(({ operand }) => operand)])
      case 'function':
        return expression.name.text.toLowerCase() === 'coalesce' ? null : firstOf(expression.args)
      default:
        return null
    }
  }

  private isOuterProperty({ target, key }: Extract<Expression, { kind: 'property' }>): boolean {
    return target.kind === 'variable' && !this.own.has(target.name) && !alwaysThere.has(key.text)
  }

  private textOf({ span }: Expression): string {
    return this.text.slice(span.start, span.end)
  }
}

type Operator = Extract<Expression, { kind: 'comparison' }>['rest'][number]['operator']
/** Whether a result grants the request. */
type Certainty = 'yes' | 'no' | 'maybe'
/** A list is known to be empty or not. */
type LiteralValue = boolean | number | bigint | string | null | { readonly isEmpty: boolean }

const EMPTY_LIST: LiteralValue = { isEmpty: true }

const mirrored: Readonly<Record<Operator, Operator>> = {
  '=': '=',
  '<>': '<>',
  '<': '>',
  '<=': '>=',
  '>': '<',
  '>=': '<=',
}

function pairsOf({ first, rest }: Extract<Expression, { kind: 'comparison' }>) {
  return rest.map(({ operator, operand }, i) => ({
    left: i === 0 ? first : rest[i - 1]!.operand,
    operator,
    right: operand,
  }))
}

function literalOf(expression: Expression): LiteralValue | undefined {
  switch (expression.kind) {
    case 'boolean':
    case 'integer':
    case 'float':
    case 'string':
      return expression.value
    case 'null':
      return null
    case 'list':
      return { isEmpty: expression.items.length === 0 }
    default:
      return undefined
  }
}

function certainty(result: Expression | null, wanted: boolean): Certainty {
  const value = result === null ? null : literalOf(result)
  return value === undefined ? 'maybe' : value === wanted ? 'yes' : 'no'
}

/** Whether `left operator right` is true. Of two lists with items, they differ. */
function holds(left: LiteralValue, operator: Operator, right: LiteralValue): boolean {
  if (left === null || right === null) return false
  if (typeof left === 'object' || typeof right === 'object') {
    const areEqual = typeof left === 'object' && typeof right === 'object' && left.isEmpty && right.isEmpty
    return operator === '=' ? areEqual : operator === '<>' && !areEqual
  }
  switch (operator) {
    case '=':
      return left === right
    case '<>':
      return left !== right
    case '<':
      return left < right
    case '<=':
      return left <= right
    case '>':
      return left > right
    case '>=':
      return left >= right
  }
}

/** Whether an empty value, compared with an unknown one, is likely to have the result: the unknown one is hardly empty too. */
function couldHold(operator: Operator, wanted: boolean): boolean {
  return (operator === '<>' || operator === '<' || operator === '<=') === wanted
}

/** Whether an expression is a condition that a null within it makes false. */
function isCondition(expression: Expression): boolean {
  if (expression.kind === 'unary') return expression.operator === 'NOT' && isCondition(expression.operand)
  return expression.kind === 'exists' || expression.kind === 'pattern-predicate' || expression.kind === 'quantifier'
}

function isAggregate(expression: Expression): boolean {
  let found = false
  walkTree(expression, (node) => {
    const isFunction = node.kind === 'function' && AGGREGATES.has(node.name.text.toLowerCase())
    if (node.kind === 'count-star' || isFunction) found = true
  })
  return found
}

const AGGREGATES: ReadonlySet<string> = new Set(['count', 'collect', 'sum', 'max', 'min', 'avg'])

/** The names that patterns and lists of the tree declare, and those of outer elements that a pattern repeats apart. */
function collectNames(tree: unknown, names: Set<string>): void {
  walkTree(tree, (node) => {
    if ((node.kind === 'relationship' || node.kind === 'path') && node.variable) names.add(node.variable.text)
    if (node.kind === 'node' && node.variable && !outerNames.has(node.variable.text)) names.add(node.variable.text)
    if (node.kind === 'quantifier' || node.kind === 'list-comprehension') names.add(node.variable.text)
    if (node.kind === 'return') for (const { alias } of node.items) if (alias !== null) names.add(alias.text)
  })
}

function declaredBy(tree: unknown): ReadonlySet<string> {
  const names = new Set<string>()
  collectNames(tree, names)
  return names
}

/** The two elements that every condition binds. */
const outerNames: ReadonlySet<string> = new Set(['subject', 'resource'])
