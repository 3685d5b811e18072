// Finds exclusions that a null turns off: a comparison with null is not true, so a pattern or a filter that excludes by it finds
// nothing, or CASE takes its next alternative, and the request is granted. For each value that may be null, the query is executed with
// abstract values: how does each expression change if the value becomes null? A comparison is reported if a row appears because of it.
// Reads the syntax tree; lint and the warnings of stored policies report the findings.
import type { Clause, Expression, MapLiteral, PathPattern, Query, Span, SubqueryBody } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'
import { hasAggregate } from './bind/bind-call.ts'
import {
  type AbstractValue,
  ANY_VALUE,
  addExpressions,
  always,
  both,
  chosen,
  collected,
  combined,
  compared,
  DECIDED,
  differing,
  distinct,
  EMPTY,
  either,
  existing,
  FEWER,
  folded,
  mapped,
  type NullChange,
  type NullChanges,
  negated,
  repeated,
  truths,
  UNKNOWN,
  united,
  WITH_NULL,
  withoutLosses,
} from './null-changes.ts'
import { findAggregate } from './value/aggregate-signatures.ts'

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

/** Expressions that all runs of one query evaluate: a fraction of a second. A large policy needs some thousands. */
const STEPS_MAX = 50_000

/** The exclusions of a text that a null turns off; none if the text does not parse. */
export function openExclusionsIn(text: string): readonly OpenExclusion[] {
  const parsed = parse(text)
  return parsed.ok ? openExclusions(parsed.query, text) : []
}

/** The exclusions of a query that a null turns off. `text`: its source. */
export function openExclusions(query: Query, text: string): readonly OpenExclusion[] {
  const facts = new ExclusionFacts()
  const run = (absent: ReadonlySet<string>, counted: ReadonlyMap<object, boolean> = new Map()) => {
    const execution = new NullRun(text, facts, absent, counted)
    return { open: execution.causesOfRows(query), matching: execution.matching }
  }
  run(new Set())
  const found = new Map<object, { readonly nullable: string; readonly safe: boolean | null }>()
  for (const { keys, text: nullable } of [...facts.nullables.values()].sort((a, b) => a.start - b.start)) {
    const { open } = run(keys)
    // What must the null of each comparison count as?
    const asTrue = open.size === 0 ? null : run(keys, new Map([...open].map((cause) => [cause, true])))
    const others =
      asTrue === null || asTrue.open.size === 0
        ? null
        : new Map([...open].map((cause) => [cause, !asTrue.open.has(cause)]))
    const asOther = others === null ? null : run(keys, others)
    if (facts.steps > STEPS_MAX) break
    for (const cause of open) {
      // If both may grant, because another value decides, an excluded pattern must match.
      const isOpenAnyway = asOther?.open.has(cause) ?? false
      const matching = asTrue!.matching.has(cause) ? true : asOther?.matching.has(cause) ? false : null
      const safe = isOpenAnyway ? matching : !asTrue!.open.has(cause)
      if (!found.has(cause)) found.set(cause, { nullable, safe })
    }
  }
  const findings = [...found].map(([cause, { nullable, safe }]) => {
    const suggestion = suggestionFor(cause as Expression, safe, text, facts)
    return { span: (cause as Expression).span, message: messageFor(nullable, suggestion, cause, facts), suggestion }
  })
  findings.sort((a, b) => a.span.start - b.span.start)
  if (facts.steps <= STEPS_MAX) return findings
  const message =
    'the query is too large to find all exclusions that a null turns off: name fewer conditions, or split it'
  return [{ span: query.span, message, suggestion: null }, ...findings]
}

function messageFor(nullable: string, suggestion: string | null, cause: object, facts: ExclusionFacts): string {
  const start = `\`${nullable}\` may be null, and then this`
  if (facts.emptied.has(cause) && suggestion === null)
    return `${start} list has no items, so it excludes nothing and the request is granted: test it with IS NOT NULL first`
  const advice = suggestion === null ? 'write `coalesce(…, true)` around it, in a WHERE' : `write \`${suggestion}\``
  return `${start} comparison excludes nothing and the request is granted: ${advice}`
}

function suggestionFor(
  cause: Expression,
  safe: boolean | null,
  text: string,
  { maps, conditions }: ExclusionFacts,
): string | null {
  const textOf = ({ span }: { readonly span: Span }): string => text.slice(span.start, span.end)
  const inPattern = maps.get(cause)
  if (inPattern === undefined)
    return safe !== null && conditions.has(cause) ? `coalesce(${textOf(cause)}, ${safe})` : null
  const { variable, map, nullable, isWhole } = inPattern
  if (variable === null || !isWhole) return null
  const tests = map.entries.map(({ key, value }, i) => {
    const test = `${variable}.${textOf(key)} = ${textOf(value)}`
    return nullable.has(i) ? `coalesce(${test}, true)` : test
  })
  return `WHERE ${tests.join(' AND ')}`
}

/** The facts that all runs of a query share. */
class ExclusionFacts {
  steps = 0
  /** Values that may be null, by their keys. Arguments of `coalesce` are null together. */
  readonly nullables = new Map<
    string,
    { readonly keys: ReadonlySet<string>; readonly text: string; readonly start: number }
  >()
  readonly maps = new Map<object, MapInPattern>()
  /** The causes that are conditions, around which `coalesce` can be written. */
  readonly conditions = new Set<object>()
  /** The causes that are lists. */
  readonly emptied = new Set<object>()
  private readonly ids = new WeakMap<object, number>()
  private count = 0

  /** A key for a property of an element, or of an item. */
  keyOf(element: object): string {
    let id = this.ids.get(element)
    if (id === undefined) {
      id = this.count
      this.count += 1
      this.ids.set(element, id)
    }
    return `element ${id}`
  }
}

interface MapInPattern {
  readonly variable: string | null
  readonly map: MapLiteral
  /** The entries whose value may be null. */
  readonly nullable: Set<number>
  /** Whether the element has neither a WHERE nor a length. */
  readonly isWhole: boolean
}

interface NamedChanges {
  readonly changes: NullChanges
  /** The element that has the name: all names of one element have the same properties. Null if no property may be absent. */
  readonly element: object | null
  /** The keys of the nullable values from which it is made. */
  readonly keys?: ReadonlySet<string>
}

/** The names that a place can read. */
class NameScope {
  readonly own = new Map<string, NamedChanges>()
  private readonly outer: NameScope | null

  constructor(outer: NameScope | null, own: Iterable<readonly [string, NamedChanges]> = []) {
    this.outer = outer
    for (const [name, binding] of own) this.own.set(name, binding)
  }

  find(name: string): NamedChanges | undefined {
    for (let scope: NameScope | null = this; scope !== null; scope = scope.outer) {
      const found = scope.own.get(name)
      if (found !== undefined) return found
    }
    return undefined
  }
}

interface AbstractRows {
  /** Whether a row is there. */
  readonly rows: NullChanges
  readonly columns: ReadonlyMap<string, NamedChanges>
}

interface Items {
  readonly list: NullChanges
  /** Whether the list has an item. */
  readonly some: NullChanges
  readonly item: NullChanges
}

const NULL = always(null)
const TRUE = always(true)
const FALSE = always(false)
const NO_COLUMNS: ReadonlyMap<string, NamedChanges> = new Map()

/** One execution with abstract values, in which the values with the keys `absent` become null. */
class NullRun {
  /** The causes for which a subquery has a row that it has not while the value is present. */
  readonly matching = new Set<object>()
  private readonly text: string
  private readonly facts: ExclusionFacts
  private readonly absent: ReadonlySet<string>
  /** The values as which the null of an expression counts instead. */
  private readonly counted: ReadonlyMap<object, boolean>
  /** The keys of the nullable values that an expression reads. */
  private collecting = new Set<string>()
  /** Whether an absent value belongs to an element that the innermost subquery declares. */
  private isOwn = false
  /** The rows that an aggregate reads, and whether they are one group. */
  private group: { readonly rows: NullChanges; readonly isGlobal: boolean } | null = null
  /** Whether the absent values count as present. */
  private isHidden = false
  private caseSubject: NullChanges = ANY_VALUE

  constructor(text: string, facts: ExclusionFacts, absent: ReadonlySet<string>, counted: ReadonlyMap<object, boolean>) {
    this.text = text
    this.facts = facts
    this.absent = absent
    this.counted = counted
  }

  /** The expressions because of which the query has a row that it has not while the value is present. */
  causesOfRows(query: Query): ReadonlySet<object> {
    const { rows } = this.query(query, new NameScope(null))
    const causes = new Set<object>()
    for (const change of truths(rows)) {
      if (change.before !== true && change.after === true) addExpressions(change.causes, causes)
    }
    return causes
  }

  // -------------------------------------------------------------- queries

  private query({ input, parts }: Query, outer: NameScope): AbstractRows {
    const before = input === null ? null : this.query(input, outer)
    const scope = before === null ? outer : new NameScope(outer, before.columns)
    const all = parts.map(({ clauses }) => this.clauses(clauses, scope))
    const rows = all.map((one) => one.rows).reduce(either)
    const names = new Set(all.flatMap(({ columns }) => [...columns.keys()]))
    const columns = new Map(
      [...names].map((name) => {
        const found = all.flatMap(({ columns }) => columns.get(name) ?? [])
        return [name, { ...found[0]!, changes: distinct(found.flatMap(({ changes }) => changes)) }]
      }),
    )
    return { rows: before === null ? rows : both(before.rows, rows), columns }
  }

  private clauses(clauses: readonly Clause[], outer: NameScope): AbstractRows {
    let scope = new NameScope(outer)
    let rows = TRUE
    let columns = NO_COLUMNS
    for (const clause of clauses) {
      switch (clause.kind) {
        case 'use':
          break
        case 'match':
          rows = this.match(clause, scope, rows)
          break
        case 'unwind': {
          const { result, keys } = this.reading(() => this.items(clause.list, scope))
          rows = both(rows, result.some)
          scope.own.set(clause.variable.text, { ...this.declared(clause, result.item), keys })
          break
        }
        case 'with':
        case 'return': {
          const projected = this.project(clause, scope, rows)
          rows = projected.rows
          const visible = new NameScope(scope, projected.columns)
          if (clause.kind === 'with' && clause.where) rows = both(rows, this.condition(clause.where, visible))
          columns = projected.columns
          scope = new NameScope(outer, columns)
          break
        }
        case 'call': {
          const result = this.subquery(() => this.query(clause.query, scope))
          for (const [name, binding] of result.columns) {
            const changes = clause.optional ? chosen(result.rows, binding.changes, NULL) : binding.changes
            scope.own.set(name, { ...binding, changes })
          }
          if (!clause.optional) rows = both(rows, result.rows)
          break
        }
        case 'conditional':
        case 'block': {
          const result = clause.kind === 'block' ? this.query(clause.query, scope) : this.alternatives(clause, scope)
          rows = both(rows, result.rows)
          columns = result.columns
        }
      }
    }
    return { rows, columns }
  }

  private match(clause: Extract<Clause, { kind: 'match' }>, scope: NameScope, rows: NullChanges): NullChanges {
    const { patterns, where, optional } = clause
    if (!optional) return both(rows, this.patterns(patterns, where, scope))
    const inner = new NameScope(scope)
    const found = this.subquery(() => ({ rows: this.patterns(patterns, where, inner), columns: NO_COLUMNS }))
    const changes = chosen(found.rows, ANY_VALUE, NULL)
    for (const [name, { element }] of inner.own) scope.own.set(name, { changes, element })
    return rows
  }

  private alternatives({ branches }: Extract<Clause, { kind: 'conditional' }>, scope: NameScope): AbstractRows {
    let result: AbstractRows = { rows: FALSE, columns: NO_COLUMNS }
    for (const { when, query } of [...branches].reverse()) {
      const condition = when === null ? TRUE : this.condition(when, scope)
      const { rows, columns } = this.query(query, scope)
      const others = result.columns
      const merged = [...columns].map(([name, { changes, element }]): [string, NamedChanges] => {
        return [name, { changes: chosen(condition, changes, others.get(name)?.changes ?? NULL), element }]
      })
      result = { rows: chosen(condition, rows, result.rows), columns: new Map(merged) }
    }
    return result
  }

  /** WITH and RETURN. Without a key, an aggregate has a value for no row too. */
  private project(
    clause: Extract<Clause, { kind: 'with' | 'return' }>,
    scope: NameScope,
    rows: NullChanges,
  ): AbstractRows {
    const { items, star } = clause
    const columns = new Map(star ? scope.own : [])
    const keys = items.filter(({ expression }) => !hasAggregate(expression))
    const isGrouped = keys.length < items.length
    const isGlobal = isGrouped && !star && keys.length === 0
    const keyed = [...(star ? scope.own.values() : []), ...keys.map(({ expression }) => bindingOf(expression, scope))]
    // An absent property of an element that is counted is part of what is counted.
    const isOwn =
      isGrouped &&
      [...scope.own.values()].some((one) => one.element !== null && this.isAbsent(one.element)) &&
      !keyed.some((one) => one?.element && this.isAbsent(one.element))
    const [outerGroup, outerHidden] = [this.group, this.isHidden]
    this.group = { rows: isOwn ? withoutLosses(rows) : rows, isGlobal }
    for (const { alias, expression, text } of items) {
      this.isHidden = outerHidden || (isOwn && hasAggregate(expression))
      const { result: changes, keys } = this.reading(() => this.value(expression, scope))
      const name = alias?.text ?? (expression.kind === 'variable' ? expression.name : text)
      const isMade = !['variable', 'map', 'map-projection'].includes(expression.kind)
      const known = bindingOf(expression, scope)?.element ?? null
      columns.set(name, { ...(isMade ? this.declared(expression, changes) : { changes, element: known }), keys })
    }
    this.group = outerGroup
    this.isHidden = outerHidden
    return { rows: isGlobal ? TRUE : rows, columns }
  }

  /** A name for something new. */
  private declared(element: object, changes: NullChanges): NamedChanges {
    if (this.isAbsent(element)) this.isOwn = true
    return { changes, element }
  }

  private isAbsent(element: object): boolean {
    const start = `${this.facts.keyOf(element)}.`
    return [...this.absent].some((key) => key.startsWith(start))
  }

  /** A subquery. An absent value of an element that it declares is part of what it describes. */
  private subquery(evaluate: () => AbstractRows): AbstractRows {
    const before = this.isOwn
    this.isOwn = false
    const result = evaluate()
    const isOwn = this.isOwn
    this.isOwn = before
    for (const change of truths(result.rows)) {
      if (change.before !== true && change.after === true) addExpressions(change.causes, this.matching)
    }
    return isOwn ? { ...result, rows: withoutLosses(result.rows) } : result
  }

  private body(body: SubqueryBody, scope: NameScope): AbstractRows {
    return this.subquery(() =>
      body.kind === 'query'
        ? this.query(body.query, scope)
        : { rows: this.patterns(body.patterns, body.where, new NameScope(scope)), columns: NO_COLUMNS },
    )
  }

  private patterns(paths: readonly PathPattern[], where: Expression | null, scope: NameScope): NullChanges {
    for (const path of paths) this.declare(path, scope)
    const rows = paths.reduce((all, path) => both(all, this.path(path, scope)), ANY_VALUE)
    return where === null ? rows : both(rows, this.condition(where, scope))
  }

  private declare(path: PathPattern, scope: NameScope): void {
    if (path.variable) scope.own.set(path.variable.text, { changes: ANY_VALUE, element: null })
    for (const part of [...path.nodes, ...path.relationships]) {
      if (part.kind === 'quantified-path') this.declare(part.pattern, scope)
      else if (part.variable && scope.find(part.variable.text) === undefined) {
        scope.own.set(part.variable.text, this.declared(part, ANY_VALUE))
      }
    }
  }

  private path({ nodes, relationships, where }: PathPattern, scope: NameScope): NullChanges {
    let rows = where === null ? ANY_VALUE : this.condition(where, scope)
    for (const part of [...nodes, ...relationships]) {
      if (part.kind === 'quantified-path') rows = both(rows, this.path(part.pattern, scope))
      else if (part.properties?.kind === 'map') {
        const isWhole = part.where === null && (part.kind === 'node' || part.range === null)
        rows = both(rows, this.mapInPattern(part.variable?.text ?? null, part.properties, isWhole, scope))
      }
      if (part.where) rows = both(rows, this.condition(part.where, scope))
    }
    return rows
  }

  private mapInPattern(variable: string | null, map: MapLiteral, isWhole: boolean, scope: NameScope): NullChanges {
    const known = this.facts.maps.get(map) ?? { variable, map, nullable: new Set<number>(), isWhole }
    this.facts.maps.set(map, known)
    const tests = map.entries.map(({ value }, i) => {
      const changes = compared(ANY_VALUE, '=', this.value(value, scope))
      if (changes.some(({ after, isDirect }) => after === null && isDirect)) known.nullable.add(i)
      return changes
    })
    return this.claimed(map, tests.reduce(both, TRUE))
  }

  // -------------------------------------------------------------- expressions

  /** The changes of a condition. */
  private condition(expression: Expression, scope: NameScope): NullChanges {
    const changes = this.value(expression, scope)
    for (const { after, causes, isDirect } of changes) {
      if (after === null && isDirect) addExpressions(causes, this.facts.conditions)
    }
    return truths(changes)
  }

  /** A filter of items. An absent member of an item is part of what it describes. */
  private filter(expression: Expression, where: Expression, scope: NameScope): NullChanges {
    const changes = this.condition(where, scope)
    return this.isAbsent(expression) ? withoutLosses(changes) : changes
  }

  /** The null of an expression that is null because a part of it is: its author can wrap the whole. */
  private claimed(expression: object, changes: NullChanges): NullChanges {
    const counted = this.counted.get(expression)
    return distinct(
      changes.map((change) => {
        if (change.after !== null || !change.isDirect || change.causes === null || change.causes === DECIDED)
          return change
        const causes = { expression }
        return counted === undefined ? { ...change, causes } : { ...change, causes, after: counted, isDirect: false }
      }),
    )
  }

  private value(expression: Expression, scope: NameScope): NullChanges {
    this.facts.steps += 1
    if (this.facts.steps > STEPS_MAX) return ANY_VALUE
    const nullable = this.nullable(expression, scope)
    if (nullable !== null) return nullable
    switch (expression.kind) {
      case 'integer':
      case 'float':
      case 'string':
      case 'boolean':
        return always(expression.value)
      case 'null':
        return NULL
      case 'parameter':
        return ANY_VALUE
      case 'variable':
        for (const key of scope.find(expression.name)?.keys ?? []) this.collecting.add(key)
        return scope.find(expression.name)?.changes ?? ANY_VALUE
      case 'list':
        return this.holding(expression.items, scope)
      case 'map':
        return this.holding(
          expression.entries.map(({ value }) => value),
          scope,
        )
      case 'map-projection':
        return this.holding(
          expression.items.flatMap((item) => (item.kind === 'entry' ? [item.value] : [])),
          scope,
        )
      case 'property':
        return this.member(expression, expression.target, expression.key.text, scope)
      case 'index': {
        const { target, index } = expression
        if (index.kind === 'string') return this.member(expression, target, index.value, scope)
        return this.claimed(expression, combined(this.value(target, scope), this.value(index, scope), itemOf))
      }
      case 'slice': {
        const bounds = [expression.from, expression.to].flatMap((bound) => bound ?? [])
        const target = this.value(expression.target, scope)
        const slice = bounds.reduce((all, bound) => combined(all, this.value(bound, scope), sliceOf), target)
        return this.claimed(expression, slice)
      }
      case 'unary': {
        if (expression.operator === 'NOT') return negated(this.condition(expression.operand, scope))
        const sign = expression.operator === '-' ? -1 : 1
        const operand = this.value(expression.operand, scope)
        return this.claimed(
          expression,
          mapped(operand, (value) => (typeof value === 'number' ? sign * value : value)),
        )
      }
      case 'binary':
        return this.binary(expression, scope)
      case 'comparison': {
        const operands = [expression.first, ...expression.rest.map(({ operand }) => operand)].map((operand) =>
          this.value(operand, scope),
        )
        const pairs = expression.rest.map(({ operator }, i) => compared(operands[i]!, operator, operands[i + 1]!))
        return this.claimed(expression, pairs.reduce(both))
      }
      case 'null-test':
        return this.nullTest(expression.operand, expression.negated, scope)
      case 'value-test':
        return distinct(
          this.value(expression.operand, scope).map((change) =>
            change.causes === null
              ? ANY_VALUE[0]!
              : { before: UNKNOWN, after: UNKNOWN, causes: change.isDirect ? DECIDED : change.causes, isDirect: false },
          ),
        )
      case 'label-test':
        return this.claimed(
          expression,
          mapped(this.value(expression.target, scope), (value) => (value === null ? null : UNKNOWN)),
        )
      case 'case':
        return this.case(expression, scope)
      case 'case-operand':
        return this.caseSubject
      case 'function':
        return this.call(expression, scope)
      case 'count-star':
        return this.aggregated('count', expression, TRUE)
      case 'exists':
        return existing(this.body(expression.body, scope).rows)
      case 'pattern-predicate': {
        const patterns = [expression.pattern]
        return existing(this.body({ kind: 'patterns', patterns, where: null }, scope).rows)
      }
      case 'count-subquery':
        return collected(this.body(expression.body, scope).rows, 0)
      case 'collect-subquery': {
        const { rows, columns } = this.body({ kind: 'query', query: expression.query }, scope)
        return listed(rows, [...columns.values()][0]?.changes ?? ANY_VALUE)
      }
      case 'pattern-comprehension': {
        const inner = new NameScope(scope)
        const { pattern, where, projection } = expression
        const { rows } = this.subquery(() => ({ rows: this.patterns([pattern], where, inner), columns: NO_COLUMNS }))
        return listed(rows, this.value(projection, inner))
      }
      case 'list-comprehension': {
        const { variable, list, where, projection } = expression
        const items = this.items(list, scope)
        const inner = new NameScope(scope, [[variable.text, this.declared(expression, items.item)]])
        const rows = where === null ? TRUE : this.filter(expression, where, inner)
        const whole = listed(both(ANY_VALUE, rows), projection === null ? items.item : this.value(projection, inner))
        return this.ofList(expression, items.list, whole, () => EMPTY)
      }
      case 'quantifier':
        return this.quantifier(expression, scope)
      case 'reduce':
        return this.reduce(expression, scope)
    }
  }

  /** A parameter, a claim or a property: null if it is absent. */
  private nullable(expression: Expression, scope: NameScope): NullChanges | null {
    const key = this.keyOf(expression, scope)
    if (key === null) return null
    const { start, end } = expression.span
    if (!this.facts.nullables.has(key)) {
      this.facts.nullables.set(key, { keys: new Set([key]), text: this.text.slice(start, end), start })
    }
    this.collecting.add(key)
    const isNull = !this.isHidden && [...this.absent].some((one) => key === one || key.startsWith(`${one}.`))
    if (!isNull) return key.startsWith('$') ? ANY_VALUE : null
    return this.claimed(expression, [{ before: UNKNOWN, after: null, causes: { expression }, isDirect: true }])
  }

  private keyOf(expression: Expression, scope: NameScope): string | null {
    if (expression.kind === 'parameter') return alwaysSet.has(expression.name) ? null : `$${expression.name}`
    const member =
      expression.kind === 'property'
        ? expression.key.text
        : expression.kind === 'index' && expression.index.kind === 'string'
          ? expression.index.value
          : null
    if (member === null) return null
    const { target } = expression as Extract<Expression, { kind: 'property' | 'index' }>
    if (target.kind !== 'variable') {
      const root = this.keyOf(target, scope)
      return root === null ? null : `${root}.${member}`
    }
    const element = scope.find(target.name)?.element ?? null
    return element === null || alwaysThere.has(member) ? null : `${this.facts.keyOf(element)}.${member}`
  }

  /** A member of a map. */
  private member(expression: Expression, target: Expression, key: string, scope: NameScope): NullChanges {
    const entry = target.kind === 'map' ? target.entries.find((one) => one.key.text === key) : undefined
    if (entry !== undefined) return this.value(entry.value, scope)
    return this.claimed(expression, mapped(this.value(target, scope), memberOf))
  }

  private holding(parts: readonly Expression[], scope: NameScope): NullChanges {
    if (parts.length === 0) return always(EMPTY)
    const values = parts.map((part) => this.value(part, scope))
    return values.reduce((all, value) => combined(all, value, holderOf), ANY_VALUE)
  }

  private binary(expression: Extract<Expression, { kind: 'binary' }>, scope: NameScope): NullChanges {
    const { operator, left, right } = expression
    switch (operator) {
      case 'AND':
        return both(this.condition(left, scope), this.condition(right, scope))
      case 'OR':
        return either(this.condition(left, scope), this.condition(right, scope))
      case 'XOR':
        return differing(this.condition(left, scope), this.condition(right, scope))
      case 'IN': {
        const value = this.value(left, scope)
        if (right.kind !== 'list')
          return this.claimed(expression, combined(value, this.value(right, scope), isIn, inChange))
        const tests = right.items.map((item) => compared(value, '=', this.value(item, scope)))
        return this.claimed(expression, tests.reduce(either, FALSE))
      }
      case 'STARTS WITH':
      case 'ENDS WITH':
      case 'CONTAINS':
      case '=~':
        return this.claimed(expression, combined(this.value(left, scope), this.value(right, scope), textTest))
      default: {
        const apply = (l: AbstractValue, r: AbstractValue) => [computed(operator, l, r)]
        return this.claimed(expression, combined(this.value(left, scope), this.value(right, scope), apply))
      }
    }
  }

  /** IS NULL of a value that may be null: its author has decided what a null means. */
  private nullTest(operand: Expression, isNegated: boolean, scope: NameScope): NullChanges {
    const test = (value: AbstractValue): boolean => (value === null) !== isNegated
    return distinct(
      this.value(operand, scope).map(({ before, after, causes, isDirect }): NullChange => {
        if (causes === null) return before === UNKNOWN ? ANY_VALUE[0]! : always(test(before))[0]!
        return { before: test(before), after: test(after), causes: isDirect ? DECIDED : causes, isDirect: false }
      }),
    )
  }

  private case({ subject, branches, otherwise }: Extract<Expression, { kind: 'case' }>, scope: NameScope): NullChanges {
    const tested = subject === null ? null : this.value(subject, scope)
    let result = otherwise === null ? NULL : this.value(otherwise, scope)
    for (const { when, then } of [...branches].reverse()) {
      const tests = when.map((one) =>
        tested === null ? this.condition(one, scope) : this.alternative(tested, one, scope),
      )
      result = chosen(tests.reduce(either), this.value(then, scope), result)
    }
    return result
  }

  private alternative(subject: NullChanges, when: Expression, scope: NameScope): NullChanges {
    const before = this.caseSubject
    this.caseSubject = subject
    const value = this.value(when, scope)
    this.caseSubject = before
    const isCondition = hasNode(when, 'case-operand')
    return truths(this.claimed(when, isCondition ? value : compared(subject, '=', value)))
  }

  /** The changes of what is made from a list. `whole`: while the list does not change. `none`: what an empty list gives. */
  private ofList(
    expression: Expression,
    list: NullChanges,
    whole: NullChanges,
    none: () => AbstractValue,
  ): NullChanges {
    const found = list.flatMap((change): NullChanges => {
      const { before, after, causes } = change
      const isDirect = false
      if (causes === null) return before === EMPTY ? always(none()) : before === null ? NULL : whole
      if (after === null) return whole.map((one) => ({ ...change, before: one.before }))
      if (after === EMPTY) return whole.map((one) => ({ before: one.before, after: none(), causes, isDirect }))
      if (before === EMPTY) return whole.map((one) => ({ before: none(), after: one.after, causes, isDirect }))
      if (before === null) return whole.map((one) => ({ before, after: one.after, causes, isDirect }))
      if (after === WITH_NULL) return whole
      return [{ before: UNKNOWN, after: after === FEWER ? FEWER : UNKNOWN, causes, isDirect }, ...whole]
    })
    return this.claimed(expression, distinct(found))
  }

  /** The items of a list, one for all. */
  private items(list: Expression, scope: NameScope): Items {
    if (list.kind === 'list') {
      const items = list.items.map((item) => this.value(item, scope))
      if (items.length === 0) return { list: always(EMPTY), some: FALSE, item: NULL }
      return { list: ANY_VALUE, some: TRUE, item: distinct(items.flat()) }
    }
    const changes = this.value(list, scope)
    for (const { after, causes, isDirect } of changes) {
      if (after === null && isDirect) addExpressions(causes, this.facts.emptied)
    }
    const some = distinct(
      changes.flatMap((change): NullChanges => {
        const [before, after] = [change.before, change.after].map((value) => hasItem(value))
        if (change.causes === null) return before === null ? ANY_VALUE : always(before!)
        return [before ?? true, before ?? false].flatMap((from) =>
          (after === null ? [true, false] : [after!]).map((to) => ({
            ...change,
            before: from,
            after: to,
            isDirect: false,
          })),
        )
      }),
    )
    const holders = changes.filter(({ after, causes }) => after === WITH_NULL && causes !== null)
    const items = holders.map((change): NullChange => ({ ...change, before: UNKNOWN, after: null, isDirect: true }))
    return { list: changes, some, item: distinct([...ANY_VALUE, ...items]) }
  }

  private quantifier(expression: Extract<Expression, { kind: 'quantifier' }>, scope: NameScope): NullChanges {
    const { quantifier, variable, list, where } = expression
    const items = this.items(list, scope)
    const inner = new NameScope(scope, [[variable.text, this.declared(expression, items.item)]])
    const test = where === null ? ANY_VALUE : this.filter(expression, where, inner)
    const any = folded(test, false, either)
    // Of two items one is left, or a second one is there.
    const single = test.flatMap(({ before, after, causes }): NullChanges => {
      const isLost = before === true && after !== true
      const isChanged = causes !== null && isLost !== (before !== true && after === true)
      return isChanged ? [{ before: !isLost, after: isLost, causes, isDirect: false }] : []
    })
    const whole = {
      any,
      none: negated(any),
      all: folded(test, true, both),
      single: distinct([...any, ...(test.some(({ after }) => after === true) ? single : [])]),
    }[quantifier]
    const empty = quantifier === 'all' || quantifier === 'none'
    const changes = this.ofList(expression, items.list, truths(whole), () => empty)
    // With fewer items, `all` and `none` hold more often.
    return distinct(
      changes.flatMap((change): NullChanges => {
        if (change.after !== FEWER) return [change]
        return [{ ...change, before: !empty, after: empty }, ...[true, false].flatMap(always)]
      }),
    )
  }

  private reduce(expression: Extract<Expression, { kind: 'reduce' }>, scope: NameScope): NullChanges {
    const { accumulator, initial, variable, list, condition } = expression
    const items = this.items(list, scope)
    const start = this.value(initial, scope)
    const within = (state: NullChanges): NameScope =>
      new NameScope(scope, [
        [variable.text, this.declared(expression, items.item)],
        [accumulator.text, { changes: state, element: null }],
      ])
    const states = repeated(start, (state) => this.value(expression.expression, within(state)))
    if (condition === null) return this.ofList(expression, items.list, states, () => start[0]!.after)
    const holds = folded(this.condition(condition, within(states)), true, both)
    return this.ofList(expression, items.list, truths(holds), () => true)
  }

  // -------------------------------------------------------------- functions

  private call(expression: Extract<Expression, { kind: 'function' }>, scope: NameScope): NullChanges {
    const { args } = expression
    const name = expression.name.text.toLowerCase()
    if (findAggregate(name) !== undefined) {
      const group = this.group
      this.group = null
      const values = args.map((arg) => this.value(arg, scope))
      this.group = group
      return this.aggregated(name, expression, values[0] ?? ANY_VALUE)
    }
    if (name === 'coalesce') return this.coalesce(expression, scope)
    const values = args.map((arg) => this.value(arg, scope))
    if (name === 'valuetype') return mapped(decidedOn(values[0]!), (value) => (value === null ? 'NULL' : UNKNOWN))
    const [first = ANY_VALUE, second] = values
    if (name === 'nullif' && second !== undefined) {
      return this.claimed(expression, combined(first, second, unlessEqual))
    }
    const apply = unaryFunctions[name]
    if (apply !== undefined && second === undefined) return this.claimed(expression, mapped(first, apply))
    return this.claimed(
      expression,
      values.reduce((all, value) => combined(all, value, anyOf), ANY_VALUE),
    )
  }

  /** The result, and the keys of the nullable values that were read for it. */
  private reading<T>(evaluate: () => T): { readonly result: T; readonly keys: ReadonlySet<string> } {
    const outer = this.collecting
    const keys = new Set<string>()
    this.collecting = keys
    const result = evaluate()
    this.collecting = outer
    for (const key of keys) outer.add(key)
    return { result, keys }
  }

  /** The first argument that is not null. A value for a null is a decision; that an element was not found is not null by itself. */
  private coalesce(expression: Extract<Expression, { kind: 'function' }>, scope: NameScope): NullChanges {
    const { args, span } = expression
    const { result: values, keys } = this.reading(() => args.map((arg) => this.value(arg, scope)))
    const together = [...keys].sort().join(' ')
    const isAlwaysSet = values.some((value) => value.some(({ before }) => before !== null && before !== UNKNOWN))
    if (keys.size > 1 && !isAlwaysSet && !this.facts.nullables.has(together)) {
      this.facts.nullables.set(together, { keys, text: this.text.slice(span.start, span.end), start: span.start })
    }
    return this.claimed(
      expression,
      values.reduceRight((rest, value) => firstOf(value, rest)),
    )
  }

  /** An aggregate over the rows before. `value`: its argument. */
  private aggregated(name: string, expression: Expression, value: NullChanges): NullChanges {
    const { rows, isGlobal } = this.group ?? { rows: ANY_VALUE, isGlobal: false }
    const present = mapped(value, (one) => one !== null)
    const counted = isGlobal ? both(rows, present) : both(withoutLosses(rows), present)
    const size = collected(isGlobal ? counted : distinct([...counted, ...lessOf(rows)]), 0)
    switch (name) {
      case 'count':
        return size
      case 'collect':
        return distinct([
          ...mapped(size, (one) => (one === 0 ? EMPTY : one)),
          ...value
            .filter(({ before, after, causes }) => causes !== null && before !== null && after !== null)
            .map((one) => ({ ...one, before: UNKNOWN, after: UNKNOWN })),
        ])
      case 'sum':
        return distinct([...size, ...sumOf(value)])
      default:
        return this.claimed(
          expression,
          distinct([...mapped(size, (one) => (one === 0 ? null : one === FEWER ? UNKNOWN : one)), ...extremeOf(value)]),
        )
    }
  }
}

// ---------------------------------------------------------------- functions of values

function decidedOn(changes: NullChanges): NullChanges {
  return changes.map((change) =>
    change.causes !== null && change.isDirect ? { ...change, causes: DECIDED, isDirect: false } : change,
  )
}

function hasItem(value: AbstractValue): boolean | null {
  if (value === null || value === EMPTY) return false
  return value === WITH_NULL ? true : null
}

/** A list of the items of rows. */
function listed(rows: NullChanges, item: NullChanges): NullChanges {
  const changed = item.filter(({ causes }) => causes !== null)
  const items = changed.map(
    (one): NullChange => ({
      ...one,
      before: UNKNOWN,
      after: one.after === null ? WITH_NULL : UNKNOWN,
    }),
  )
  return distinct([...collected(rows, EMPTY), ...items])
}

/** A row that stays while others are lost. */
function lessOf(rows: NullChanges): NullChanges {
  const all = truths(rows)
  if (!all.some(({ before, after }) => before === true && after === true)) return []
  return all.filter(({ before, after }) => before === true && after !== true)
}

function sumOf(value: NullChanges): NullChanges {
  const changed = value.filter(({ causes, after }) => causes !== null && after !== null)
  if (changed.length === 0) return []
  if (value.every(({ after }) => after === 0 || after === null))
    return changed.map((one) => ({ ...one, before: UNKNOWN }))
  return changed.map(asOrder)
}

/** A change of which only is known whether it is to less or to more. */
function asOrder(change: NullChange): NullChange {
  const { before, after } = change
  if (typeof before !== 'number' || typeof after !== 'number') return { ...change, before: UNKNOWN, after: UNKNOWN }
  return after < before ? { ...change, before: UNKNOWN, after: FEWER } : { ...change, before: FEWER, after: UNKNOWN }
}

function extremeOf(value: NullChanges): NullChanges {
  const changed = value.filter(({ causes, after }) => causes !== null && after !== null)
  const after = new Set(value.map((one) => one.after))
  return after.size <= 1 ? changed : changed.map(asOrder)
}

function firstOf(value: NullChanges, rest: NullChanges): NullChanges {
  return distinct(
    value.flatMap((one): NullChanges => {
      if (one.before !== null && one.after !== null) return [one]
      return rest.map((other): NullChange => {
        const before = one.before ?? other.before
        if (one.after !== null) return { ...one, before }
        if (one.causes === null) return other
        const causes = united(one.causes, other.causes)
        if (other.after === null) return { before, after: null, causes, isDirect: one.isDirect || other.isDirect }
        return { before, after: other.after, causes: one.isDirect ? DECIDED : causes, isDirect: false }
      })
    }),
  )
}

function holderOf(all: AbstractValue, item: AbstractValue): readonly AbstractValue[] {
  return [all === WITH_NULL || item === null || item === WITH_NULL ? WITH_NULL : UNKNOWN]
}

function memberOf(value: AbstractValue): AbstractValue {
  return value === null || value === WITH_NULL ? null : UNKNOWN
}

function itemOf(list: AbstractValue, index: AbstractValue): readonly AbstractValue[] {
  return [list === null || index === null || list === EMPTY || list === WITH_NULL ? null : UNKNOWN]
}

function sliceOf(list: AbstractValue, bound: AbstractValue): readonly AbstractValue[] {
  return [list === null || bound === null ? null : list]
}

function anyOf(left: AbstractValue, right: AbstractValue): readonly AbstractValue[] {
  return [left === null || right === null ? null : UNKNOWN]
}

/** `nullIf`: a value is never equal to null. */
function unlessEqual(left: AbstractValue, right: AbstractValue): readonly AbstractValue[] {
  if (left === null || right === null) return [left]
  return left === UNKNOWN || right === UNKNOWN ? [UNKNOWN, null] : [left === right ? null : left]
}

function textTest(left: AbstractValue, right: AbstractValue): readonly AbstractValue[] {
  return left === null || right === null ? [null] : [true, false]
}

function isIn(value: AbstractValue, list: AbstractValue): readonly AbstractValue[] {
  if (list === EMPTY) return [false]
  if (value === null || list === null) return [null]
  return list === WITH_NULL ? [true, null] : [true, false]
}

/** Fewer items hold a value less often. */
function inChange(value: NullChange, list: NullChange): NullChanges | null {
  if (list.after !== FEWER || value.causes !== null) return null
  const lost = { before: true, after: false, causes: list.causes, isDirect: false }
  return [lost, ...always(true), ...always(false)]
}

function computed(operator: string, left: AbstractValue, right: AbstractValue): AbstractValue {
  if (left === null || right === null) return null
  if (typeof left === 'number' && typeof right === 'number') {
    if (operator === '+') return left + right
    if (operator === '-') return left - right
    return operator === '*' ? left * right : UNKNOWN
  }
  if (operator !== '+' && operator !== '||') return left === FEWER && operator === '-' ? FEWER : UNKNOWN
  if (left === EMPTY && right === EMPTY) return EMPTY
  if (typeof left === 'string' && typeof right === 'string') return left + right
  for (const one of [FEWER, WITH_NULL]) if (left === one || right === one) return one
  return UNKNOWN
}

/** Functions of one value of whose result more is known than that a null gives null. */
const unaryFunctions: Readonly<Record<string, (value: AbstractValue) => AbstractValue>> = {
  isempty: (value) =>
    value === null ? null : value === EMPTY || value === '' ? true : value === UNKNOWN ? false : UNKNOWN,
  size: sizeOf,
  length: sizeOf,
  char_length: sizeOf,
  character_length: sizeOf,
  head: memberOfList,
  last: memberOfList,
  tail: sameList,
  reverse: sameList,
  tostring: asText,
  tostringornull: asText,
  toboolean: asBoolean,
  tobooleanornull: asBoolean,
  tointeger: asNumber,
  tointegerornull: asNumber,
}

function sizeOf(value: AbstractValue): AbstractValue {
  if (value === null || value === FEWER) return value
  return value === EMPTY ? 0 : typeof value === 'string' ? value.length : UNKNOWN
}

function memberOfList(value: AbstractValue): AbstractValue {
  return value === null || value === EMPTY || value === WITH_NULL ? null : UNKNOWN
}

function sameList(value: AbstractValue): AbstractValue {
  return typeof value === 'object' ? value : UNKNOWN
}

function asText(value: AbstractValue): AbstractValue {
  return value === null || typeof value === 'string' ? value : typeof value === 'object' ? UNKNOWN : String(value)
}

function asBoolean(value: AbstractValue): AbstractValue {
  if (value === 'true' || value === 'false') return value === 'true'
  return value === null || typeof value === 'boolean' ? value : typeof value === 'number' ? value !== 0 : UNKNOWN
}

function asNumber(value: AbstractValue): AbstractValue {
  return typeof value === 'boolean' ? Number(value) : value === null || typeof value === 'number' ? value : UNKNOWN
}

function bindingOf(expression: Expression, scope: NameScope): NamedChanges | undefined {
  return expression.kind === 'variable' ? scope.find(expression.name) : undefined
}

function hasNode(expression: Expression, kind: Expression['kind']): boolean {
  let found = false
  walkTree(expression, (node) => {
    if (node.kind === kind) found = true
  })
  return found
}
