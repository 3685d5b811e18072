// Finds which variables of a condition are joined, in each row that it returns, with a value of a parameter: by a pattern, or by a
// comparison with `=` or IN that must be true. A test such as `$token.sub IS NOT NULL` joins nothing. Reads the syntax tree.
import type {
  Clause,
  Expression,
  PathPattern,
  Projection,
  QuantifiedPath,
  Query,
  SubqueryBody,
} from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { PartitionOfValues } from './value-partition.ts'

/** A requirement of a row: values that are joined, all of several formulas, or one of them. `any` of none is never true. */
type Formula =
  | { readonly kind: 'join'; readonly values: ReadonlySet<string> }
  | { readonly kind: 'all' | 'any'; readonly parts: readonly Formula[] }

/** A variable. */
interface Binding {
  /** The elements and parameters from which its value is made. */
  readonly reads: ReadonlySet<string>
  /** The expression of an alias of WITH. */
  readonly expression: { readonly of: Expression; readonly scope: Scope } | null
  /** Is true if the variable is not null: the pattern of its OPTIONAL MATCH. */
  readonly ifPresent: Formula
}

type Scope = ReadonlyMap<string, Binding>

const ALWAYS: Formula = { kind: 'all', parts: [] }
const NEVER: Formula = { kind: 'any', parts: [] }
const NOTHING: ReadonlySet<string> = new Set()
/** The value that stands for all of the parameters. */
const PARAMETERS = '$'
/** The value that stands for parameters that the caller chooses. */
const CHOSEN = '?'
/** A condition with more parts, counted again for each use of an alias, is not read to its end. */
const STEPS_MAX = 20_000
/** With more elements it takes too long to join them. */
const ELEMENTS_MAX = 1_000

/**
 * Whether each row of the query joins the variable with a value of one of the parameters. `filter`: a condition that the rows must meet
 * too. True for a query without a row and for one that does not parse; false for one that is too large, so that a person looks at it.
 */
export function joinsParameter(
  text: string,
  filter: Expression | null,
  variable: string,
  parameters: ReadonlySet<string>,
): boolean {
  const parsed = parse(text)
  if (!parsed.ok) return true
  const reader = new JoinReader(parameters)
  const { formula, scope } = reader.query(parsed.query, new Map())
  const whole = all([formula, filter === null ? ALWAYS : reader.holds(filter, true, scope)])
  const bound = scope.get(variable)
  if (bound === undefined) return true
  if (reader.isTooLarge) return false
  // The second time, an alternative is judged with what the conditions after it join.
  const rows = closed(whole, closed(whole, PartitionOfValues.none))
  return rows === null || [...bound.reads].some((read) => rows.areJoined(read, PARAMETERS))
}

/**
 * Returns the values that are joined if the formula is true, with those of `known`; null if it is never true. `done`: what is in `known`
 * already, because formulas share parts.
 */
function closed(
  formula: Formula,
  known: PartitionOfValues | null,
  done: Set<Formula> = new Set(),
): PartitionOfValues | null {
  if (known === null || done.has(formula)) return known
  done.add(formula)
  switch (formula.kind) {
    case 'join':
      return known.join(formula.values)
    case 'all': {
      let joined: PartitionOfValues | null = known
      for (const part of formula.parts) joined = closed(part, joined, done)
      return joined
    }
    case 'any': {
      const possible = formula.parts.map((part) => closed(part, known, new Set(done))).filter((part) => part !== null)
      return possible.length === 0 ? null : PartitionOfValues.inAll(possible)
    }
  }
}

function all(parts: readonly Formula[]): Formula {
  const needed = parts.filter((part) => part !== ALWAYS)
  return needed.length === 0 ? ALWAYS : needed.length === 1 ? needed[0]! : { kind: 'all', parts: needed }
}

function any(parts: readonly Formula[]): Formula {
  if (parts.includes(ALWAYS)) return ALWAYS
  return parts.length === 1 ? parts[0]! : { kind: 'any', parts }
}

/** Two sides that are equal. A value on both sides may be equal to itself, and a side that the caller chooses in part joins nothing. */
function equal(left: ReadonlySet<string>, right: ReadonlySet<string>): Formula {
  if (left.has(CHOSEN) || right.has(CHOSEN)) return ALWAYS
  if (left.size === 0 || right.size === 0 || !left.isDisjointFrom(right)) return ALWAYS
  return { kind: 'join', values: left.union(right) }
}

class JoinReader {
  private steps = 0
  private elements = 0
  private readonly parameters: ReadonlySet<string>

  constructor(parameters: ReadonlySet<string>) {
    this.parameters = parameters
  }

  get isTooLarge(): boolean {
    return this.steps > STEPS_MAX || this.elements > ELEMENTS_MAX
  }

  /** The formula of the rows of a query, and the variables after it. */
  query({ input, parts }: Query, outer: Scope): { readonly formula: Formula; readonly scope: Scope } {
    const before = input === null ? { formula: ALWAYS, scope: outer } : this.query(input, outer)
    const read = parts.map(({ clauses }) => this.clauses(clauses, before.scope))
    const rows = this.oneOf(read)
    return { formula: all([before.formula, rows.formula]), scope: rows.scope }
  }

  /** Rows of one of several parts: a variable has a value of its own, which is that of the part. */
  private oneOf(parts: readonly { readonly formula: Formula; readonly scope: Scope }[]) {
    if (parts.length === 1) return parts[0]!
    const scope = new Map<string, Binding>()
    for (const name of parts[0]?.scope.keys() ?? []) scope.set(name, this.element())
    const formula = any(
      parts.map((part) =>
        all([
          part.formula,
          ...[...scope].map(([name, { reads }]): Formula => {
            const inner = part.scope.get(name)
            return inner?.reads.size === 1 ? equal(reads, inner.reads) : ALWAYS
          }),
        ]),
      ),
    )
    return { formula, scope }
  }

  private clauses(clauses: readonly Clause[], outer: Scope): { readonly formula: Formula; readonly scope: Scope } {
    let scope = outer
    const formulas: Formula[] = []
    for (const clause of clauses) {
      switch (clause.kind) {
        case 'match': {
          const inner = this.patterns(clause.patterns, clause.where, scope)
          if (!clause.optional) formulas.push(inner.formula)
          scope = clause.optional ? onlyIfPresent(inner, scope) : inner.scope
          break
        }
        case 'unwind':
          scope = new Map(scope).set(clause.variable.text, this.valueOf(clause.list, scope))
          break
        case 'with':
          scope = this.project(clause, scope)
          if (clause.where !== null) formulas.push(this.holds(clause.where, true, scope))
          break
        case 'return':
          scope = this.project(clause, scope)
          break
        case 'call': {
          const inner = this.query(clause.query, scope)
          if (!clause.optional) formulas.push(inner.formula)
          const returned = new Map([...scope, ...inner.scope])
          scope = clause.optional ? onlyIfPresent({ ...inner, scope: returned }, scope) : returned
          break
        }
        case 'conditional': {
          const before = scope
          const rows = this.oneOf(
            clause.branches.map(({ when, query }) => {
              const inner = this.query(query, before)
              return when === null ? inner : { ...inner, formula: all([this.holds(when, true, before), inner.formula]) }
            }),
          )
          formulas.push(rows.formula)
          scope = rows.scope
          break
        }
        case 'block': {
          const inner = this.query(clause.query, scope)
          formulas.push(inner.formula)
          scope = inner.scope
          break
        }
        case 'use':
          break
      }
    }
    return { formula: all(formulas), scope }
  }

  private project({ star, items }: Projection, scope: Scope): Scope {
    const next = new Map(star ? scope : [])
    for (const { expression, alias, text } of items) {
      next.set(
        alias?.text ?? (expression.kind === 'variable' ? expression.name : text),
        (expression.kind === 'variable' && scope.get(expression.name)) || this.valueOf(expression, scope),
      )
    }
    return next
  }

  private valueOf(expression: Expression, scope: Scope): Binding {
    return { reads: this.readsOf(expression, scope), expression: { of: expression, scope }, ifPresent: ALWAYS }
  }

  private element(): Binding {
    this.elements += 1
    return { reads: new Set([String(this.elements)]), expression: null, ifPresent: ALWAYS }
  }

  // ---------------------------------------------------------------- patterns

  private patterns(patterns: readonly PathPattern[], where: Expression | null, outer: Scope) {
    const formulas: Formula[] = []
    let scope = outer
    for (const pattern of patterns) {
      const inner = this.path(pattern, scope)
      formulas.push(inner.formula)
      scope = inner.scope
    }
    if (where !== null) formulas.push(this.holds(where, true, scope))
    return { formula: all(formulas), scope }
  }

  /** All elements of a path are joined. */
  private path(path: PathPattern, outer: Scope): { readonly formula: Formula; readonly scope: Scope } {
    const scope = new Map(outer)
    const elements = new Set<string>()
    const formulas: Formula[] = []
    const conditions: (() => Formula)[] = []
    const declare = (name: string | undefined): Binding => {
      const known = name === undefined ? undefined : scope.get(name)
      const binding = known ?? this.element()
      if (name !== undefined) scope.set(name, binding)
      for (const read of binding.reads) elements.add(read)
      if (known !== undefined) formulas.push(known.ifPresent)
      return binding
    }
    for (const { variable, properties, where } of path.nodes) {
      const { reads } = declare(variable?.text)
      conditions.push(() => this.elementConditions(reads, properties, where, scope))
    }
    for (const relationship of path.relationships) {
      if (relationship.kind === 'quantified-path') {
        this.repeated(relationship, scope, elements, conditions)
        continue
      }
      const { variable, properties, where, range } = relationship
      const { reads } = declare(variable?.text)
      if (isOptionalRange(range)) continue
      conditions.push(() => this.elementConditions(reads, properties, where, scope))
    }
    if (path.variable !== null) scope.set(path.variable.text, { reads: elements, expression: null, ifPresent: ALWAYS })
    if (path.where !== null) conditions.push(() => this.holds(path.where!, true, scope))
    formulas.push({ kind: 'join', values: elements }, ...conditions.map((condition) => condition()))
    return { formula: all(formulas), scope }
  }

  private repeated(
    { pattern, where, range }: QuantifiedPath,
    scope: Map<string, Binding>,
    elements: Set<string>,
    conditions: (() => Formula)[],
  ): void {
    const inner = this.path(pattern, scope)
    for (const [name, binding] of inner.scope) {
      if (scope.has(name)) continue
      scope.set(name, binding)
      for (const read of binding.reads) elements.add(read)
    }
    if (isOptionalRange(range)) return
    conditions.push(() => all([inner.formula, where === null ? ALWAYS : this.holds(where, true, inner.scope)]))
  }

  private elementConditions(
    reads: ReadonlySet<string>,
    properties: Expression | null,
    where: Expression | null,
    scope: Scope,
  ): Formula {
    const values = properties?.kind === 'map' ? properties.entries.map(({ value }) => value) : [properties]
    return all([
      ...values.map((value) => (value === null ? ALWAYS : equal(reads, this.readsOf(value, scope)))),
      where === null ? ALWAYS : this.holds(where, true, scope),
    ])
  }

  private subquery(body: SubqueryBody, scope: Scope): Formula {
    if (body.kind === 'query') return this.query(body.query, scope).formula
    return this.patterns(body.patterns, body.where, scope).formula
  }

  // ---------------------------------------------------------------- conditions

  /** Returns the formula that is true if the condition has the value. */
  holds(expression: Expression, wanted: boolean, scope: Scope): Formula {
    this.steps += 1
    if (this.steps > STEPS_MAX) return ALWAYS
    switch (expression.kind) {
      case 'boolean':
        return expression.value === wanted ? ALWAYS : NEVER
      case 'null':
        return NEVER
      case 'unary':
        return expression.operator === 'NOT' ? this.holds(expression.operand, !wanted, scope) : ALWAYS
      case 'binary': {
        const { operator, left, right } = expression
        if (operator === 'AND' || operator === 'OR') {
          const both = [left, right].map((side) => this.holds(side, wanted, scope))
          return (operator === 'AND') === wanted ? all(both) : any(both)
        }
        if (operator === 'XOR') return ALWAYS
        const present = [left, right].map((side) => this.present(side, scope))
        if (operator !== 'IN' || !wanted) return all(present)
        if (right.kind !== 'list')
          return all([...present, equal(this.readsOf(left, scope), this.readsOf(right, scope))])
        return all([...present, any(right.items.map((item) => this.pair(left, '=', item, true, scope)))])
      }
      case 'comparison': {
        const { first, rest } = expression
        const pairs = rest.map(({ operator, operand }, i) =>
          this.pair(i === 0 ? first : rest[i - 1]!.operand, operator, operand, wanted, scope),
        )
        return wanted ? all(pairs) : any(pairs)
      }
      case 'null-test':
        return expression.negated === wanted ? this.present(expression.operand, scope) : ALWAYS
      case 'label-test':
        return this.present(expression.target, scope)
      case 'variable': {
        const projected = scope.get(expression.name)?.expression
        return projected ? this.holds(projected.of, wanted, projected.scope) : ALWAYS
      }
      case 'exists':
        return wanted ? this.subquery(expression.body, scope) : ALWAYS
      case 'pattern-predicate':
        return wanted ? this.path(expression.pattern, scope).formula : ALWAYS
      case 'quantifier': {
        const { quantifier, variable, list, where } = expression
        const someItem = quantifier === 'any' || quantifier === 'single' ? true : quantifier === 'none' ? false : null
        // An item of the list meets the condition, or does not.
        if (where === null || (someItem === null ? wanted : someItem !== wanted)) return ALWAYS
        const inner = new Map(scope).set(variable.text, { ...this.valueOf(list, scope), expression: null })
        return this.holds(where, someItem !== null, inner)
      }
      case 'case': {
        const { subject, branches, otherwise } = expression
        const results = branches.map(({ when, then }) =>
          all([any(when.map((one) => this.chosen(subject, one, scope))), this.holds(then, wanted, scope)]),
        )
        return any([...results, otherwise === null ? NEVER : this.holds(otherwise, wanted, scope)])
      }
      case 'function': {
        const { name, args } = expression
        const function_ = name.text.toLowerCase()
        if (function_ === 'coalesce') return any(args.map((arg) => this.holds(arg, wanted, scope)))
        return function_ === 'isempty' && !wanted ? all(args.map((arg) => this.notEmpty(arg, scope))) : ALWAYS
      }
      default:
        return ALWAYS
    }
  }

  private chosen(subject: Expression | null, when: Expression, scope: Scope): Formula {
    if (subject === null) return this.holds(when, true, scope)
    return when.kind === 'comparison' || when.kind === 'binary' || when.kind === 'null-test'
      ? ALWAYS
      : this.pair(subject, '=', when, true, scope)
  }

  private pair(left: Expression, operator: string, right: Expression, wanted: boolean, scope: Scope): Formula {
    const isEquality = operator === '=' || operator === '<>'
    for (const [value, other, sign] of [
      [left, right, operator],
      [right, left, MIRRORED[operator] ?? operator],
    ] as const) {
      if (isEquality && other.kind === 'boolean')
        return this.holds(value, ((operator === '=') === wanted) === other.value, scope)
      const isCounted =
        other.kind === 'integer' &&
        wanted &&
        (sign === '>' ? other.value >= 0 : (sign === '>=' || sign === '=') && other.value > 0)
      const isNotZero =
        other.kind === 'integer' && other.value === 0 && (sign === '<>' ? wanted : sign === '=' && !wanted)
      if (isCounted || isNotZero) return this.notEmpty(value, scope)
    }
    const present = [left, right].map((side) => this.present(side, scope))
    if (!isEquality || (operator === '=') !== wanted) return all(present)
    return all([...present, equal(this.readsOf(left, scope), this.readsOf(right, scope))])
  }

  /** Returns the formula that is true if the value is not null. */
  private present(expression: Expression, scope: Scope): Formula {
    if (expression.kind === 'property') return this.present(expression.target, scope)
    return expression.kind === 'variable' ? (scope.get(expression.name)?.ifPresent ?? ALWAYS) : ALWAYS
  }

  /** Returns the formula that is true if a count is more than 0, or a list has an item. */
  private notEmpty(expression: Expression, scope: Scope): Formula {
    this.steps += 1
    if (this.steps > STEPS_MAX) return ALWAYS
    switch (expression.kind) {
      case 'count-subquery':
        return this.subquery(expression.body, scope)
      case 'collect-subquery':
        return this.query(expression.query, scope).formula
      case 'pattern-comprehension':
        return this.patterns([expression.pattern], expression.where, scope).formula
      case 'list-comprehension': {
        const { variable, list, where } = expression
        const inner = new Map(scope).set(variable.text, { ...this.valueOf(list, scope), expression: null })
        return where === null ? this.notEmpty(list, scope) : this.holds(where, true, inner)
      }
      case 'variable': {
        const projected = scope.get(expression.name)?.expression
        return projected ? this.notEmpty(projected.of, projected.scope) : ALWAYS
      }
      case 'function': {
        const [first] = expression.args
        if (first === undefined) return ALWAYS
        return ['count', 'collect'].includes(expression.name.text.toLowerCase())
          ? this.present(first, scope)
          : expression.name.text.toLowerCase() === 'size'
            ? this.notEmpty(first, scope)
            : ALWAYS
      }
      default:
        return ALWAYS
    }
  }

  /** The elements and parameters from which a value is made. A condition within it does not determine them. */
  private readsOf(expression: Expression, scope: Scope): ReadonlySet<string> {
    const reads = new Set<string>()
    const visit = (tree: unknown): void => {
      if (tree === null || typeof tree !== 'object') return
      if (Array.isArray(tree)) {
        for (const item of tree) visit(item)
        return
      }
      const node = tree as {
        readonly kind?: string
        readonly name?: unknown
        readonly variable?: { readonly text: string } | null
      }
      if (node.kind !== undefined && CONDITIONS.has(node.kind)) return
      if (node.kind === 'parameter') reads.add(this.parameters.has(node.name as string) ? PARAMETERS : CHOSEN)
      const name = node.kind === 'variable' ? (node.name as string) : node.variable?.text
      for (const read of (name === undefined ? undefined : scope.get(name)?.reads) ?? NOTHING) reads.add(read)
      for (const child of Object.values(tree)) visit(child)
    }
    visit(expression)
    return reads
  }
}

/** After an optional clause, its new variables are null or its formula is true. */
function onlyIfPresent(inner: { readonly formula: Formula; readonly scope: Scope }, before: Scope): Scope {
  return new Map(
    [...inner.scope].map(([name, binding]) => [
      name,
      before.has(name) ? binding : { ...binding, ifPresent: all([inner.formula, binding.ifPresent]) },
    ]),
  )
}

function isOptionalRange(range: QuantifiedPath['range'] | null): boolean {
  return range !== null && (range.min ?? (range.form === 'star' ? 1 : 0)) === 0
}

const MIRRORED: Readonly<Record<string, string>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

const CONDITIONS: ReadonlySet<string> = new Set([
  'null-test',
  'value-test',
  'label-test',
  'comparison',
  'exists',
  'pattern-predicate',
  'quantifier',
  'count-subquery',
])
