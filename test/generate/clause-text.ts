// Writes clauses one after the other and keeps track of the names in scope. Conditions and row queries are both built
// from these. Weighted towards frequent engine errors: relationship uniqueness, nulls from optional matches,
// aggregates, renamed variables, nested subqueries.

import { NODE_TYPES } from './graph.ts'
import { PathWriter } from './path-text.ts'
import { predicate } from './predicate.ts'
import type { Random } from './random.ts'
import { copyOf, emptyScope, type GeneratedScope, NamesInScope, restrict, someNodes } from './scope.ts'

/** The name that a subquery returns: all its branches return it. */
type Returned = 'node' | 'number' | 'list'

export class ClauseWriter {
  readonly scope: GeneratedScope
  readonly paths: PathWriter
  readonly names: NamesInScope
  protected readonly chance: Random
  protected readonly types: Readonly<Record<string, string>>
  /** Names that every WITH keeps. */
  readonly kept: readonly string[]

  constructor(chance: Random, types: Readonly<Record<string, string>>, kept: readonly string[]) {
    this.chance = chance
    this.types = types
    this.kept = kept
    this.scope = emptyScope()
    this.names = new NamesInScope()
    this.paths = new PathWriter(chance, this.names, types)
  }

  // -------------------------------------------------------------- single clauses

  match(word: 'MATCH' | 'OPTIONAL MATCH', patterns: readonly string[], scope = this.scope): string {
    const { chance } = this
    const count = chance.weighted([
      [6, 0],
      [5, 1],
      [1, 2],
    ] as const)
    const conditions = Array.from({ length: count }, () => predicate(chance, scope))
    return `${word} ${patterns.join(', ')}${conditions.length > 0 ? ` WHERE ${conditions.join(' AND ')}` : ''}`
  }

  /** One or two clauses that add constraints on the names in scope. */
  another(): string[] {
    const { chance } = this
    return chance.weighted<() => string[]>([
      [3, () => [this.onward()]],
      [4, () => this.optional()],
      [2.5, () => [this.threshold()]],
      [2, () => this.collected()],
      [4, () => [this.call(), ...(chance.odds(0.3) ? [this.compared()] : [])]],
      [1, () => this.renamed()],
      [0.7, () => this.unwound()],
      [this.scope.relationships.length > 0 ? 0.7 : 0, () => this.relationshipsCollected()],
    ])()
  }

  /** A match from a known node, which may be null. */
  private onward(): string {
    const { chance, scope } = this
    const again = [...scope.relationships, ...scope.trails]
    if (again.length > 0 && chance.odds(0.3)) return this.followed(chance.pick(again))
    if (chance.odds(0.12)) {
      const alone = this.paths.node(chance.pick(someNodes(scope)), scope)
      return this.match('MATCH', chance.odds(0.5) ? [alone] : [alone, this.paths.node(this.names.fresh('v'), scope)])
    }
    const from = chance.pick(chance.odds(0.2) ? someNodes(scope) : scope.nodes)
    return this.match('MATCH', [this.paths.path(from, chance.odds(0.4) ? chance.pick(scope.nodes) : null, scope)])
  }

  /** A match of a relationship, or a path of them, that is already bound. */
  private followed(name: string): string {
    const { chance, scope } = this
    const end = (): string => {
      const node = chance.odds(0.5) ? chance.pick(someNodes(scope)) : this.names.fresh('v')
      return this.paths.node(node, scope)
    }
    const range = scope.trails.includes(name) ? chance.pick(['*', '*0..', '*1..2', '*2']) : ''
    const step = chance.pick([`-[${name}${range}]->`, `<-[${name}${range}]-`, `-[${name}${range}]-`])
    return this.match('MATCH', [end() + step + end()])
  }

  private optional(): string[] {
    const { chance, scope } = this
    const before = copyOf(scope)
    const [from, to] = [chance.pick(someNodes(scope)), chance.odds(0.3) ? chance.pick(scope.nodes) : null]
    const clause = this.match('OPTIONAL MATCH', [this.paths.path(from, to, scope)])
    const brought = scope.nodes.filter((name) => !before.nodes.includes(name))
    scope.nodes = before.nodes
    scope.maybe.push(...brought)
    if (brought.length === 0 || chance.odds(0.4)) return [clause]
    const name = chance.pick(brought)
    const other = chance.pick(scope.nodes)
    const test = chance.pick([
      `${name} IS NULL`,
      `${name} IS NOT NULL`,
      `${name} IS NULL OR ${name}.num > 0`,
      `NOT ${name}.flag`,
      `coalesce(${name}.num, 1) = 1`,
      `${name} <> ${other}`,
      `${name} = ${other} OR ${name} IS NULL`,
      `NOT EXISTS { (${name})--() }`,
    ])
    return [clause, `WITH * WHERE ${test}`]
  }

  /** A count or another aggregate over the matches, mostly compared with a number. */
  private threshold(): string {
    const { chance, scope } = this
    const counted = [...someNodes(scope), ...scope.relationships]
    const of = chance.pick(counted)
    const node = chance.pick(someNodes(scope))
    const [text, test] = chance.pick([
      [`count(${of})`, `${chance.pick(['>', '>=', '=', '<'])} ${chance.between(0, 3)}`],
      [`count(DISTINCT ${of})`, `${chance.pick(['>', '>=', '=', '<'])} ${chance.between(0, 3)}`],
      ['count(*)', `${chance.pick(['>', '=', '<='])} ${chance.between(1, 3)}`],
      [`sum(${node}.num)`, `>= ${chance.pick(['1', '1.5', '$number'])}`],
      [`avg(${node}.num)`, `< ${chance.pick(['2', '$float'])}`],
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
    const where = chance.odds(0.85) ? ` WHERE ${name} ${test}` : ''
    return `WITH ${[...carried, `${text} AS ${name}`].join(', ')}${where}`
  }

  /** collect with a quantifier over it, or unwound again so that its items start another match. */
  private collected(): string[] {
    const { chance, scope } = this
    const node = chance.pick(someNodes(scope))
    const list = this.names.fresh('l')
    const carried = this.carry()
    const [a, b] = [carried[0] ?? null, chance.pick(carried.length > 0 ? carried : [null])]
    const where = chance.pick([
      `all(i IN ${list} WHERE i.num > 0)`,
      `none(i IN ${list} WHERE i.flag)`,
      `single(i IN ${list} WHERE i.name IS NOT NULL)`,
      `size([i IN ${list} WHERE i.num >= 1]) > 0`,
      `'a' IN [i IN ${list} | i.name]`,
      ...(a ? [`any(i IN ${list} WHERE i.name = ${a}.name)`, `${a} IN ${list}`, `NOT ${b} IN ${list}`] : []),
      ...(a ? [`any(i IN ${list} WHERE EXISTS { (i)--(${a}) })`] : []),
    ])
    const clause = `WITH ${[...carried, `collect(${chance.odds(0.3) ? 'DISTINCT ' : ''}${node}) AS ${list}`].join(', ')}`
    scope.lists.push(list)
    if (chance.odds(0.55)) return [chance.odds(0.8) ? `${clause} WHERE ${where}` : clause]
    const item = this.names.fresh('i')
    scope.nodes.push(item)
    return [clause, `UNWIND ${list} AS ${item}`, ...(chance.odds(0.7) ? [this.onwardFrom(item)] : [])]
  }

  /** Relationships collected and unwound again: values that a pattern must turn back into relationships. */
  private relationshipsCollected(): string[] {
    const { scope } = this
    const relationship = this.chance.pick(scope.relationships)
    const [list, item] = [this.names.fresh('l'), this.names.fresh('r')]
    const clause = `WITH ${[...this.carry(), `collect(${relationship}) AS ${list}`].join(', ')}`
    scope.relationships.push(item)
    return [clause, `UNWIND ${list} AS ${item}`, this.followed(item)]
  }

  private onwardFrom(name: string): string {
    const { chance, scope } = this
    const to = chance.odds(0.4) ? chance.pick(scope.nodes) : null
    if (chance.odds(0.75)) return this.match('MATCH', [this.paths.path(name, to, scope)])
    const before = [...scope.nodes]
    const clause = this.match('OPTIONAL MATCH', [this.paths.path(name, to, scope)])
    scope.maybe.push(...scope.nodes.filter((each) => !before.includes(each)))
    scope.nodes = before
    return clause
  }

  /** Renames a variable; the old name may be reused. */
  private renamed(): string[] {
    const { chance, scope } = this
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
    const name = chance.pick(free)
    const fresh = this.names.fresh('o')
    if (chance.odds(0.3)) {
      // Two names for one node.
      const twice = chance.pick(scope.nodes)
      const carried = this.carry()
      restrict(scope, carried)
      scope.nodes.push(fresh)
      const clause = `WITH ${[...new Set([...carried, twice]), `${twice} AS ${fresh}`].join(', ')}`
      if (!scope.nodes.includes(twice)) scope.nodes.push(twice)
      return [clause, this.onwardFrom(chance.pick([fresh, twice]))]
    }
    const others = this.carry().filter((each) => each !== name)
    restrict(scope, others)
    scope.nodes.push(fresh)
    return [`WITH ${[...others, `${name} AS ${fresh}`].join(', ')}`, this.onwardFrom(fresh)]
  }

  /** The newest variable combined with an older one. */
  private compared(): string {
    const { chance, scope } = this
    const [known, last] = [chance.pick(scope.nodes), someNodes(scope).at(-1)]
    const number = scope.numbers.at(-1)
    const tests = [predicate(chance, scope), '$number > 1']
    if (number) tests.push(`${number} > ${known}.num`, `${number} = ${known}.num`, `${number} > 0`)
    if (last)
      tests.push(`${last} <> ${known}`, `${last}.num = ${known}.num`, `(${last})--(${known})`, `NOT ${last}.flag`)
    return `WITH * WHERE ${chance.pick(tests)}`
  }

  private unwound(): string[] {
    const { chance, scope } = this
    const name = this.names.fresh('u')
    const node = chance.pick(someNodes(scope))
    const list = chance.pick([
      '[1, 2]',
      '[0, null, 1.5]',
      `[${node}.num]`,
      '[]',
      'range(0, 1)',
      `[$number, ${node}.num]`,
    ])
    scope.numbers.push(name)
    const where = chance.odds(0.7) ? [`WITH * WHERE ${predicate(chance, scope)}`] : []
    return [`UNWIND ${list} AS ${name}`, ...where]
  }

  /** Always keeps the required names and sometimes others, so that grouping is coarser or finer. */
  carry(): string[] {
    const { chance, scope } = this
    const kept = this.kept.filter((name) => scope.nodes.includes(name))
    const others = scope.nodes.filter((name) => !kept.includes(name) && chance.odds(0.3))
    const maybe = scope.maybe.filter((name) => !kept.includes(name) && chance.odds(0.15))
    const nodes = [...new Set([...kept, ...others])]
    const [first] = scope.nodes
    if (nodes.length === 0 && first) nodes.push(first)
    const numbers = scope.numbers.filter(() => chance.odds(0.5))
    const carried = [...nodes, ...maybe, ...numbers]
    restrict(scope, carried)
    return carried
  }

  /** DISTINCT, and paging in an order in which only equal rows are tied. */
  barrier(): string {
    const { chance, scope } = this
    const nodes = this.kept.length > 0 ? [...this.kept] : scope.nodes.slice(0, 2)
    if (chance.odds(0.5)) nodes.reverse()
    restrict(scope, nodes)
    const paged = chance.odds(0.7) ? paging(chance, nodes) : ''
    const where = chance.odds(0.3) ? ` WHERE ${predicate(chance, scope)}` : ''
    // Without DISTINCT duplicates count against the limit, as intended.
    return `WITH ${chance.odds(0.5) ? 'DISTINCT ' : ''}${nodes.join(', ')}${paged}${where}`
  }

  /** An aggregate over the whole graph before any variable is bound, used later as a bound. */
  aggregateFirst(): string[] {
    const type = this.chance.pick(NODE_TYPES)
    const text = this.chance.pick(['count(p)', 'max(p.num)', 'avg(p.num)', 'count(DISTINCT p.name)'])
    const name = this.names.fresh('n')
    this.scope.numbers.push(name)
    const where = this.chance.pick([
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
    const { chance, scope } = this
    const style = chance.weighted([
      [4, 'names'],
      [3, 'with'],
      [1, 'star'],
      [1, 'none'],
    ] as const)
    const known = someNodes(scope)
    const seen = style === 'none' ? [] : [...new Set([chance.pick(known), chance.pick(known)])]
    const returned = chance.weighted<Returned>([
      [4, 'node'],
      [2, 'number'],
      [1, 'list'],
    ])
    const name = this.names.fresh(returned === 'node' ? 'c' : returned === 'number' ? 'x' : 'l')
    this.givesNull = false
    const branches = Array.from({ length: chance.odds(0.35) ? 2 : 1 }, () => {
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
    return this.chance.odds(0.6) ? ' UNION ' : ' UNION ALL '
  }

  /** A WITH in the middle of a branch; imported variables stay in scope after it. */
  private bounded(found: string, seen: string, inner: GeneratedScope): string {
    const { chance } = this
    const key = chance.odds(0.3) ? `${seen}.num, ` : ''
    const order = chance.odds(0.5)
      ? ` ORDER BY ${key}${found}.external_id, ${found}.type LIMIT ${chance.between(1, 2)}`
      : ''
    const where = chance.odds(0.3) ? ` WHERE ${found}.num <> ${seen}.num OR ${found} = ${seen}` : ''
    restrict(inner, [found, seen])
    const next = this.match(
      'MATCH',
      [this.paths.path(chance.odds(0.5) ? seen : found, chance.odds(0.6) ? found : null, inner)],
      inner,
    )
    return `WITH ${chance.odds(0.4) ? 'DISTINCT ' : ''}${found}${order}${where} ${next}`
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
    const { chance, names, paths } = this
    const found = names.fresh('v')
    const from = seen.length > 0 ? chance.pick(seen) : null
    const isOptional = chance.odds(0.15)
    this.givesNull ||= isOptional
    const pattern = from ? paths.path(from, found, inner) : paths.node(found, inner)
    const clauses = [this.match(isOptional ? 'OPTIONAL MATCH' : 'MATCH', [pattern], inner)]
    if (from && !byWith && chance.odds(0.2)) clauses.push(this.bounded(found, from, inner))
    else if (chance.odds(0.15)) clauses.push(`WITH DISTINCT ${found}`)
    else if (chance.odds(0.12)) clauses.push(this.nested(found))
    return `${clauses.join(' ')} ${this.returning(found, returned, name)}`
  }

  /** A subquery in a subquery, which only filters. */
  private nested(found: string): string {
    const { chance, names } = this
    const [end, one] = [names.fresh('v'), names.fresh('x')]
    const pattern = this.paths.path(found, end, { ...emptyScope(), nodes: [found] })
    const body = chance.pick([
      `RETURN count(${end}) AS ${one}`,
      `RETURN ${end}.num AS ${one}`,
      `RETURN DISTINCT 1 AS ${one}`,
    ])
    return `CALL (${found}) { MATCH ${pattern} ${body} }`
  }

  private returning(found: string, returned: Returned, name: string): string {
    const { chance } = this
    if (returned === 'list') return `RETURN collect(${found}) AS ${name}`
    if (returned === 'number') {
      return `RETURN ${chance.pick([`count(${found})`, `sum(${found}.num)`, `${found}.num`, 'count(*)', '1'])} AS ${name}`
    }
    const distinct = chance.odds(0.25) ? 'DISTINCT ' : ''
    const paged = chance.odds(0.2)
      ? ` ORDER BY ${name}.external_id, ${name}.type${chance.odds(0.3) ? ' SKIP 1' : ''} LIMIT ${chance.between(1, 2)}`
      : ''
    return `RETURN ${distinct}${found} AS ${name}${paged}`
  }
}

/** An order over all nodes, and a slice of it. */
export function paging(chance: Random, nodes: readonly string[]): string {
  const [first] = nodes
  const key = first
    ? chance.pick(['', `${first}.num, `, `${first}.odd DESC, `, `${first}.name, `, `${first}.flag DESC, `])
    : ''
  const all = nodes.map((node) => `${node}.external_id${chance.odds(0.4) ? ' DESC' : ''}, ${node}.type`).join(', ')
  const skip = chance.odds(0.4) ? ` SKIP ${chance.between(0, 2)}` : ''
  return ` ORDER BY ${key}${all}${skip} LIMIT ${chance.between(1, 5)}`
}
