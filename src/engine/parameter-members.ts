// Finds the members of parameters that a text reads, such as `region` of `$context.region`, also where WITH, UNWIND, lists
// and maps pass them on. Reads the syntax tree, so parameters in comments and strings do not count.
import type { CallClause, Clause, Expression, MapProjection, Name, Projection, Query } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'

/** The members that are read from a value. */
export interface MemberReads {
  /** False: only the presence of the member is tested, as in `'region' IN keys($context)`. */
  isRead: boolean
  /** Members of a map, by name. */
  readonly members: Map<string, MemberReads>
  /** Items of a list, by index; a negative one counts from the end, and null is any item. */
  readonly items: Map<number | null, MemberReads>
}

/** By the name of a parameter, without `$`: the members that are read from it. */
export type ParameterReads = Map<string, MemberReads>

/** Nothing is read. */
export function noReads(): MemberReads {
  return { isRead: false, members: new Map(), items: new Map() }
}

/** Records that a parameter is read at a path of members. */
export function readPath(reads: ParameterReads, name: string, path: readonly string[]): void {
  let place = placeIn(reads, name)
  for (const step of path) place = placeIn(place.members, step)
}

/** Returns the members that a text of Cypher reads; none if it does not parse. */
export function parameterReadsIn(text: string): ParameterReads {
  const reads: ParameterReads = new Map()
  const parsed = parse(text)
  if (parsed.ok) new MemberReader(reads).query(parsed.query, new Map())
  return reads
}

/** The values that an expression can have. */
interface ValueOrigin {
  /** Parts of parameters. */
  readonly places: readonly MemberReads[]
  /** Strings of the text. */
  readonly texts: readonly string[]
  /** Names of members of these parts: an item of `keys($context)`. */
  readonly namesOf: readonly MemberReads[]
  /** Any item of a list that the text makes. */
  readonly item: ValueOrigin | null
  /** Members of a map that the text makes. */
  readonly members: ReadonlyMap<string, ValueOrigin>
  /** Levels of lists and maps that the text makes. */
  readonly depth: number
}

type NamedOrigins = ReadonlyMap<string, ValueOrigin>

const UNKNOWN: ValueOrigin = { places: [], texts: [], namesOf: [], item: null, members: new Map(), depth: 0 }
/** Deeper lists and maps are not followed: names can repeat them exponentially often. */
const DEPTH_MAX = 4
/** Likewise, not more parts of parameters for one expression. */
const PLACES_MAX = 1_000

class MemberReader {
  private readonly reads: ParameterReads
  /** The subject of the CASE around an expression. */
  private subject: ValueOrigin = UNKNOWN

  constructor(reads: ParameterReads) {
    this.reads = reads
  }

  /** Reads a query. Returns the names after it. */
  query({ input, parts }: Query, outer: NamedOrigins): NamedOrigins {
    const before = input === null ? outer : this.query(input, outer)
    return oneOf(parts.map(({ clauses }) => this.clauses(clauses, before)))
  }

  private clauses(clauses: readonly Clause[], outer: NamedOrigins): NamedOrigins {
    return clauses.reduce((scope, clause) => this.clause(clause, scope), outer)
  }

  private clause(clause: Clause, scope: NamedOrigins): NamedOrigins {
    switch (clause.kind) {
      case 'unwind':
        return new Map(scope).set(clause.variable.text, itemOf(this.expression(clause.list, scope), null))
      case 'with': {
        const next = this.project(clause, scope)
        if (clause.where !== null) this.expression(clause.where, next)
        return next
      }
      case 'return':
        return this.project(clause, scope)
      case 'call':
        return new Map([...scope, ...this.query(clause.query, importedBy(clause, scope))])
      case 'conditional':
        return oneOf(
          clause.branches.map(({ when, query }) => {
            if (when !== null) this.expression(when, scope)
            return this.query(query, scope)
          }),
        )
      case 'block':
        return this.query(clause.query, scope)
      case 'match':
      case 'use':
        this.within(clause, scope)
        return scope
    }
  }

  private project({ star, items, orderBy, skip, limit }: Projection, scope: NamedOrigins): NamedOrigins {
    const next = new Map(star ? scope : [])
    for (const { expression, alias, text } of items) next.set(alias?.text ?? text, this.expression(expression, scope))
    this.within([orderBy, skip, limit], new Map([...scope, ...next]))
    return next
  }

  private expression(expression: Expression, scope: NamedOrigins): ValueOrigin {
    switch (expression.kind) {
      case 'parameter':
        return { ...UNKNOWN, places: [placeIn(this.reads, expression.name)] }
      case 'variable':
        return scope.get(expression.name) ?? UNKNOWN
      case 'string':
        return { ...UNKNOWN, texts: [expression.value] }
      case 'case-operand':
        return this.subject
      case 'property':
        return memberOf(this.expression(expression.target, scope), expression.key.text)
      case 'index': {
        const target = this.expression(expression.target, scope)
        const index = this.expression(expression.index, scope)
        if (index.texts.length > 0) return index.texts.map((name) => memberOf(target, name)).reduce(either)
        return itemOf(target, integerOf(expression.index))
      }
      case 'slice': {
        const target = this.expression(expression.target, scope)
        this.within([expression.from, expression.to], scope)
        return listOf(itemOf(target, null))
      }
      case 'list':
        return listOf(expression.items.map((item) => this.expression(item, scope)).reduce(either, UNKNOWN))
      case 'map':
        return mapOf(expression.entries.map(({ key, value }) => [key.text, this.expression(value, scope)]))
      case 'map-projection':
        return this.mapProjection(expression, scope)
      case 'comparison': {
        const { first, rest } = expression
        let left = this.expression(first, scope)
        for (const { operand } of rest) {
          const right = this.expression(operand, scope)
          compare(left, right)
          left = right
        }
        return UNKNOWN
      }
      case 'binary': {
        const left = this.expression(expression.left, scope)
        const right = this.expression(expression.right, scope)
        if (expression.operator === 'IN') compare(left, itemOf(right, null))
        return expression.operator === '+' || expression.operator === '||' ? joined(left, right) : UNKNOWN
      }
      case 'case':
        return this.alternatives(expression, scope)
      case 'function': {
        const args = expression.args.map((arg) => this.expression(arg, scope))
        return resultOf(expression.name.text.toLowerCase(), args)
      }
      case 'list-comprehension': {
        const { variable, list, where, projection } = expression
        const inner = this.withItem(variable, list, scope)
        if (where !== null) this.expression(where, inner)
        return listOf(projection === null ? inner.get(variable.text) : this.expression(projection, inner))
      }
      case 'quantifier': {
        const inner = this.withItem(expression.variable, expression.list, scope)
        if (expression.where !== null) this.expression(expression.where, inner)
        return UNKNOWN
      }
      case 'reduce': {
        const { accumulator, initial, variable, list } = expression
        const first = this.expression(initial, scope)
        const inner = new Map(this.withItem(variable, list, scope)).set(accumulator.text, first)
        const last = this.expression(expression.expression, inner)
        if (expression.condition !== null) this.expression(expression.condition, inner)
        return either(first, last)
      }
      case 'exists':
      case 'count-subquery': {
        const { body } = expression
        if (body.kind === 'query') this.query(body.query, scope)
        else this.within([body.patterns, body.where], scope)
        return UNKNOWN
      }
      case 'collect-subquery':
        return listOf([...this.query(expression.query, scope).values()].at(-1))
      default:
        for (const child of Object.values(expression)) this.within(child, scope)
        return UNKNOWN
    }
  }

  /** Reads the expressions of a part of the tree, such as those of a pattern. */
  private within(tree: unknown, scope: NamedOrigins): void {
    if (tree === null || typeof tree !== 'object') return
    // Nodes that are no expression are read by their members.
    if ('kind' in tree && 'span' in tree) this.expression(tree as Expression, scope)
    else for (const child of Object.values(tree)) this.within(child, scope)
  }

  private withItem(variable: Name, list: Expression, scope: NamedOrigins): NamedOrigins {
    return new Map(scope).set(variable.text, itemOf(this.expression(list, scope), null))
  }

  private alternatives(
    { subject, branches, otherwise }: Extract<Expression, { kind: 'case' }>,
    scope: NamedOrigins,
  ): ValueOrigin {
    const outer = this.subject
    if (subject !== null) this.subject = this.expression(subject, scope)
    const results = branches.map(({ when, then }) => {
      for (const one of when) {
        const value = this.expression(one, scope)
        if (subject !== null) compare(this.subject, value)
      }
      return this.expression(then, scope)
    })
    this.subject = outer
    return [...results, otherwise === null ? UNKNOWN : this.expression(otherwise, scope)].reduce(either)
  }

  private mapProjection({ variable, items }: MapProjection, scope: NamedOrigins): ValueOrigin {
    const projected = scope.get(variable.text) ?? UNKNOWN
    const entries = items
      .filter((item) => item.kind !== 'all')
      .map((item): readonly [string, ValueOrigin] => {
        if (item.kind === 'entry') return [item.key.text, this.expression(item.value, scope)]
        if (item.kind === 'property') return [item.key.text, memberOf(projected, item.key.text)]
        return [item.variable.text, scope.get(item.variable.text) ?? UNKNOWN]
      })
    const own = mapOf(entries)
    return items.some(({ kind }) => kind === 'all') ? either(own, projected) : own
  }
}

/** `CALL { WITH a … }` sees all names in its first clause, and `CALL { MATCH … }` none. */
function importedBy({ imports, query }: CallClause, scope: NamedOrigins): NamedOrigins {
  if (imports === '*') return scope
  const isImporting = query.parts.every(({ clauses }) => clauses[0]?.kind === 'with')
  if (imports === null) return isImporting ? scope : new Map()
  const names = new Set(imports.map(({ text }) => text))
  return new Map([...scope].filter(([name]) => names.has(name)))
}

function resultOf(function_: string, args: readonly ValueOrigin[]): ValueOrigin {
  const [first = UNKNOWN] = args
  switch (function_) {
    case 'coalesce':
      return args.reduce(either, UNKNOWN)
    case 'properties':
    case 'nullif':
      return first
    case 'head':
      return itemOf(first, 0)
    case 'last':
      return itemOf(first, -1)
    case 'tail':
    case 'reverse':
      return listOf(itemOf(first, null))
    case 'collect':
      return listOf(first)
    case 'keys':
      return listOf({ ...UNKNOWN, namesOf: first.places })
    default:
      return UNKNOWN
  }
}

/** Names of members that are compared with strings of the text are tested. */
function compare(left: ValueOrigin, right: ValueOrigin): void {
  for (const [names, texts] of [
    [left.namesOf, right.texts],
    [right.namesOf, left.texts],
  ] as const) {
    for (const place of names) for (const text of texts) placeIn(place.members, text, false)
  }
}

function memberOf({ places, members }: ValueOrigin, name: string): ValueOrigin {
  return either({ ...UNKNOWN, places: places.map((place) => placeIn(place.members, name)) }, members.get(name))
}

function itemOf({ places, item }: ValueOrigin, index: number | null): ValueOrigin {
  return either({ ...UNKNOWN, places: places.map((place) => placeIn(place.items, index)) }, item ?? undefined)
}

function listOf(item: ValueOrigin = UNKNOWN): ValueOrigin {
  if (item === UNKNOWN || item.depth >= DEPTH_MAX) return UNKNOWN
  return { ...UNKNOWN, item, depth: item.depth + 1 }
}

/** Two lists, or an item and a list, joined to one. */
function joined(left: ValueOrigin, right: ValueOrigin): ValueOrigin {
  return listOf(either(itemOf(left, null), itemOf(right, null)))
}

function mapOf(entries: readonly (readonly [string, ValueOrigin])[]): ValueOrigin {
  const depth = Math.max(0, ...entries.map(([, origin]) => origin.depth))
  return depth >= DEPTH_MAX ? UNKNOWN : { ...UNKNOWN, members: new Map(entries), depth: depth + 1 }
}

function either(one: ValueOrigin, other: ValueOrigin | undefined): ValueOrigin {
  if (other === undefined || other === UNKNOWN || other === one) return one
  if (one === UNKNOWN) return other
  const members = new Map(one.members)
  for (const [name, origin] of other.members) members.set(name, either(origin, members.get(name)))
  return {
    places: bothPlaces(one.places, other.places),
    texts: both(one.texts, other.texts),
    namesOf: bothPlaces(one.namesOf, other.namesOf),
    item: one.item === null ? other.item : either(one.item, other.item ?? undefined),
    members,
    depth: Math.max(one.depth, other.depth),
  }
}

/** The names after one of several parts. */
function oneOf(parts: readonly NamedOrigins[]): NamedOrigins {
  const all = new Map<string, ValueOrigin>()
  for (const part of parts) for (const [name, origin] of part) all.set(name, either(origin, all.get(name)))
  return all
}

function both<T>(some: readonly T[], others: readonly T[]): readonly T[] {
  return others.length === 0 ? some : some.length === 0 ? others : [...new Set([...some, ...others])]
}

function bothPlaces(some: readonly MemberReads[], others: readonly MemberReads[]): readonly MemberReads[] {
  return both(some, others).slice(0, PLACES_MAX)
}

function placeIn<K>(places: Map<K, MemberReads>, key: K, isRead = true): MemberReads {
  const place = places.get(key) ?? noReads()
  if (isRead) place.isRead = true
  places.set(key, place)
  return place
}

function integerOf(expression: Expression): number | null {
  if (expression.kind === 'unary' && expression.operator === '-') {
    const value = integerOf(expression.operand)
    return value === null ? null : -value
  }
  return expression.kind === 'integer' && typeof expression.value === 'number' ? expression.value : null
}
