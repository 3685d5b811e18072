// Writes clauses one after the other and keeps track of the names in scope. Conditions and row queries are both built
// from these. Weighted towards frequent engine errors: relationship uniqueness, nulls from optional matches,
// aggregates, renamed variables, nested subqueries.

import { NODE_TYPES } from './graph.ts'
import { PathWriter } from './path-text.ts'
import { predicate } from './predicate.ts'
import { type SearchedText, searchedText } from './quantified-text.ts'
import type { Random } from './random.ts'
import { copyOf, emptyScope, type GeneratedScope, NamesInScope, restrict, someNodes } from './scope.ts'

/** The name that a subquery returns: all its branches return it. */
type Returned = 'node' | 'number' | 'list'

export class ClauseWriter {
  readonly scope: GeneratedScope
  readonly paths: PathWriter
  readonly names: NamesInScope
  protected readonly random: Random
  protected readonly types: Readonly<Record<string, string>>
  /** Names that every WITH keeps. */
  readonly kept: readonly string[]
  /** How often a path that may have a selector or a quantified path pattern has one. */
  protected searchedOdds = 0.3

  constructor(random: Random, types: Readonly<Record<string, string>>, kept: readonly string[]) {
    this.random = random
    this.types = types
    this.kept = kept
    this.scope = emptyScope()
    this.names = new NamesInScope()
    this.paths = new PathWriter(random, this.names, types)
  }

  // -------------------------------------------------------------- single clauses

  match(
    word: 'MATCH' | 'OPTIONAL MATCH',
    patterns: readonly string[],
    scope = this.scope,
    mode: SearchedText['mode'] = '',
  ): string {
    const { random } = this
    const count = random.weighted([
      [6, 0],
      [5, 1],
      [1, 2],
    ] as const)
    const conditions = Array.from({ length: count }, () => predicate(random, scope))
    return `${word} ${mode}${patterns.join(', ')}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}`
  }

  /** A match of one path that may be found by a search: with a selector or a quantified path pattern. */
  private found(word: 'MATCH' | 'OPTIONAL MATCH', from: string, to: string | null, scope = this.scope): string {
    const { random, names, paths } = this
    if (!random.odds(this.searchedOdds)) return this.match(word, [paths.path(from, to, scope)], scope)
    const end = to ?? names.fresh('v')
    const labelled = random.odds(0.2) ? `${end}:${random.pick(NODE_TYPES)}` : end
    const { mode, text } = searchedText(random, from, labelled, (prefix) => names.fresh(prefix))
    if (!someNodes(scope).includes(end)) scope.nodes.push(end)
    return this.match(word, [text], scope, mode)
  }

  /** One or two clauses that add constraints on the names in scope. */
  another(): string[] {
    const { random } = this
    return random.weighted<() => string[]>([
      [3, () => [this.onward()]],
      [4, () => this.optional()],
      [2.5, () => [this.threshold()]],
      [2, () => this.collected()],
      [4, () => [this.call(), ...(random.odds(0.3) ? [this.compared()] : [])]],
      [1, () => this.renamed()],
      [0.7, () => this.unwound()],
      [this.scope.relationships.length > 0 ? 0.7 : 0, () => this.relationshipsCollected()],
    ])()
  }

  /** A match from a known node, which may be null. */
  private onward(): string {
    const { random, scope } = this
    const again = [...scope.relationships, ...scope.trails]
    if (again.length > 0 && random.odds(0.3)) return this.followed(random.pick(again))
    if (random.odds(0.12)) {
      const alone = this.paths.node(random.pick(someNodes(scope)), scope)
      return this.match('MATCH', random.odds(0.5) ? [alone] : [alone, this.paths.node(this.names.fresh('v'), scope)])
    }
    const from = random.pick(random.odds(0.2) ? someNodes(scope) : scope.nodes)
    return this.found('MATCH', from, random.odds(0.4) ? random.pick(scope.nodes) : null)
  }

  /** A match of a relationship, or a path of them, that is already bound. */
  private followed(name: string): string {
    const { random, scope } = this
    const end = (): string => {
      const node = random.odds(0.5) ? random.pick(someNodes(scope)) : this.names.fresh('v')
      return this.paths.node(node, scope)
    }
    const range = scope.trails.includes(name) ? random.pick(['*', '*0..', '*1..2', '*2']) : ''
    const step = random.pick([`-[${name}${range}]->`, `<-[${name}${range}]-`, `-[${name}${range}]-`])
    return this.match('MATCH', [end() + step + end()])
  }

  protected optional(): string[] {
    const { random, scope } = this
    const before = copyOf(scope)
    const [from, to] = [random.pick(someNodes(scope)), random.odds(0.3) ? random.pick(scope.nodes) : null]
    const clause = this.found('OPTIONAL MATCH', from, to)
    const brought = scope.nodes.filter((name) => !before.nodes.includes(name))
    scope.nodes = before.nodes
    scope.maybe.push(...brought)
    if (brought.length === 0 || random.odds(0.4)) return [clause]
    const name = random.pick(brought)
    const other = random.pick(scope.nodes)
    const test = random.pick([
      `${name} IS NULL`,
      `${name} IS NOT NULL`,
      `${name} IS NULL OR ${name}.num > 0`,
      `NOT ${name}.flag`,
      `coalesce(${name}.num, 1) = 1`,
      `NOT coalesce(${other}.flag, false)`,
      `coalesce(${from}.num, 1) = 1`,
      `${name} <> ${other}`,
      `${name} = ${other} OR ${name} IS NULL`,
      `NOT EXISTS { (${name})--() }`,
    ])
    return [clause, `WITH * WHERE ${test}`]
  }

  /** A count or another aggregate over the matches, mostly compared with a number. */
  private threshold(): string {
    const { random, scope } = this
    const counted = [...someNodes(scope), ...scope.relationships]
    const of = random.pick(counted)
    const node = random.pick(someNodes(scope))
    const [text, test] = random.pick([
      [`count(${of})`, `${random.pick(['>', '>=', '=', '<'])} ${random.between(0, 3)}`],
      [`count(DISTINCT ${of})`, `${random.pick(['>', '>=', '=', '<'])} ${random.between(0, 3)}`],
      ['count(*)', `${random.pick(['>', '=', '<='])} ${random.between(1, 3)}`],
      [`sum(${node}.num)`, `>= ${random.pick(['1', '1.5', '$number'])}`],
      [`avg(${node}.num)`, `< ${random.pick(['2', '$float'])}`],
      [`min(${node}.num)`, '= 1'],
      [`max(${node}.name)`, "= 'b'"],
      [`size(collect(${node}.name))`, '> 1'],
      [`percentileDisc(${node}.num, 0.5)`, '>= 1'],
      [`count(*) + count(${node}.num)`, '> 2'],
      [`count(CASE WHEN ${node}.flag THEN 1 END)`, '= 1'],
    ] as const)
    const name = this.names.fresh('x')
    const carried = this.carry()
    if (text.startsWith('count') || text.startsWith('sum') || text.startsWith('avg')) scope.numbers.push(name)
    const where = random.odds(0.85) ? ` WHERE ${name} ${test}` : ''
    return `WITH ${[...carried, `${text} AS ${name}`].join(', ')}${where}`
  }

  /** collect with a quantifier over it, or unwound again so that its items start another match. */
  private collected(): string[] {
    const { random, scope } = this
    const node = random.pick(someNodes(scope))
    const list = this.names.fresh('l')
    const carried = this.carry()
    const [a, b] = [carried[0] ?? null, random.pick(carried.length > 0 ? carried : [null])]
    const where = random.pick([
      `all(i IN ${list} WHERE i.num > 0)`,
      `none(i IN ${list} WHERE i.flag)`,
      `single(i IN ${list} WHERE i.name IS NOT NULL)`,
      `size([i IN ${list} WHERE i.num >= 1]) > 0`,
      `'a' IN [i IN ${list} | i.name]`,
      ...(a ? [`any(i IN ${list} WHERE i.name = ${a}.name)`, `${a} IN ${list}`, `NOT ${b} IN ${list}`] : []),
      ...(a ? [`any(i IN ${list} WHERE EXISTS { (i)--(${a}) })`] : []),
    ])
    const clause = `WITH ${[...carried, `collect(${random.odds(0.3) ? 'DISTINCT ' : ''}${node}) AS ${list}`].join(', ')}`
    scope.lists.push(list)
    if (random.odds(0.55)) return [random.odds(0.8) ? `${clause} WHERE ${where}` : clause]
    const item = this.names.fresh('i')
    scope.nodes.push(item)
    return [clause, `UNWIND ${list} AS ${item}`, ...(random.odds(0.7) ? [this.onwardFrom(item)] : [])]
  }

  /** Relationships collected and unwound again: values that a pattern must turn back into relationships. */
  private relationshipsCollected(): string[] {
    const { scope } = this
    const relationship = this.random.pick(scope.relationships)
    const [list, item] = [this.names.fresh('l'), this.names.fresh('r')]
    const clause = `WITH ${[...this.carry(), `collect(${relationship}) AS ${list}`].join(', ')}`
    scope.relationships.push(item)
    return [clause, `UNWIND ${list} AS ${item}`, this.followed(item)]
  }

  private onwardFrom(name: string): string {
    const { random, scope } = this
    const to = random.odds(0.4) ? random.pick(scope.nodes) : null
    if (random.odds(0.75)) return this.match('MATCH', [this.paths.path(name, to, scope)])
    const before = [...scope.nodes]
    const clause = this.found('OPTIONAL MATCH', name, to)
    scope.maybe.push(...scope.nodes.filter((each) => !before.includes(each)))
    scope.nodes = before
    return clause
  }

  /** Renames a variable; the old name may be reused. */
  private renamed(): string[] {
    const { random, scope } = this
    const free = scope.nodes.filter((name) => !this.kept.includes(name))
    if (free.length === 0) {
      // The kept names are rebound: the former resource becomes a step on the path to the new one.
      const [name] = this.kept.slice(-1)
      if (!name || !scope.nodes.includes(name)) return [this.threshold()]
      const old = this.names.fresh('o')
      const others = this.carry().filter((each) => each !== name)
      restrict(scope, others)
      scope.nodes.push(old)
      const clause = `WITH ${[`${name} AS ${old}`, ...others].join(', ')}`
      return [clause, this.match('MATCH', [this.paths.path(old, name, scope)])]
    }
    const name = random.pick(free)
    const fresh = this.names.fresh('o')
    if (random.odds(0.3)) {
      // Two names for one node.
      const twice = random.pick(scope.nodes)
      const carried = this.carry()
      restrict(scope, carried)
      scope.nodes.push(fresh)
      const clause = `WITH ${[...new Set([...carried, twice]), `${twice} AS ${fresh}`].join(', ')}`
      if (!scope.nodes.includes(twice)) scope.nodes.push(twice)
      return [clause, this.onwardFrom(random.pick([fresh, twice]))]
    }
    const others = this.carry().filter((each) => each !== name)
    restrict(scope, others)
    scope.nodes.push(fresh)
    return [`WITH ${[...others, `${name} AS ${fresh}`].join(', ')}`, this.onwardFrom(fresh)]
  }

  /** The newest variable combined with an older one. */
  protected compared(): string {
    const { random, scope } = this
    const [known, last] = [random.pick(scope.nodes), someNodes(scope).at(-1)]
    const number = scope.numbers.at(-1)
    const tests = [predicate(random, scope), '$number > 1']
    if (number) tests.push(`${number} > ${known}.num`, `${number} = ${known}.num`, `${number} > 0`)
    if (last)
      tests.push(`${last} <> ${known}`, `${last}.num = ${known}.num`, `(${last})--(${known})`, `NOT ${last}.flag`)
    return `WITH * WHERE ${random.pick(tests)}`
  }

  private unwound(): string[] {
    const { random, scope } = this
    const name = this.names.fresh('u')
    const node = random.pick(someNodes(scope))
    const list = random.pick([
      '[1, 2]',
      '[0, null, 1.5]',
      `[${node}.num]`,
      '[]',
      'range(0, 1)',
      `[$number, ${node}.num]`,
    ])
    scope.numbers.push(name)
    const where = random.odds(0.7) ? [`WITH * WHERE ${predicate(random, scope)}`] : []
    return [`UNWIND ${list} AS ${name}`, ...where]
  }

  /** Always keeps the required names and sometimes others, so that grouping is coarser or finer. */
  carry(): string[] {
    const { random, scope } = this
    const kept = this.kept.filter((name) => scope.nodes.includes(name))
    const others = scope.nodes.filter((name) => !kept.includes(name) && random.odds(0.3))
    const maybe = scope.maybe.filter((name) => !kept.includes(name) && random.odds(0.15))
    const nodes = [...new Set([...kept, ...others])]
    const [first] = scope.nodes
    if (nodes.length === 0 && first) nodes.push(first)
    const numbers = scope.numbers.filter(() => random.odds(0.5))
    const carried = [...nodes, ...maybe, ...numbers]
    restrict(scope, carried)
    return carried
  }

  /** DISTINCT, and paging in an order in which only equal rows are tied. */
  barrier(): string {
    const { random, scope } = this
    const nodes = this.kept.length > 0 ? [...this.kept] : scope.nodes.slice(0, 2)
    if (random.odds(0.5)) nodes.reverse()
    restrict(scope, nodes)
    const paged = random.odds(0.7) ? paging(random, nodes) : ''
    const where = random.odds(0.3) ? ` WHERE ${predicate(random, scope)}` : ''
    // Without DISTINCT duplicates count against the limit, as intended.
    return `WITH ${random.odds(0.5) ? 'DISTINCT ' : ''}${nodes.join(', ')}${paged}${where}`
  }

  /** An aggregate over the whole graph before any variable is bound, used later as a bound. */
  aggregateFirst(): string[] {
    const type = this.random.pick(NODE_TYPES)
    const text = this.random.pick(['count(p)', 'max(p.num)', 'avg(p.num)', 'count(DISTINCT p.name)'])
    const name = this.names.fresh('n')
    this.scope.numbers.push(name)
    const where = this.random.pick([
      '',
      '',
      '',
      ` WHERE ${name} > 0`,
      ' WHERE $number > 0',
      ' WHERE $number > 1',
      ' WHERE $unset',
    ])
    return [`MATCH (p:${type})`, `WITH ${text} AS ${name}${where}`]
  }

  // -------------------------------------------------------------- subqueries

  /** CALL { }: correlated by its parentheses or by WITH, or uncorrelated; one branch or a union. */
  call(): string {
    const { random, scope } = this
    const style = random.weighted([
      [4, 'names'],
      [3, 'with'],
      [1, 'star'],
      [1, 'none'],
    ] as const)
    const known = someNodes(scope)
    const seen = style === 'none' ? [] : [...new Set([random.pick(known), random.pick(known)])]
    const returned = random.weighted<Returned>([
      [4, 'node'],
      [2, 'number'],
      [1, 'list'],
    ])
    const name = this.names.fresh(returned === 'node' ? 'c' : returned === 'number' ? 'x' : 'l')
    this.givesNull = false
    const branches = Array.from({ length: random.odds(0.35) ? 2 : 1 }, () => {
      const inner = copyOf(scope)
      if (style !== 'star') restrict(inner, seen)
      return (
        (style === 'with' ? `WITH ${seen.join(', ')} ` : '') +
        this.branch(seen, inner, returned, name, style === 'with')
      )
    })
    const [scoped, joint] = [style === 'names' ? `(${seen.join(', ')}) ` : style === 'star' ? '(*) ' : '', this.joint()]
    if (returned === 'node') scope[this.givesNull ? 'maybe' : 'nodes'].push(name)
    else scope[returned === 'number' ? 'numbers' : 'lists'].push(name)
    return `CALL ${scoped}{ ${branches.join(joint)} }`
  }

  private joint(): string {
    return this.random.odds(0.6) ? ' UNION ' : ' UNION ALL '
  }

  /** A WITH in the middle of a branch; imported variables stay in scope after it. */
  private bounded(found: string, seen: string, inner: GeneratedScope): string {
    const { random } = this
    const key = random.odds(0.3) ? `${seen}.num, ` : ''
    const order = random.odds(0.5)
      ? ` ORDER BY ${key}${found}.external_id, ${found}.type LIMIT ${random.between(1, 2)}`
      : ''
    const where = random.odds(0.3) ? ` WHERE ${found}.num <> ${seen}.num OR ${found} = ${seen}` : ''
    restrict(inner, [found, seen])
    const next = this.match(
      'MATCH',
      [this.paths.path(random.odds(0.5) ? seen : found, random.odds(0.6) ? found : null, inner)],
      inner,
    )
    return `WITH ${random.odds(0.4) ? 'DISTINCT ' : ''}${found}${order}${where} ${next}`
  }

  /** Set if a branch of the current subquery may return null for its node. */
  private givesNull = false

  private branch(
    seen: readonly string[],
    inner: GeneratedScope,
    returned: Returned,
    name: string,
    byWith: boolean,
  ): string {
    const { random, names, paths } = this
    const found = names.fresh('v')
    const from = seen.length > 0 ? random.pick(seen) : null
    const isOptional = random.odds(0.15)
    this.givesNull ||= isOptional
    const word = isOptional ? 'OPTIONAL MATCH' : 'MATCH'
    const clauses = [from ? this.found(word, from, found, inner) : this.match(word, [paths.node(found, inner)], inner)]
    if (from && !byWith && random.odds(0.2)) clauses.push(this.bounded(found, from, inner))
    else if (random.odds(0.15)) clauses.push(`WITH DISTINCT ${found}`)
    else if (random.odds(0.12)) clauses.push(this.nested(found))
    return `${clauses.join(' ')} ${this.returning(found, returned, name)}`
  }

  /** A subquery in a subquery, which only filters. */
  private nested(found: string): string {
    const { random, names } = this
    const [end, one] = [names.fresh('v'), names.fresh('x')]
    const pattern = this.paths.path(found, end, { ...emptyScope(), nodes: [found] })
    const body = random.pick([
      `RETURN count(${end}) AS ${one}`,
      `RETURN ${end}.num AS ${one}`,
      `RETURN DISTINCT 1 AS ${one}`,
    ])
    return `CALL (${found}) { MATCH ${pattern} ${body} }`
  }

  private returning(found: string, returned: Returned, name: string): string {
    const { random } = this
    if (returned === 'list') return `RETURN collect(${found}) AS ${name}`
    if (returned === 'number') {
      return `RETURN ${random.pick([`count(${found})`, `sum(${found}.num)`, `${found}.num`, 'count(*)', '1'])} AS ${name}`
    }
    const distinct = random.odds(0.25) ? 'DISTINCT ' : ''
    const paged = random.odds(0.2)
      ? ` ORDER BY ${name}.external_id, ${name}.type${random.odds(0.3) ? ' SKIP 1' : ''} LIMIT ${random.between(1, 2)}`
      : ''
    return `RETURN ${distinct}${found} AS ${name}${paged}`
  }
}

/** An order over all nodes, and a slice of it. */
export function paging(random: Random, nodes: readonly string[]): string {
  const [first] = nodes
  const key = first
    ? random.pick(['', `${first}.num, `, `${first}.odd DESC, `, `${first}.name, `, `${first}.flag DESC, `])
    : ''
  const all = nodes.map((node) => `${node}.external_id${random.odds(0.4) ? ' DESC' : ''}, ${node}.type`).join(', ')
  const skip = random.odds(0.4) ? ` SKIP ${random.between(0, 2)}` : ''
  return ` ORDER BY ${key}${all}${skip} LIMIT ${random.between(1, 5)}`
}
