// Random conditions of context policies over the graph of `random-graph.ts`: patterns, optional ones, groups and
// conditions on them.
import type { Random } from '../../generate/random.ts'
import type { ChainPattern, NaiveClause, NaiveNodePattern, StepPattern } from './match.ts'
import { EXTRA_LABELS, NAMES, PROPERTIES, RELATIONSHIP_TYPES, TYPES } from './random-graph.ts'
import type { NaiveComparison, NaiveCondition, Term } from './terms.ts'

export type ConditionVariableKind = 'node' | 'nodes' | 'relationship' | 'relationships' | 'value'

/** The names in scope after the condition. */
export type ConditionScope = Map<string, ConditionVariableKind>

export class RandomCondition {
  scope: ConditionScope = new Map()
  private readonly random: Random
  private readonly subjectType: string
  private named = 0

  constructor(random: Random, subjectType: string) {
    this.random = random
    this.subjectType = subjectType
  }

  clauses(): NaiveClause[] {
    const { random } = this
    const clauses: NaiveClause[] = [this.match(false, true)]
    if (random.odds(0.25)) clauses.push(this.match(false, false))
    for (
      let i = random.weighted([
        [6, 0],
        [4, 1],
        [1, 2],
      ]);
      i > 0;
      i--
    )
      clauses.push(this.match(true, false))
    if (random.odds(0.08)) {
      // Conditions on it must not precede it.
      this.scope = new Map([['subject', 'node']])
      const where = random.odds(0.5) ? this.condition() : null
      clauses.push({ kind: 'some-subjects', skip: random.between(0, 2), limit: random.between(1, 4), where })
    }
    if (random.odds(0.3)) {
      clauses.push(this.projection())
      if (random.odds(0.4)) clauses.push(this.match(random.odds(0.7), false))
      if (random.odds(0.25)) clauses.push(this.projection())
    }
    return clauses
  }

  private match(optional: boolean, isFirst: boolean): NaiveClause {
    const { random } = this
    const known = new Map(this.scope)
    const chains = [this.chain(isFirst ? 'subject' : null)]
    if (!optional && random.odds(0.15)) chains.push(this.chain(null))
    const filtered = random.odds(optional ? 0.25 : 0.2) ? this.condition() : null
    const where = random.odds(0.12) ? this.pathCondition(filtered) : filtered
    // A WHERE is checked on the optional variables before they become null.
    return { kind: 'match', optional: optional && known.size > 0, chains, where }
  }

  private chain(start: string | null): ChainPattern {
    const { random } = this
    const hops = random.weighted([
      [start === 'subject' ? 1 : 0.3, 0],
      [5, 1],
      [3, 2],
      [1, 3],
    ])
    const nodes: NaiveNodePattern[] = [this.node(start)]
    const steps: StepPattern[] = []
    for (let i = 0; i < hops; i++) {
      steps.push(this.step())
      nodes.push(this.node(null))
    }
    return { nodes, steps }
  }

  private node(fixed: string | null): NaiveNodePattern {
    const { random } = this
    const known = [...this.scope].filter(([, kind]) => kind === 'node').map(([name]) => name)
    const isKnown = fixed === null && known.length > 0 && random.odds(0.35)
    const name = fixed ?? (isKnown ? random.pick(known) : random.odds(0.85) ? this.fresh('node') : null)
    if (fixed !== null) this.scope.set(fixed, 'node')
    const label =
      fixed === 'subject'
        ? random.odds(0.7)
          ? this.subjectType
          : null
        : isKnown || random.odds(0.55)
          ? null
          : random.pick([...TYPES, ...EXTRA_LABELS])
    const properties: (readonly [string, Term])[] = []
    if (random.odds(0.05)) properties.push([random.pick(PROPERTIES), this.valueTerm()])
    if (random.odds(fixed === 'subject' ? 0.15 : 0.03)) properties.push(['external_id', this.idTerm()])
    return { name, label, properties }
  }

  private step(): StepPattern {
    const { random } = this
    const range: [number, number] | null = random.odds(0.12)
      ? (random
          .pick([
            [1, 2],
            [0, 1],
            [1, 3],
            [2, 2],
          ] as const)
          .slice() as [number, number])
      : null
    return {
      name: random.odds(0.6) ? this.fresh(range === null ? 'relationship' : 'relationships') : null,
      types: random.weighted<readonly string[]>([
        [4, []],
        [4, [random.pick(RELATIONSHIP_TYPES)]],
        [1, ['KNOWS', 'SEES']],
      ]),
      direction: random.weighted([
        [4, 'out'],
        [3, 'in'],
        [2, 'both'],
      ] as const),
      range,
      properties: random.odds(0.06) ? [['since', { kind: 'literal', value: random.between(0, 3) }]] : [],
    }
  }

  private projection(): NaiveClause {
    const { random } = this
    const before = [...this.scope]
    const keys: { alias: string; term: Term }[] = [{ alias: 'subject', term: { kind: 'variable', name: 'subject' } }]
    const scope: ConditionScope = new Map([['subject', 'node']])
    for (const [name, kind] of before) {
      if (name === 'subject' || random.odds(0.5)) continue
      const alias = random.odds(0.15) ? this.fresh(kind) : name
      keys.push({ alias, term: { kind: 'variable', name } })
      scope.set(alias, kind)
    }
    const elements = before.filter(([, kind]) => kind === 'node').map(([name]) => name)
    if (random.odds(0.3)) {
      const alias = this.fresh('value')
      keys.push({ alias, term: { kind: 'property', of: random.pick(elements), name: random.pick(PROPERTIES) } })
      scope.set(alias, 'value')
    }
    const aggregates: Extract<NaiveClause, { kind: 'with' }>['aggregates'][number][] = []
    for (
      let i = random.weighted([
        [3, 0],
        [4, 1],
        [3, 2],
      ]);
      i > 0;
      i--
    ) {
      const alias = this.fresh('value')
      const of = random.pick(elements)
      scope.set(alias, 'value')
      const how = random.pick([
        'count',
        'count distinct',
        'collect',
        'collect distinct',
        'min',
        'max',
        'sum',
        'avg',
      ] as const)
      const isNumeric = how === 'sum' || how === 'avg'
      const ofWhole = !isNumeric && how !== 'min' && how !== 'max' && random.odds(0.5)
      if (ofWhole && how.startsWith('collect')) scope.set(alias, 'nodes')
      const property = isNumeric ? 'num' : random.pick(how === 'min' || how === 'max' ? ['num', 'name'] : PROPERTIES)
      const isRows = how === 'count' && random.odds(0.3)
      aggregates.push({
        alias,
        how,
        of: isRows ? null : ofWhole ? { kind: 'variable', name: of } : { kind: 'property', of, name: property },
      })
    }
    this.scope = scope
    const distinct = aggregates.length === 0 && random.odds(0.5)
    return { kind: 'with', distinct, keys, aggregates, where: random.odds(0.2) ? this.condition() : null }
  }

  private fresh(kind: ConditionVariableKind): string {
    const name = `${{ node: 'n', nodes: 'ns', relationship: 'r', relationships: 'rs', value: 'v' }[kind]}${this.named++}`
    this.scope.set(name, kind)
    return name
  }

  // -- conditions

  condition(depth = 0, within: readonly Term[] | null = null): NaiveCondition {
    const { random } = this
    if (depth < 2 && random.odds(0.3)) {
      const operands = Array.from({ length: random.between(2, 3) }, () => this.condition(depth + 1, within))
      return { kind: random.pick(['and', 'or'] as const), operands }
    }
    if (depth < 2 && random.odds(0.15)) return { kind: 'not', operand: this.condition(depth + 1, within) }
    const left = within === null ? this.termOfRow() : random.pick(within)
    if (random.odds(0.12)) return { kind: 'null-test', left, negated: random.odds(0.5) }
    const operator = random.weighted<NaiveComparison>([
      [5, '='],
      [2, '<>'],
      [1, '<'],
      [2, '<='],
      [1, '>'],
      [2, '>='],
      [2, 'IN'],
      [1, 'STARTS WITH'],
      [1, 'ENDS WITH'],
      [1, 'CONTAINS'],
      [0.5, '=~'],
    ])
    if (operator === 'IN') {
      const right = random.pick<Term>([
        { kind: 'literal', value: ['n0', 'n1', 'p0', 'p1', 'c1', 'c2'] },
        { kind: 'literal', value: [0, 1, 2] },
        { kind: 'parameter', path: ['list'] },
        { kind: 'parameter', path: ['token', 'roles'] },
      ])
      return { kind: 'comparison', operator, left, right }
    }
    if (operator === '=~')
      return {
        kind: 'comparison',
        operator,
        left,
        right: { kind: 'literal', value: random.pick(['n[01]', 'p.*', '(c|t)\\d']) },
      }
    const isOwn = left.kind === 'own' && random.odds(0.7)
    const right = isOwn
      ? this.idTerm()
      : random.odds(0.2)
        ? within === null
          ? this.termOfRow()
          : random.pick(within)
        : this.valueTerm()
    return { kind: 'comparison', operator, left, right }
  }

  /** Whether two known nodes are connected: only in Cypher, filters cannot express it. */
  private pathCondition(beside: NaiveCondition | null): NaiveCondition {
    const { random } = this
    const names = [...this.scope].filter(([, kind]) => kind === 'node').map(([name]) => name)
    const node = (name: string | null, label: string | null): NaiveNodePattern => ({ name, label, properties: [] })
    const scope = new Map(this.scope)
    const step: StepPattern = { ...this.step(), name: null }
    // The name is not bound by it.
    this.scope = scope
    const end = random.odds(0.5) ? node(random.pick(names), null) : node(null, random.pick(TYPES))
    const path: NaiveCondition = {
      kind: 'path',
      chain: { nodes: [node(random.pick(names), null), end], steps: [step] },
    }
    const asked: NaiveCondition = random.odds(0.5) ? path : { kind: 'not', operand: path }
    return beside === null ? asked : { kind: 'and', operands: [beside, asked] }
  }

  private termOfRow(): Term {
    const { random } = this
    const [of, kind] = random.pick(
      [...this.scope].filter(([, one]) => one === 'node' || one === 'relationship' || one === 'value'),
    )
    if (kind === 'value') return { kind: 'variable', name: of }
    if (kind === 'relationship') return { kind: 'property', of, name: random.pick(['since', 'num']) }
    return random.weighted<Term>([
      [3, { kind: 'own', of, name: 'external_id' }],
      [1, { kind: 'own', of, name: 'type' }],
      [5, { kind: 'property', of, name: random.pick(PROPERTIES) }],
    ])
  }

  private valueTerm(): Term {
    return this.random.pick<Term>([
      { kind: 'literal', value: this.random.between(-1, 3) },
      { kind: 'literal', value: 1.5 },
      { kind: 'literal', value: this.random.pick(NAMES) },
      { kind: 'literal', value: this.random.odds(0.5) },
      { kind: 'parameter', path: ['number'] },
      { kind: 'parameter', path: ['name'] },
      { kind: 'parameter', path: ['order', 'level'] },
      { kind: 'parameter', path: ['token', 'level'] },
      { kind: 'parameter', path: ['token', 'gone'] },
    ])
  }

  private idTerm(): Term {
    return this.random.pick<Term>([
      { kind: 'literal', value: this.random.pick(['p0', 'p1', 'c0', 'c1', 't0']) },
      { kind: 'parameter', path: ['id'] },
      { kind: 'parameter', path: ['order', 'by'] },
      { kind: 'parameter', path: ['token', 'sub'] },
      { kind: 'parameter', path: ['token', 'act', 'sub'] },
    ])
  }
}
