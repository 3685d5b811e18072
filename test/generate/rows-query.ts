// Random queries that end in RETURN: columns of every type, aggregates, DISTINCT, order and paging, and unions.
import type { ReferenceValue } from '../oracle/cypher/values.ts'
import { ClauseWriter } from './clause-text.ts'
import { PARAMETERS } from './condition.ts'
import { number, predicate } from './predicate.ts'
import { quantifiedText, selectedText } from './quantified-text.ts'
import type { Random } from './random.ts'
import { restrict, someNodes } from './scope.ts'
import { counted, orderedList, valueList } from './subquery.ts'

export interface GeneratedRows {
  readonly text: string
  readonly parameters: ReadonlyMap<string, ReferenceValue>
  /** Columns of ORDER BY, most significant first; empty if the order is unspecified. */
  readonly orderedBy: readonly string[]
  /** All columns are among them: tied rows are equal. */
  readonly ordered: boolean
}

/** Columns whose lists have no order start with this prefix. */
export const BAG = 'bag'

interface GeneratedColumn {
  readonly expression: string
  readonly name: string
  /** A type that ORDER BY can order. */
  readonly sortable: boolean
}

export function randomRows(random: Random): GeneratedRows {
  const writer = new RowsWriter(random, {}, [])
  return { ...writer.write(), parameters: PARAMETERS }
}

class RowsWriter extends ClauseWriter {
  private columns = 0

  write(): Omit<GeneratedRows, 'parameters'> {
    const { random } = this
    if (random.odds(0.08)) return this.union()
    const clauses = this.clauses()
    if (random.odds(0.3)) return this.aggregated(clauses)
    if (random.odds(0.04)) return this.collectedInOrder(clauses)
    const columns = this.someColumns(() => this.column())
    return this.returned(clauses, columns, random.odds(0.25))
  }

  private clauses(): string[] {
    const { random } = this
    const clauses = [...(random.odds(0.08) ? this.aggregateFirst() : []), this.first()]
    const more = random.weighted([
      [4, 0],
      [4, 1],
      [2, 2],
    ] as const)
    for (let count = 0; count < more; count++) clauses.push(...this.another())
    if (random.odds(0.12)) clauses.push(this.barrier())
    return clauses
  }

  private first(): string {
    const { random, names, paths, scope } = this
    const name = names.fresh('v')
    if (random.odds(0.15)) return this.match('MATCH', [paths.node(name, scope)])
    if (random.odds(0.06)) return this.shortest()
    if (random.odds(0.12)) return this.quantified()
    if (random.odds(0.06)) return this.selected()
    if (random.odds(0.12)) return this.throughOthers()
    const patterns = [paths.path(name, random.odds(0.4) ? names.fresh('v') : null, scope)]
    if (random.odds(0.15)) patterns.push(paths.path(random.pick(scope.nodes), null, scope))
    return this.match('MATCH', patterns)
  }

  /** Between known nodes, or from one, over nodes that are not used again: only the number of paths remains. */
  private throughOthers(): string {
    const { random, names, paths, scope } = this
    const [a, b, middle] = [names.fresh('v'), names.fresh('v'), names.fresh('v')]
    const known = random.odds(0.5) ? [a, b] : [a]
    const start = this.match(
      'MATCH',
      known.map((name) => paths.node(name, scope)),
    )
    const [first, second] = [paths.path(a, middle, scope), paths.path(middle, b, scope)]
    const where = random.odds(0.4) ? ` WHERE ${predicate(random, scope, 0)}` : ''
    const joint = random.pick([', ', ' MATCH '])
    restrict(scope, [a, b])
    return `${start} MATCH ${first}${joint}${second}${where}`
  }

  /** A quantified path pattern; often only its ends are read, so that a search by nodes may replace its paths. */
  private quantified(): string {
    const { random, names, scope, paths } = this
    const [a, b] = [names.fresh('v'), names.fresh('v')]
    const known = random.odds(0.5) ? [a, b] : [a]
    const start = this.match(
      'MATCH',
      known.map((name) => paths.node(name, scope)),
    )
    restrict(scope, [])
    scope.nodes.push(a, b)
    const { text, lists, trails } = quantifiedText(random, a, b, (prefix) => names.fresh(prefix))
    // A walk that may repeat relationships needs an upper bound.
    const mode = !/\}?[+*]|,\}/.test(text) && random.odds(0.2) ? 'REPEATABLE ELEMENTS ' : ''
    const match = `${start} MATCH ${mode}${text}`
    if (random.odds(0.4)) return `${match} WITH DISTINCT ${a}, ${b}`
    scope.lists.push(...lists)
    scope.trails.push(...trails)
    return match
  }

  private selected(): string {
    const { random, names, scope } = this
    const [a, b, p] = [names.fresh('v'), names.fresh('v'), names.fresh('p')]
    restrict(scope, [])
    scope.nodes.push(a, b)
    scope.paths.push(p)
    return `MATCH ${selectedText(random, a, b, p, (prefix) => names.fresh(prefix))}`
  }

  private shortest(): string {
    const { random, names, scope } = this
    const [a, b, p] = [names.fresh('v'), names.fresh('v'), names.fresh('p')]
    // The WITH between the two matches keeps only these.
    restrict(scope, [])
    scope.nodes.push(a, b)
    scope.paths.push(p)
    const word = random.odds(0.5) ? 'shortestPath' : 'allShortestPaths'
    const step = random.pick(['-[*]-', '-[:A|B*..4]->', '<-[*0..]-', '-[:A*]-', '-[*..3 {since: 1}]->'])
    const round = random.odds(0.3) ? `${a} = ${b}` : `${a} <> ${b}`
    const ends = `MATCH (${a}), (${b}) WHERE ${round} AND ${predicate(random, { ...scope, paths: [] })} WITH ${a}, ${b}`
    // Any of several shortest paths may be returned: only the length is compared.
    if (word === 'shortestPath') scope.paths = []
    const length = names.fresh('x')
    if (word === 'shortestPath') scope.numbers.push(length)
    const onwards = word === 'shortestPath' ? ` WITH ${a}, ${b}, length(${p}) AS ${length}` : ''
    return `${ends} MATCH ${p} = ${word}((${a})${step}(${b}))${onwards}`
  }

  // -------------------------------------------------------------- columns

  private name(prefix = 'c'): string {
    this.columns += 1
    return `${prefix}${this.columns}`
  }

  private someColumns(make: () => GeneratedColumn): GeneratedColumn[] {
    const count = this.random.weighted([
      [3, 1],
      [4, 2],
      [2, 3],
      [1, 4],
    ] as const)
    return Array.from({ length: count }, make)
  }

  private column(): GeneratedColumn {
    const { random, scope } = this
    if (random.odds(0.45)) return this.scalar()
    const known = someNodes(scope)
    const node = random.pick(known)
    const [unordered, ordered] = [(text: string) => this.bag(text), (text: string) => this.exact(text, false)]
    return random.weighted<() => GeneratedColumn>([
      [3, () => ordered(node)],
      [1, () => unordered(`labels(${node})`)],
      [1, () => unordered(`keys(${node})`)],
      [1, () => ordered(`properties(${node})`)],
      [1, () => ordered(`${node} {.num, .name, key: ${number(random, node, scope)}, other: null}`)],
      [0.5, () => ordered(`${node} {.*, flag: 1}`)],
      [1, () => ordered(`{a: ${node}.num, b: [${node}.name, ${node}]}`)],
      [1, () => unordered(valueList(random, node, known, random.pick(['num', 'name', 'odd'])))],
      [1, () => ordered(`[${node}.name, ${random.pick(known)}.tags]`)],
      [scope.relationships.length > 0 ? 3 : 0, () => this.ofRelationship()],
      [scope.trails.length > 0 ? 3 : 0, () => ordered(random.pick(scope.trails))],
      [scope.paths.length > 0 ? 4 : 0, () => this.ofPath()],
      [scope.lists.length > 0 ? 1 : 0, () => unordered(random.pick(scope.lists))],
    ])()
  }

  private ofRelationship(): GeneratedColumn {
    const { random } = this
    const name = random.pick(this.scope.relationships)
    const scalars = [`type(${name})`, `${name}.since`, `${name}.property.role`]
    if (random.odds(0.5)) return this.exact(random.pick(scalars), true)
    return this.exact(random.pick([name, `startNode(${name})`, `endNode(${name})`, `properties(${name})`]), false)
  }

  private ofPath(): GeneratedColumn {
    const { random } = this
    const name = random.pick(this.scope.paths)
    if (random.odds(0.3)) return this.exact(`length(${name})`, true)
    return this.exact(
      random.pick([name, `nodes(${name})`, `relationships(${name})`, `[i IN nodes(${name}) | i.num]`]),
      false,
    )
  }

  private scalar(): GeneratedColumn {
    const { random, scope } = this
    const known = someNodes(scope)
    const node = random.pick(known)
    const text = random.weighted<() => string>([
      [3, () => number(random, node, scope)],
      [2, () => `${node}.name`],
      [2, () => `${node}.external_id`],
      [2, () => `${node}.odd`],
      [1, () => `${node}.tags`],
      [1, () => `${node}.type`],
      [1, () => `${node}['num']`],
      [1, () => `${node}.tags[0]`],
      [1, () => `${node}.tags[-1..]`],
      [1, () => `size(labels(${node}))`],
      [1, () => `toString(${node}.num)`],
      [1, () => `toInteger(${node}.num)`],
      [1, () => `coalesce(${node}.name, ${node}.num, 'none')`],
      [1, () => `${node}.name + 'z'`],
      [1, () => `reduce(s = '', i IN ${node}.tags | s + i)`],
      [1, () => `[i IN ${node}.tags WHERE i <> 'a' | i + '!']`],
      [1, () => `range(0, size(${node}.tags))`],
      [1, () => counted(random, node, known)],
      [1, () => orderedList(random, node, known)],
      [1, () => `CASE ${node}.flag WHEN true THEN 'yes' WHEN false THEN ${node}.num ELSE ${node}.name END`],
      // As an operand a pattern is allowed where it is not allowed alone.
      [3, () => `(${predicate(random, scope, 1)}) OR false`],
      [1, () => `NOT (${predicate(random, scope, 1)})`],
      [0.5, () => '$texts'],
    ])()
    return this.exact(text, true)
  }

  private exact(expression: string, sortable: boolean): GeneratedColumn {
    return { expression, name: this.name(), sortable }
  }

  private bag(expression: string): GeneratedColumn {
    return { expression, name: this.name(BAG), sortable: false }
  }

  private aggregate(): GeneratedColumn {
    const { random, scope } = this
    const node = random.pick(someNodes(scope))
    const distinct = random.odds(0.3) ? 'DISTINCT ' : ''
    if (random.odds(0.25))
      return this.bag(`collect(${distinct}${random.pick([node, `${node}.name`, `${node}.num`, `[${node}.odd]`])})`)
    const number_ = number(random, node, scope)
    const text = random.weighted<string>([
      [3, 'count(*)'],
      [2, `count(${distinct}${node})`],
      [2, `sum(${distinct}${number_})`],
      [1, `avg(${number_})`],
      [1, `min(${node}.odd)`],
      [1, `max(${node}.odd)`],
      [1, `min(${number_})`],
      [1, `max(${node}.name)`],
      [1, `percentileDisc(${number_}, ${random.pick(['0.0', '0.5', '1.0', '0.3'])})`],
      [1, `percentileCont(${number_}, ${random.pick(['0.0', '0.5', '1.0'])})`],
      [1, `count(${distinct}${node}.tags)`],
      [0.5, `size(collect(${distinct}${node}.num)) + count(*)`],
      [0.5, `count(CASE WHEN ${predicate(random, scope, 0)} THEN 1 END)`],
    ])
    return this.exact(text, true)
  }

  // -------------------------------------------------------------- endings

  private returned(
    clauses: readonly string[],
    columns: readonly GeneratedColumn[],
    distinct: boolean,
  ): Omit<GeneratedRows, 'parameters'> {
    const { random } = this
    const items = columns.map(({ expression, name }) => `${expression} AS ${name}`)
    // Two unordered lists that differ only in order would be two rows.
    const isDistinct = distinct && columns.every(({ name }) => !name.startsWith(BAG))
    const text = [...clauses, `RETURN ${isDistinct ? 'DISTINCT ' : ''}${items.join(', ')}`].join('\n')
    const sortable = columns.filter((column) => column.sortable).map(({ name }) => name)
    if (sortable.length === 0 || random.odds(0.5)) return { text, orderedBy: [], ordered: false }
    const ordered = sortable.length === columns.length
    const orderedBy = ordered || random.odds(0.5) ? sortable : [random.pick(sortable)]
    const keys = orderedBy.map((name) => name + random.pick(['', '', ' DESC', ' ASCENDING'])).join(', ')
    const skip = random.odds(0.4) ? ` SKIP ${random.pick(['0', '1', '2', '$number'])}` : ''
    const limit = random.odds(0.6) ? ` LIMIT ${random.pick(['0', '1', '2', '5', '100', '$number'])}` : ''
    return { text: `${text} ORDER BY ${keys}${ordered ? skip + limit : ''}`, orderedBy, ordered }
  }

  private aggregated(clauses: readonly string[]): Omit<GeneratedRows, 'parameters'> {
    const { random } = this
    const keys = random.odds(0.3) ? [] : this.someColumns(() => this.groupingKey())
    const columns = [...keys, ...this.someColumns(() => this.aggregate())]
    return this.returned(clauses, random.odds(0.3) ? columns.reverse() : columns, random.odds(0.1))
  }

  /** Sorted values are collected in that order. */
  private collectedInOrder(clauses: readonly string[]): Omit<GeneratedRows, 'parameters'> {
    const [node] = this.scope.nodes
    const distinct = this.random.odds(0.5) ? 'DISTINCT ' : ''
    const sorted = `WITH ${distinct}${node} ORDER BY ${node}.num, ${node}.external_id DESC, ${node}.type`
    const text = [...clauses, sorted, `RETURN collect(${node}.external_id) AS ${this.name()}`].join('\n')
    return { text, orderedBy: [], ordered: false }
  }

  /** An unordered list would be grouped by the order of its items. */
  private groupingKey(): GeneratedColumn {
    for (;;) {
      const column = this.random.odds(0.7) ? this.scalar() : this.column()
      if (!column.name.startsWith(BAG)) return column
    }
  }

  /** Independent parts with columns of the same names. */
  private union(): Omit<GeneratedRows, 'parameters'> {
    const { random } = this
    const count = random.between(1, 2)
    const parts = Array.from({ length: 2 }, () => {
      const part = new RowsWriter(random, {}, [])
      const clauses = part.clauses()
      const columns = Array.from({ length: count }, () =>
        random.odds(0.8) ? part.scalar() : part.exact(random.pick(someNodes(part.scope)), false),
      )
      return [...clauses, `RETURN ${columns.map(({ expression }, i) => `${expression} AS c${i}`).join(', ')}`].join(
        '\n',
      )
    })
    return { text: parts.join(random.odds(0.5) ? '\nUNION\n' : '\nUNION ALL\n'), orderedBy: [], ordered: false }
  }
}
