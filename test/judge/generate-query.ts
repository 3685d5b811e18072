// Random queries for the judge: the clauses of the differential test with columns, conditions and lists from the whole grammar of
// expressions.
import { ClauseWriter } from '../generate/clause-text.ts'
import { PARAMETERS } from '../generate/condition.ts'
import type { Random } from '../generate/random.ts'
import { BAG, randomRows } from '../generate/rows-query.ts'
import { emptyScope, someNodes } from '../generate/scope.ts'
import { engineParameters } from '../support/convert-graph.ts'
import {
  aggregates,
  type ExpressionType,
  expressionTypes,
  orderableTypes,
  type Template,
} from './expression-grammar.ts'
import type { JudgedQuery } from './judged-outcome.ts'
import { ExpressionWriter } from './write-expression.ts'

const parameters = engineParameters(PARAMETERS)

/** Types of the columns, more often those with many operators. */
const columnTypes: readonly ExpressionType[] = [...expressionTypes, 'int', 'float', 'string', 'bool', 'ints', 'strings']

/** A random query. `isUsed`: whether a template of expressions may be used. */
export function randomJudgedQuery(random: Random, isUsed: (template: Template) => boolean): JudgedQuery {
  return random.odds(0.25) ? ofDifferentialTest(random) : new JudgedQueryWriter(random, isUsed).query()
}

/** A query of the differential test, without what only Verdigraph reads. */
function ofDifferentialTest(random: Random): JudgedQuery {
  const { text, orderedBy } = randomRows(random)
  const portable = portableText(text)
  return { text: portable, parameters, orderedBy, bags: bagsOf(portable) }
}

/** Own fields are properties in Neo4j, so that all properties at once are not comparable; `.property.` is only ours. */
const portableText = (text: string): string =>
  text
    .replaceAll('.property.', '.')
    .replaceAll(/keys\((\w+)\)/g, "[k IN keys($1) WHERE NOT k IN ['external_id', 'type', 'is_identity'] | k]")
    .replaceAll('{.*', '{.num')
    .replaceAll(/properties\((\w+)\)/g, 'properties($1).num')

const bagsOf = (text: string): string[] =>
  [...text.matchAll(new RegExp(`AS (${BAG}\\d+)`, 'g'))].map(([, name]) => name as string)

class JudgedQueryWriter extends ClauseWriter {
  private readonly expressions: ExpressionWriter
  private readonly isUsed: (template: Template) => boolean
  private readonly typed = new Map<string, ExpressionType>()

  constructor(random: Random, isUsed: (template: Template) => boolean) {
    super(random, {}, [])
    this.expressions = new ExpressionWriter(random, isUsed)
    this.isUsed = isUsed
  }

  query(): JudgedQuery {
    const { random } = this
    const clauses = random.weighted<() => string[]>([
      [2, () => []],
      [4, () => [this.start()]],
      [3, () => this.ofGql()],
    ])()
    const more = random.weighted([
      [4, 0],
      [3, 1],
      [2, 2],
    ] as const)
    for (let count = 0; count < more; count++) clauses.push(...this.next())
    const written = random.odds(0.25) ? this.aggregated() : this.returned()
    const text = portableText([...clauses, written.text].join('\n'))
    return { text, parameters, orderedBy: written.orderedBy, bags: bagsOf(text) }
  }

  private expression(type: ExpressionType, depth = this.random.between(0, 3)): string {
    return this.expressions.write(type, this.scope, this.typed, depth)
  }

  private start(): string {
    const { random, names, paths, scope } = this
    const pattern = random.odds(0.2)
      ? paths.node(names.fresh('v'), scope)
      : paths.path(names.fresh('v'), random.odds(0.3) ? names.fresh('v') : null, scope)
    const where = random.odds(0.4) ? ` WHERE ${this.expression('bool')}` : ''
    return `MATCH ${pattern}${where}`
  }

  /** Quantified path patterns, path selectors and dynamic labels. */
  private ofGql(): string[] {
    const { random, names, scope } = this
    const [a, b] = [names.fresh('v'), names.fresh('v')]
    const node = (name: string): string => {
      const label = random.pick([
        '',
        '',
        ':Person',
        ':Team|Doc',
        ":$('Person')",
        ' IS Person',
        ' IS !(Team|Doc)',
        ":$any(['Team', 'Doc'])",
        ':!$all([$text])',
      ])
      return `(${name}${label}${random.odds(0.15) ? ` WHERE ${name}.num > 0` : ''})`
    }
    const [from, to] = [node(a), node(b)]
    scope.nodes.push(a, b)
    const types = random.pick([':A', ':A|B', '', ":$('A')", ':!C', ' IS A|B'])
    const arrow = random
      .pick([
        [`-[${types}]-`, '>'],
        [`<-[${types}]-`, ''],
        [`-[${types}]-`, ''],
      ] as const)
      .join('')
    const quantifier = random.pick([
      '{1,2}',
      '{0,2}',
      '{2}',
      '{,3}',
      '{1,3}',
      ...(arrow.endsWith('>') ? ['+', '*'] : []),
    ])
    const step = `${arrow}${quantifier}`
    const where = random.odds(0.3) ? ` WHERE ${this.expression('bool', 2)}` : ''
    const path = names.fresh('p')
    return random.weighted<() => string[]>([
      [2, () => [`MATCH ${from}${step}${to}${where}`]],
      [4, () => [`MATCH ${from}${this.quantified(quantifier)}${to}${where}`]],
      [1, () => [`MATCH ${from}${this.quantified('{1,2}')}(m)${this.quantified('{0,1}')}${to}${where}`]],
      [1, () => this.withPath(path, `MATCH ${path} = ${from}${this.quantified(quantifier)}${to}${where}`)],
      [2, () => this.withPath(path, `MATCH ${path} = ALL SHORTEST ${from}${step}${to}`)],
      [1, () => this.withPath(path, `MATCH ${path} = SHORTEST ${random.between(1, 2)} GROUPS ${from}${step}${to}`)],
      [1, () => this.withPath(path, `MATCH ${path} = ALL ${from}${step}${to}`)],
      // Any of several paths may be returned: only the ends and the length are compared.
      [2, () => this.withLength(path, a, b, `SHORTEST ${random.between(1, 3)} ${from}${step}${to}`)],
      [1, () => this.withLength(path, a, b, `ANY SHORTEST ${from}${this.quantified(quantifier)}${to}`)],
      [1, () => [`MATCH ANY ${from}${step}${to}`]],
    ])()
  }

  /** A pattern of one or two steps with group variables. */
  private quantified(quantifier: string): string {
    const { random, names } = this
    const [x, y, r] = [names.fresh('g'), names.fresh('g'), names.fresh('g')]
    const where = random.pick(['', ` WHERE ${x}.num <= ${y}.num`, ` WHERE ${r}.since = 1`, ` WHERE ${x} <> ${y}`])
    const more = random.odds(0.25) ? '<-[:C]-()' : ''
    const group = `((${x})-[${r}${random.pick([':A', ':A|B', ''])}]->(${y})${more}${where})${quantifier}`
    this.typed.set(x, 'nodes')
    this.typed.set(y, 'nodes')
    this.typed.set(r, 'relationships')
    return group
  }

  private withPath(path: string, clause: string): string[] {
    this.scope.paths.push(path)
    return [clause]
  }

  private withLength(path: string, a: string, b: string, pattern: string): string[] {
    const length = this.names.fresh('t')
    this.typed.clear()
    this.typed.set(length, 'int')
    return [`MATCH ${path} = ${pattern}`, `WITH ${a}, ${b}, length(${path}) AS ${length}`]
  }

  private next(): string[] {
    const { random, scope } = this
    const clause = random.weighted<() => string[]>([
      [3, () => [this.let()]],
      [2, () => [this.unwoundList()]],
      [2, () => [`WITH * WHERE ${this.expression('bool')}`]],
      [1, () => [this.called()]],
      [scope.nodes.length > 0 ? 2 : 0, () => this.another()],
      [scope.nodes.length > 0 ? 2 : 0, () => [this.optionally()]],
    ])
    const isEmpty = scope.nodes.length + this.typed.size + scope.maybe.length === 0
    // `WITH *` needs a name.
    const written = isEmpty ? [this.let()] : clause()
    // Clauses of the differential test keep only their own names.
    if (written.some((text) => /^WITH (?!\*)/.test(text))) this.typed.clear()
    return written
  }

  private let(): string {
    const type = this.random.pick(columnTypes)
    const name = this.names.fresh('t')
    const isEmpty = this.scope.nodes.length + this.typed.size + this.scope.maybe.length === 0
    const text = `WITH ${isEmpty ? '' : '*, '}${this.expression(type)} AS ${name}`
    this.typed.set(name, type)
    return isEmpty ? `WITH ${text.slice(5)} ` : text
  }

  private unwoundList(): string {
    const name = this.names.fresh('u')
    const [list, item] = this.random.pick([
      ['ints', 'int'],
      ['strings', 'string'],
      ['floats', 'float'],
    ] as const)
    const text = `UNWIND ${this.expression(list)} AS ${name}`
    this.typed.set(name, item)
    return text
  }

  private optionally(): string {
    const { scope } = this
    const before = [...scope.nodes]
    const path = this.paths.path(this.random.pick(someNodes(scope)), null, scope)
    const where = this.random.odds(0.4) ? ` WHERE ${this.expression('bool', 2)}` : ''
    scope.maybe.push(...scope.nodes.filter((name) => !before.includes(name)))
    scope.nodes = before
    return `OPTIONAL MATCH ${path}${where}`
  }

  /** A subquery over the names in scope that returns one value. */
  private called(): string {
    const { random } = this
    const type = random.pick(columnTypes)
    const name = this.names.fresh('t')
    const body = random.odds(0.5)
      ? `RETURN ${this.expression(type)} AS ${name}`
      : `UNWIND ${this.expression('ints')} AS item WITH item WHERE item > ${this.expression('int', 1)} RETURN count(item) AS ${name}`
    this.typed.set(name, body.startsWith('RETURN') ? type : 'int')
    return `CALL (*) { ${body} }`
  }

  private returned(): { text: string; orderedBy: string[] } {
    const { random } = this
    const columns = Array.from({ length: random.between(1, 3) }, (_, index) => ({
      type: random.pick(columnTypes),
      name: `c${index}`,
    })).map((column) => ({ ...column, text: this.expression(column.type) }))
    const items = columns.map(({ text, name }) => `${text} AS ${name}`).join(', ')
    const distinct = random.odds(0.15) ? 'DISTINCT ' : ''
    // Elements are ordered by their ids, which differ; lists and maps may contain elements.
    const isOrdered = random.odds(0.7) && columns.every(({ type }) => orderableTypes.includes(type))
    if (!isOrdered) return { text: `RETURN ${distinct}${items}`, orderedBy: [] }
    const orderedBy = columns.map(({ name }) => name)
    const keys = orderedBy.map((name) => name + random.pick(['', '', ' DESC', ' ASCENDING'])).join(', ')
    const skip = random.odds(0.3) ? ` SKIP ${random.between(0, 2)}` : ''
    const limit = random.odds(0.4) ? ` LIMIT ${random.between(0, 4)}` : ''
    return { text: `RETURN ${distinct}${items} ORDER BY ${keys}${skip}${limit}`, orderedBy }
  }

  private aggregated(): { text: string; orderedBy: string[] } {
    const { random } = this
    const keys = Array.from(
      { length: random.between(0, 2) },
      (_, index) => `${this.expression(random.pick(columnTypes), 2)} AS k${index}`,
    )
    const usable = aggregates.filter(([template]) => this.isUsed(template))
    const values = Array.from({ length: random.between(1, 2) }, (_, index) => {
      const [template, kind] = random.pick(usable)
      const text = this.expressions.fill(template, this.scope, this.typed, 2)
      return `${text} AS ${kind === 'bag' ? `${BAG}${index}` : `x${index}`}`
    })
    return { text: `RETURN ${[...keys, ...values].join(', ')}`, orderedBy: [] }
  }
}

/** A query for one template with the simplest operands, over any relationship. */
export function probeOf(template: Template, random: Random, isUsed: (template: Template) => boolean): JudgedQuery {
  const scope = { ...emptyScope(), nodes: ['n', 'm'], relationships: ['r'], paths: ['p'] }
  const text = new ExpressionWriter(random, isUsed).fill(template, scope, new Map(), 0)
  return { text: `MATCH p = (n)-[r]->(m) RETURN ${text} AS c`, parameters, orderedBy: [], bags: [] }
}
