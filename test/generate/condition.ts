// Random policy conditions: patterns that bind subject and resource, and clauses that constrain them further.
import type { ReferenceValue } from '../oracle/cypher/values.ts'
import { ClauseWriter, paging } from './clause-text.ts'
import { NODE_TYPES } from './graph.ts'
import { predicate } from './predicate.ts'
import type { Random } from './random.ts'
import { searchedPlaces } from './searched-places.ts'
import { existing } from './subquery.ts'

export interface GeneratedCondition {
  readonly text: string
  readonly parameters: ReadonlyMap<string, ReferenceValue>
  readonly subjectType: string
  readonly resourceType: string
}

export const PARAMETERS: ReadonlyMap<string, ReferenceValue> = new Map<string, ReferenceValue>([
  ['number', 1n],
  ['float', 1.5],
  ['text', 'a'],
  ['id', 'n2'],
  ['texts', ['a', 'ab', null]],
  ['unset', null],
  [
    'claims',
    new Map<string, ReferenceValue>([
      ['level', 2n],
      ['act', new Map<string, ReferenceValue>([['sub', 'b']])],
    ]),
  ],
])

/** A condition that has a selector or a quantified path pattern where there may be no match. */
export function randomSearchedCondition(random: Random): GeneratedCondition {
  for (;;) {
    const drawn = randomCondition(random, (writer) => writer.writeSearched())
    if (searchedPlaces(drawn.text).length > 0) return drawn
  }
}

export function randomCondition(
  random: Random,
  write = (writer: ConditionWriter): readonly string[] => writer.write(),
): GeneratedCondition {
  const subjectType = random.pick(NODE_TYPES.slice(0, 2))
  const resourceType = random.weighted([
    [3, NODE_TYPES[0]],
    [3, NODE_TYPES[1]],
    [1, NODE_TYPES[2]],
  ])
  const writer = new ConditionWriter(random, { subject: subjectType, resource: resourceType }, ['subject', 'resource'])
  return { text: write(writer).join('\n'), parameters: PARAMETERS, subjectType, resourceType }
}

class ConditionWriter extends ClauseWriter {
  write(): string[] {
    const { random } = this
    if (random.odds(0.35)) return this.plain()
    const clauses = random.weighted<() => string[]>([
      [10, () => [...(random.odds(0.12) ? this.aggregateFirst() : []), this.match('MATCH', this.ends())]],
      [1.5, () => this.endsByCall()],
      [1.5, () => this.resourceByCall()],
      [1, () => this.endsByName()],
    ])()
    const more = random.weighted([
      [4, 0],
      [4, 1],
      [1, 2],
    ] as const)
    for (let count = 0; count < more; count++) clauses.push(...this.another())
    // Both names are bound here; a WITH with DISTINCT, paging or a threshold may follow.
    if (random.odds(0.25)) clauses.push(this.barrier())
    return clauses
  }

  /** Mostly all pairs of nodes, then clauses that may have no match, with a search in most of them. */
  writeSearched(): string[] {
    const { random, scope, paths } = this
    this.searchedOdds = 0.8
    const ends = this.kept.map((name) => {
      const plain = paths.node(name, scope)
      return random.odds(0.8) ? `(${name}:${this.types[name]})` : plain
    })
    const clauses = [this.match('MATCH', random.odds(0.7) ? ends : this.ends())]
    const more = random.weighted([
      [4, 1],
      [3, 2],
      [1, 3],
    ] as const)
    for (let count = 0; count < more; count++) clauses.push(...this.mayHaveNoMatch())
    // Paging over all pairs would make each check as expensive as a search, so only DISTINCT.
    if (random.odds(0.15)) clauses.push('WITH DISTINCT resource, subject')
    return clauses
  }

  private mayHaveNoMatch(): string[] {
    const { random, scope } = this
    return random.weighted<() => string[]>([
      [6, () => this.optional()],
      [3, () => [this.call(), ...(random.odds(0.3) ? [this.compared()] : [])]],
      [3, () => [`WITH * WHERE ${random.odds(0.5) ? 'NOT ' : ''}${this.searchedSubquery()}`]],
      [2, () => this.another()],
      [1, () => [`WITH * WHERE ${predicate(random, scope)}`]],
    ])()
  }

  private searchedSubquery(): string {
    const { random } = this
    const known = this.scope.nodes
    return existing(random, random.pick(known), known)
  }

  /**
   * Few conditions, as in many real policies; in one MATCH, or in two that may traverse the same relationship. The
   * middle node has at most one condition.
   */
  private plain(): string[] {
    const { random, paths, scope } = this
    const [from, to] = this.direction()
    const middle = this.names.fresh('v')
    const clauses = random.weighted<() => string[]>([
      [3, () => [paths.path(from, to, scope)]],
      [3, () => [`${paths.path(from, middle, scope)}, ${paths.path(middle, to, scope)}`]],
      [3, () => [paths.path(from, middle, scope), paths.path(middle, to, scope)]],
      [1, () => [paths.path(middle, to, scope), paths.path(from, middle, scope)]],
    ])()
    const between = scope.nodes.filter((name) => !this.kept.includes(name))
    const where = random.weighted<() => string>([
      [6, () => ''],
      [4, () => ` WHERE ${predicate(random, scope, random.between(0, 1))}`],
      [
        between.length > 1 ? 3 : 0,
        () => ` WHERE ${between[0]}.num ${random.pick(['=', '<', '>='])} ${between.at(-1)}.num`,
      ],
    ])()
    return clauses.map((patterns, i) => `MATCH ${patterns}${i === clauses.length - 1 ? where : ''}`)
  }

  private direction(): readonly [from: string, to: string] {
    return this.random.odds(0.7) ? ['subject', 'resource'] : ['resource', 'subject']
  }

  /** Patterns that bind subject and resource, connected or separate. */
  private ends(): string[] {
    const { random, paths, scope } = this
    if (random.odds(0.1)) return [paths.node('subject', scope), paths.node('resource', scope)]
    if (random.odds(0.08)) return [paths.path('subject', null, scope), paths.path('resource', null, scope)]
    const [from, to] = this.direction()
    const patterns = [paths.path(from, to, scope)]
    if (random.odds(0.35)) {
      const end = random.odds(0.4) ? random.pick(scope.nodes) : null
      patterns.push(paths.path(random.pick(scope.nodes), end, scope))
    }
    return patterns
  }

  /** The union of two paths to the same permission, which a condition can only express inside CALL. */
  private endsByCall(): string[] {
    const { random, scope } = this
    const branches = Array.from({ length: random.odds(0.75) ? 2 : 1 }, () => {
      const inner = new ClauseWriter(random, this.types, this.kept)
      const [from, to] = this.direction()
      const match = inner.match(this.word(), [inner.paths.path(from, to, inner.scope)])
      const columns = random.odds(0.7) ? ['subject', 'resource'] : ['resource', 'subject']
      // Columns of a union are in the order of its first part.
      const paged = random.odds(0.15) ? paging(random, columns) : ''
      return `${match} RETURN ${random.odds(0.2) ? 'DISTINCT ' : ''}subject, resource${paged}`
    })
    scope.nodes.push('subject', 'resource')
    return [`CALL { ${branches.join(random.odds(0.7) ? ' UNION ' : ' UNION ALL ')} }`]
  }

  /** Inside a subquery an end may come from an optional match; where it is null nothing is granted. */
  private word(): 'MATCH' | 'OPTIONAL MATCH' {
    return this.random.odds(0.15) ? 'OPTIONAL MATCH' : 'MATCH'
  }

  private resourceByCall(): string[] {
    const { random, scope, paths } = this
    const subject = this.match('MATCH', [
      random.odds(0.5) ? paths.node('subject', scope) : paths.path('subject', null, scope),
    ])
    const branches = Array.from({ length: random.odds(0.6) ? 2 : 1 }, () => {
      const inner = new ClauseWriter(random, this.types, this.kept)
      inner.scope.nodes.push('subject')
      const match = inner.match(this.word(), [inner.paths.path('subject', 'resource', inner.scope)])
      const paged = random.odds(0.15) ? paging(random, ['resource']) : ''
      return `${match} RETURN ${random.odds(0.2) ? 'DISTINCT ' : ''}resource${paged}`
    })
    scope.nodes.push('resource')
    const joint = random.odds(0.7) ? ' UNION ' : ' UNION ALL '
    if (random.odds(0.5)) return [subject, `CALL (subject) { ${branches.join(joint)} }`]
    return [subject, `CALL { ${branches.map((branch) => `WITH subject ${branch}`).join(joint)} }`]
  }

  /** The ends are matched under other names and renamed by WITH. */
  private endsByName(): string[] {
    const { random, scope, paths } = this
    const [a, b] = [this.names.fresh('v'), this.names.fresh('v')]
    const pattern = paths.path(a, b, scope)
    const match = this.match('MATCH', [pattern])
    const [subject, resource] = random.pick([
      [a, b],
      [a, b],
      [b, a],
      [a, a],
    ] as const)
    for (const kind of Object.keys(scope) as (keyof typeof scope)[]) scope[kind] = []
    scope.nodes.push('subject', 'resource')
    const where = random.odds(0.3) ? ` WHERE ${predicate(random, scope)}` : ''
    return [match, `WITH ${random.odds(0.2) ? 'DISTINCT ' : ''}${subject} AS subject, ${resource} AS resource${where}`]
  }
}
