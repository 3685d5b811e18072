// Random policy conditions, weighted towards what engines get wrong: variable length, undirected steps, comma patterns,
// relationship uniqueness, pattern predicates, optional matches and aggregates. Made of parts, so that a failure can shrink.
import type { Value } from '../reference/values.ts'
import type { Chance } from './chance.ts'
import { EXTRA_LABELS, NODE_TYPES, RELATIONSHIP_TYPES } from './graph.ts'
import { predicate } from './predicate.ts'

/** One clause: `head` and comma-joined `parts`, then `where` as a conjunction. */
export interface ClauseParts {
  readonly head: string
  readonly parts: readonly string[]
  readonly where: readonly string[]
  /** Stands between the parts and WHERE: ORDER BY, SKIP, LIMIT. */
  readonly tail: string
}

export interface GeneratedCondition {
  readonly clauses: readonly ClauseParts[]
  readonly parameters: ReadonlyMap<string, Value>
  readonly subjectType: string
  readonly resourceType: string
}

export function textOf(clauses: readonly ClauseParts[]): string {
  return clauses
    .map(({ head, parts, where, tail }) => {
      const condition = where.length > 0 ? ` WHERE ${where.join(' AND ')}` : ''
      return `${head} ${parts.join(', ')}${tail}${condition}`
    })
    .join('\n')
}

/** The names that are in reach, by what they hold. */
export interface Scope {
  readonly nodes: string[]
  /** Nodes that may be null (OPTIONAL MATCH). */
  readonly maybe: string[]
  readonly relationships: string[]
  /** Lists of relationships. */
  readonly trails: string[]
  readonly numbers: string[]
}

export const PARAMETERS: ReadonlyMap<string, Value> = new Map<string, Value>([
  ['number', 1n],
  ['float', 1.5],
  ['text', 'a'],
  ['texts', ['a', 'ab', null]],
  ['unset', null],
  [
    'claims',
    new Map<string, Value>([
      ['level', 2n],
      ['act', new Map<string, Value>([['sub', 'b']])],
    ]),
  ],
])

export function randomCondition(chance: Chance): GeneratedCondition {
  const subjectType = chance.pick(NODE_TYPES.slice(0, 2))
  const resourceType = chance.weighted([
    [3, NODE_TYPES[0]],
    [3, NODE_TYPES[1]],
    [1, NODE_TYPES[2]],
  ])
  const writer = new ConditionWriter(chance, { subject: subjectType, resource: resourceType })
  return { clauses: writer.write(), parameters: PARAMETERS, subjectType, resourceType }
}

class ConditionWriter {
  private names = 0
  /** Steps that may walk without an end: one of them is enough for the reference. */
  private unboundedLeft = 1
  private stepsLeft = 5
  private readonly scope: Scope = { nodes: [], maybe: [], relationships: [], trails: [], numbers: [] }
  private readonly chance: Chance
  private readonly types: Readonly<Record<string, string>>
  constructor(chance: Chance, types: Readonly<Record<string, string>>) {
    this.chance = chance
    this.types = types
  }

  write(): ClauseParts[] {
    const { chance } = this
    if (chance.odds(0.35)) return this.plain()
    const clauses: ClauseParts[] = []
    if (chance.odds(0.12)) clauses.push(...this.aggregateFirst())
    clauses.push(this.match('MATCH', [this.ends()]))
    const more = chance.weighted([
      [5, 0],
      [3, 1],
      [1, 2],
    ] as const)
    for (let count = 0; count < more; count++) clauses.push(...this.another())
    // Whatever happened, both names are there now; a barrier with DISTINCT, paging or a threshold may follow.
    if (chance.odds(0.25)) clauses.push(this.barrier())
    return clauses
  }

  /** No conditions, as many real policies are; in one MATCH, or in two, between which relationships may be walked again. */
  private plain(): ClauseParts[] {
    const { chance } = this
    const [from, to] = chance.odds(0.5) ? ['subject', 'resource'] : ['resource', 'subject']
    const clause = (...parts: string[]): ClauseParts => ({ head: 'MATCH', parts, where: [], tail: '' })
    if (chance.odds(0.3)) return [clause(this.path(from, to))]
    const middle = this.fresh('v')
    const [first, second] = [this.path(from, middle), this.path(middle, to)]
    if (chance.odds(0.4)) return [clause(first, second)]
    return chance.odds(0.8) ? [clause(first), clause(second)] : [clause(second), clause(first)]
  }

  /** A pattern that brings in subject and resource, joined or each for itself. */
  private ends(): string[] {
    const { chance } = this
    if (chance.odds(0.12)) return [this.node('subject'), this.node('resource')]
    if (chance.odds(0.08)) return [this.path('subject', null), this.path('resource', null)]
    const [from, to] = chance.odds(0.75) ? ['subject', 'resource'] : ['resource', 'subject']
    const patterns = [this.path(from, to)]
    if (chance.odds(0.35))
      patterns.push(
        this.path(
          chance.pick(['subject', 'resource', ...this.scope.nodes]),
          chance.odds(0.4) ? chance.pick(this.scope.nodes) : null,
        ),
      )
    return patterns
  }

  private match(head: string, patterns: readonly (readonly string[])[]): ClauseParts {
    const where = Array.from(
      {
        length: this.chance.weighted([
          [6, 0],
          [5, 1],
          [1, 2],
        ] as const),
      },
      () => predicate(this.chance, this.scope),
    )
    return { head, parts: patterns.flat(), where, tail: '' }
  }

  private another(): ClauseParts[] {
    const { chance, scope } = this
    return chance.weighted<() => ClauseParts[]>([
      [
        3,
        () => [
          this.match('MATCH', [
            [this.path(chance.pick(scope.nodes), chance.odds(0.4) ? chance.pick(scope.nodes) : null)],
          ]),
        ],
      ],
      [4, () => this.optional()],
      [3, () => this.threshold()],
      [2, () => this.collected()],
    ])()
  }

  private optional(): ClauseParts[] {
    const { chance, scope } = this
    const before = [...scope.nodes]
    const clause = this.match('OPTIONAL MATCH', [
      [this.path(chance.pick(before), chance.odds(0.3) ? chance.pick(before) : null)],
    ])
    const brought = scope.nodes.filter((name) => !before.includes(name))
    scope.nodes.splice(0, scope.nodes.length, ...before)
    // Relationships brought in may be null as well: no expression asks for them any more.
    scope.relationships.length = 0
    scope.trails.length = 0
    if (brought.length === 0 || chance.odds(0.3)) return [clause]
    scope.maybe.push(...brought)
    const name = chance.pick(brought)
    const test = chance.pick([
      `${name} IS NULL`,
      `${name} IS NOT NULL`,
      `${name} IS NULL OR ${name}.num > 0`,
      `NOT ${name}.flag`,
      `coalesce(${name}.num, 1) = 1`,
      `${name} <> subject`,
      `${name} = resource OR ${name} IS NULL`,
    ])
    return [clause, { head: 'WITH', parts: ['*'], where: [`(${test})`], tail: '' }]
  }

  /** A count or another aggregate over what matched, compared with a number. */
  private threshold(): ClauseParts[] {
    const { chance, scope } = this
    const counted = [...scope.nodes, ...scope.maybe, ...scope.relationships]
    const of = chance.pick(counted)
    const node = chance.pick([...scope.nodes, ...scope.maybe])
    const [text, test] = chance.pick([
      [`count(${of})`, `${chance.pick(['>', '>=', '=', '<'])} ${chance.between(0, 3)}`],
      [`count(DISTINCT ${of})`, `${chance.pick(['>', '>=', '=', '<'])} ${chance.between(0, 3)}`],
      ['count(*)', `${chance.pick(['>', '=', '<='])} ${chance.between(1, 3)}`],
      [`sum(${node}.num)`, `>= ${chance.pick(['1', '1.5', '$number'])}`],
      [`avg(${node}.num)`, `< ${chance.pick(['2', '$float'])}`],
      [`min(${node}.num)`, '= 1'],
      [`max(${node}.name)`, "= 'b'"],
      [`size(collect(${node}.name))`, '> 1'],
    ] as const)
    const name = this.fresh('x')
    const carried = this.carry()
    scope.numbers.push(name)
    return [
      {
        head: 'WITH',
        parts: [...carried, `${text} AS ${name}`],
        where: chance.odds(0.85) ? [`${name} ${test}`] : [],
        tail: '',
      },
    ]
  }

  /** collect, with a quantifier or a comprehension over it. */
  private collected(): ClauseParts[] {
    const { chance, scope } = this
    const node = chance.pick([...scope.nodes, ...scope.maybe])
    const list = this.fresh('l')
    const carried = this.carry()
    const where = chance.pick([
      `all(i IN ${list} WHERE i.num > 0)`,
      `any(i IN ${list} WHERE i.name = subject.name)`,
      `none(i IN ${list} WHERE i.flag)`,
      `single(i IN ${list} WHERE i.name IS NOT NULL)`,
      `size([i IN ${list} WHERE i.num >= 1]) > 0`,
      `subject IN ${list}`,
      `NOT resource IN ${list}`,
      `'a' IN [i IN ${list} | i.name]`,
    ])
    return [
      {
        head: 'WITH',
        parts: [...carried, `collect(${chance.odds(0.3) ? 'DISTINCT ' : ''}${node}) AS ${list}`],
        where: [where],
        tail: '',
      },
    ]
  }

  /** Subject and resource always go on; the other names sometimes, so that the group is coarser or finer. */
  private carry(): string[] {
    const { chance, scope } = this
    const others = scope.nodes.filter((name) => name !== 'subject' && name !== 'resource' && chance.odds(0.3))
    const numbers = scope.numbers.filter(() => chance.odds(0.5))
    const carried = ['subject', 'resource', ...new Set(others)]
    scope.nodes.splice(0, scope.nodes.length, ...carried)
    scope.numbers.splice(0, scope.numbers.length, ...numbers)
    scope.maybe.length = 0
    scope.relationships.length = 0
    scope.trails.length = 0
    return [...carried, ...numbers]
  }

  /** DISTINCT, and paging in an order that leaves no ties but between equal rows. */
  private barrier(): ClauseParts {
    const { chance, scope } = this
    const [a, b] = chance.odds(0.5) ? ['subject', 'resource'] : ['resource', 'subject']
    const key = chance.pick(['', `${a}.num, `, `${a}.odd DESC, `, `${b}.name, `, `${b}.flag DESC, `])
    const order = ` ORDER BY ${key}${a}.external_id${chance.odds(0.4) ? ' DESC' : ''}, ${b}.external_id`
    const skip = chance.odds(0.4) ? ` SKIP ${chance.between(0, 2)}` : ''
    const limit = ` LIMIT ${chance.between(1, 5)}`
    const paged = chance.odds(0.7)
    scope.nodes.splice(0, scope.nodes.length, 'subject', 'resource')
    for (const gone of [scope.maybe, scope.relationships, scope.trails, scope.numbers]) gone.length = 0
    const where = chance.odds(0.3) ? [predicate(chance, scope)] : []
    // Without DISTINCT duplicates count against the limit: that is meant.
    return {
      head: chance.odds(0.5) ? 'WITH DISTINCT' : 'WITH',
      parts: ['subject', 'resource'],
      where,
      tail: paged ? order + skip + limit : '',
    }
  }

  /** An aggregate over the whole graph before anything is pinned, used as a bound later. */
  private aggregateFirst(): ClauseParts[] {
    const { chance } = this
    const type = chance.pick(NODE_TYPES)
    const [text, kind] = chance.pick([
      ['count(p)', 'n'],
      ['max(p.num)', 'm'],
      ['avg(p.num)', 'a'],
      ['count(DISTINCT p.name)', 'd'],
    ] as const)
    const name = this.fresh(kind)
    this.scope.numbers.push(name)
    return [
      { head: 'MATCH', parts: [`(p:${type})`], where: [], tail: '' },
      { head: 'WITH', parts: [`${text} AS ${name}`], where: [], tail: '' },
    ]
  }

  // -------------------------------------------------------------- patterns

  private fresh(letter: string): string {
    this.names += 1
    return `${letter}${this.names}`
  }

  /** A chain from one name to another (null: to anything). */
  private path(from: string, to: string | null): string {
    const { chance } = this
    const length = Math.min(
      Math.max(this.stepsLeft, 1),
      chance.weighted([
        [6, 1],
        [4, 2],
        [1, 3],
      ] as const),
    )
    this.stepsLeft -= length
    let text = this.node(from)
    for (let step = 1; step <= length; step++) {
      const relationship = this.relationship()
      text += relationship + (step === length && to ? this.node(to) : this.anyNode())
    }
    return text
  }

  private anyNode(): string {
    const { chance, scope } = this
    if (chance.odds(0.35)) return this.node(null)
    if (chance.odds(0.15) && scope.nodes.length > 0) return this.node(chance.pick(scope.nodes))
    return this.node(this.fresh('v'))
  }

  private node(name: string | null): string {
    const { chance, scope } = this
    if (name && !scope.nodes.includes(name)) scope.nodes.push(name)
    // A label of another type than the one asked for is now and then meant, but grants nothing.
    const own = name ? this.types[name] : undefined
    const labels = chance.weighted<string>([
      [10, ''],
      [4, `:${own && chance.odds(0.9) ? own : chance.pick(NODE_TYPES)}`],
      [0.5, `:${chance.pick(EXTRA_LABELS)}`],
      [0.3, `:${chance.pick(NODE_TYPES)}|${chance.pick(EXTRA_LABELS)}`],
      [0.3, `:!${chance.pick(EXTRA_LABELS)}`],
      [0.2, `:${chance.pick(NODE_TYPES)}&${chance.pick(EXTRA_LABELS)}`],
    ])
    const map = chance.weighted<string>([
      [20, ''],
      [1, ' {num: 1}'],
      [0.6, ' {name: $text}'],
      [0.4, ' {flag: true}'],
      [0.3, ' {name: $claims.act.sub}'],
      [0.2, ` {type: '${chance.pick(NODE_TYPES)}'}`],
    ])
    return `(${name ?? ''}${labels}${map})`
  }

  private relationship(): string {
    const { chance, scope } = this
    const types = chance.weighted<string>([
      [4, `:${chance.pick(RELATIONSHIP_TYPES)}`],
      [4, `:${chance.pick(RELATIONSHIP_TYPES)}|${chance.pick(RELATIONSHIP_TYPES)}`],
      [3, ''],
      [0.2, ':Z'],
    ])
    const range = chance.weighted<() => string>([
      [7, () => ''],
      [1, () => '*2'],
      [1, () => '*..2'],
      [1, () => '*1..3'],
      [1, () => '*0..1'],
      [0.7, () => '*0..2'],
      [0.5, () => '*0'],
      [1, () => this.unbounded()],
    ])()
    const map = chance.weighted<string>([
      [20, ''],
      [1, ' {since: 1}'],
      [0.5, " {role: 'a'}"],
      [0.3, ' {since: $number}'],
    ])
    let name = ''
    if (chance.odds(0.2)) {
      name = this.fresh('r')
      ;(range ? scope.trails : scope.relationships).push(name)
    }
    const body = name || types || range || map ? `[${name}${types}${range}${map}]` : chance.pick(['[]', ''])
    return chance.weighted([
      [4, `-${body}->`],
      [3, `<-${body}-`],
      [3, `-${body}-`],
    ] as const)
  }

  private unbounded(): string {
    if (this.unboundedLeft === 0) return '*1..2'
    this.unboundedLeft -= 1
    return this.chance.pick(['*', '*0..', '*1..', '*2..'])
  }
}
