// Runs a query clause by clause over lists of environments, exactly in the order of the text: no plan, no index, no
// slots.
import type {
  CallClause,
  Clause,
  Expression,
  Projection,
  ProjectionItem,
  Query,
  SingleQuery,
} from '../../../grammar/ast.ts'
import { AGGREGATES } from './aggregates.ts'
import { asTruth, type Bindings, bind, evaluate, type ReferenceContext } from './expression.ts'
import { type EvaluateExpression, Matcher } from './pattern.ts'
import {
  equivalenceKey,
  Identities,
  isList,
  NotInReference,
  ReferenceEvaluationError,
  type ReferenceGraph,
  type ReferenceValue,
  totalOrder,
} from './values.ts'

/** A projected row: the new names, the scope of ORDER BY and WHERE, and the rows of its group if it aggregates. */
interface Projected {
  readonly names: Bindings
  readonly visible: Bindings
  readonly group: readonly Bindings[] | null
}

/**
 * `plain`: as Cypher says; a row whose condition is null is dropped. `certain`: the same, but EXISTS and its like are null if they
 * depend on something unknown. `possible`: as `certain`, and a row whose condition is null is kept.
 */
type Reading = 'plain' | 'certain' | 'possible'

export class Interpreter {
  private readonly matcher: Matcher
  private readonly around: ReferenceContext
  private readonly reading: Reading
  constructor(graph: ReferenceGraph, parameters: ReadonlyMap<string, ReferenceValue>, reading: Reading = 'plain') {
    this.reading = reading
    const value: EvaluateExpression = (expression, environment) => this.value(expression, environment)
    this.matcher = new Matcher(graph, value, reading === 'possible')
    const rowsBy =
      (interpreter: () => Interpreter): ReferenceContext['rows'] =>
      (body, where, environment) => {
        if (body.kind === 'query') return interpreter().run(body.query, environment)
        const { matcher } = interpreter()
        if (body.kind === 'path') return matcher.matches([body], where, environment)
        return matcher.matches(body.patterns, body.where, environment)
      }
    const read = (other: Reading) => {
      let made: Interpreter | null = reading === other ? this : null
      return rowsBy(() => {
        made ??= new Interpreter(graph, parameters, other)
        return made
      })
    }
    this.around = {
      parameters,
      identities: new Identities(graph),
      rows: read(reading === 'plain' ? 'plain' : 'certain'),
      possibleRows: reading === 'plain' ? null : read('possible'),
    }
  }

  /** The rows of the query, as multisets of names. */
  run(query: Query, given: Bindings = new Map()): Bindings[] {
    return this.union(query, () => ({ rows: [given], imported: given }))
  }

  /** Each part separately, from the rows of `start`. */
  private union(query: Query, start: (part: SingleQuery) => Start): Bindings[] {
    const rows = query.parts.flatMap((part) => {
      const { rows: first, imported } = start(part)
      const given =
        query.input === null
          ? first
          : this.union(query.input, () => ({ rows: first, imported })).map((row) => new Map([...imported, ...row]))
      return part.clauses.reduce<readonly Bindings[]>((found, clause) => this.clause(clause, found, imported), given)
    })
    if (query.unions.length === 0 || query.unions.includes('all')) return rows
    const first = new Map<string, Bindings>()
    for (const row of rows) {
      const key = this.key([...row.keys()].sort().map((name) => row.get(name) as ReferenceValue))
      if (!first.has(key)) first.set(key, row)
    }
    return [...first.values()]
  }

  private clause(clause: Clause, rows: readonly Bindings[], imported: Bindings): Bindings[] {
    switch (clause.kind) {
      case 'match':
        return rows.flatMap((row) => {
          const found = this.matcher.matches(clause.patterns, clause.where, row, clause.mode)
          if (found.length > 0 || !clause.optional) return found
          const missing = Matcher.names(clause.patterns).filter((name) => !row.has(name))
          return [missing.reduce((names, name) => bind(names, name, null), row)]
        })
      case 'unwind':
        return rows.flatMap((row) => {
          const list = this.value(clause.list, row)
          if (list === null) return this.reading === 'possible' ? [bind(row, clause.variable.text, null)] : []
          if (!isList(list)) throw new ReferenceEvaluationError('UNWIND takes a list')
          return list.map((item) => bind(row, clause.variable.text, item))
        })
      case 'with': {
        const { where } = clause
        const projected = this.project(clause, rows, imported)
        return projected
          .filter((row) => where === null || this.keeps(this.value(where, row.visible)))
          .map((row) => new Map([...imported, ...row.names]))
      }
      case 'return':
        return this.project(clause, rows, imported).map((row) => row.names)
      case 'call':
        return rows.flatMap((row) => {
          const found = this.union(clause.query, (part) => passedIn(clause, part, row))
          if (found.length > 0 || !clause.optional) return found.map((names) => new Map([...row, ...names]))
          return [returnedNames(clause.query).reduce((names, name) => bind(names, name, null), row)]
        })
      case 'block':
        return this.union(clause.query, () => ({ rows, imported }))
      case 'conditional':
        return rows.flatMap((row) => {
          const taken: (typeof clause.branches)[number][] = []
          for (const branch of clause.branches) {
            const truth = branch.when === null || asTruth(this.value(branch.when, row))
            // An unknown condition may choose its branch, or one after it; nothing is certain then.
            if (truth === true || (truth === null && this.reading === 'possible')) taken.push(branch)
            if (truth === true || (truth === null && this.reading === 'certain')) break
          }
          return taken.flatMap((branch) => this.union(branch.query, () => ({ rows: [row], imported: row })))
        })
      default:
        throw new NotInReference(clause.kind)
    }
  }

  // -------------------------------------------------------------- WITH and RETURN

  /** Project, deduplicate, sort, skip, limit: in that order. */
  private project(projection: Projection, rows: readonly Bindings[], imported: Bindings): Projected[] {
    const aggregating = projection.items.some((item) => hasAggregate(item.expression))
    let projected = aggregating ? this.grouped(projection, rows) : rows.map((row) => this.projectRow(projection, row))
    if (projection.distinct) {
      const first = new Map<string, Projected>()
      for (const row of projected) {
        const key = this.key([...row.names.values()])
        if (!first.has(key)) first.set(key, { ...row, visible: row.names })
      }
      projected = [...first.values()]
    }
    projected = projected.map((row) => ({ ...row, visible: new Map([...imported, ...row.visible]) }))
    if (projection.orderBy.length > 0) projected = this.sorted(projection, projected)
    const skip = projection.skip ? this.countOf(projection.skip) : 0
    const limit = projection.limit ? this.countOf(projection.limit) : projected.length
    return projected.slice(skip, skip + limit)
  }

  private projectRow(projection: Projection, row: Bindings): Projected {
    const names = new Map(projection.star ? row : [])
    for (const item of projection.items) names.set(columnOf(item), this.value(item.expression, row))
    return { names, visible: new Map([...row, ...names]), group: null }
  }

  /** The items without an aggregate are the grouping keys. Without keys there is one group, even without rows. */
  private grouped(projection: Projection, rows: readonly Bindings[]): Projected[] {
    const keys = projection.items.filter((item) => !hasAggregate(item.expression))
    const groups = new Map<string, Bindings[]>()
    if (keys.length === 0 && !projection.star) groups.set(this.key([]), [])
    for (const row of rows) {
      const carried = projection.star ? [...row.values()] : []
      const key = this.key([...carried, ...keys.map((item) => this.value(item.expression, row))])
      groups.set(key, [...(groups.get(key) ?? []), row])
    }
    return [...groups.values()].map((group) => {
      const any: Bindings = group[0] ?? new Map()
      const names = new Map(projection.star ? any : [])
      for (const item of projection.items) names.set(columnOf(item), evaluate(item.expression, any, this.around, group))
      return { names, visible: names, group }
    })
  }

  private sorted(projection: Projection, rows: readonly Projected[]): Projected[] {
    const keyed = rows.map((row) => {
      const inSight = row.group ? new Map([...(row.group[0] ?? []), ...row.visible]) : row.visible
      return { row, keys: projection.orderBy.map((sort) => evaluate(sort.expression, inSight, this.around, row.group)) }
    })
    keyed.sort((a, b) => {
      for (const [index, sort] of projection.orderBy.entries()) {
        const order = totalOrder(a.keys[index] as ReferenceValue, b.keys[index] as ReferenceValue)
        if (order !== 0) return sort.descending ? -order : order
      }
      return 0
    })
    return keyed.map((each) => each.row)
  }

  private keeps(condition: ReferenceValue): boolean {
    const truth = asTruth(condition)
    return truth === null ? this.reading === 'possible' : truth
  }

  private countOf(expression: Expression): number {
    const count = this.value(expression, new Map())
    if (typeof count !== 'bigint' || count < 0n) throw new ReferenceEvaluationError('SKIP and LIMIT take a count')
    return Number(count)
  }

  private key(values: readonly ReferenceValue[]): string {
    return equivalenceKey(values, this.around.identities)
  }

  private value(expression: Expression, environment: Bindings): ReferenceValue {
    return evaluate(expression, environment, this.around)
  }
}

/** The first row of a part, and its names that no WITH removes from the scope. */
interface Start {
  readonly rows: readonly Bindings[]
  readonly imported: Bindings
}

function passedIn({ imports }: CallClause, part: SingleQuery, row: Bindings): Start {
  const nothing: Bindings = new Map()
  if (imports === '*') return { rows: [row], imported: row }
  // A leading WITH keeps the names in it, as any WITH does; without one no outer name is visible.
  const [first] = part.clauses
  const isImport = first?.kind === 'with' && first.keyword === 'WITH'
  if (imports === null) return { rows: [isImport ? row : nothing], imported: nothing }
  const imported = new Map(imports.map(({ text }) => [text, row.get(text) as ReferenceValue]))
  return { rows: [imported], imported }
}

/** The columns of a query, by its first RETURN. */
function returnedNames({ parts }: Query): string[] {
  const last = parts[0]?.clauses.at(-1)
  if (last?.kind === 'return' && !last.star) return last.items.map(columnOf)
  if (last?.kind === 'block') return returnedNames(last.query)
  if (last?.kind === 'conditional') return returnedNames(last.branches[0]!.query)
  throw new NotInReference('an optional subquery without named columns')
}

function columnOf(item: ProjectionItem): string {
  if (item.alias) return item.alias.text
  return item.expression.kind === 'variable' ? item.expression.name : item.text
}

/** Searches an expression, but not its subqueries: these have aggregates of their own. */
function hasAggregate(tree: unknown): boolean {
  if (tree === null || typeof tree !== 'object') return false
  const { kind, name } = tree as { kind?: unknown; name?: { text?: unknown } }
  if (kind === 'exists' || kind === 'count-subquery' || kind === 'collect-subquery') return false
  if (kind === 'count-star') return true
  if (kind === 'function' && AGGREGATES.has(String(name?.text).toLowerCase())) return true
  return Object.values(tree).some(hasAggregate)
}
