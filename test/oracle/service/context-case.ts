// Random context policies with queries that keep within them, over the graph of `random-graph.ts`.
import type { Random } from '../../generate/random.ts'
import type {
  JoinRule,
  NaiveContextCase,
  NaiveNodeWrite,
  NaivePropertyWrite,
  NaiveRelationshipWrite,
} from './context-query.ts'
import { type ConditionVariableKind, RandomCondition } from './random-condition.ts'
import { EXTRA_LABELS, METADATA, PROPERTIES, TYPES } from './random-graph.ts'
import type { NaiveCondition, Term } from './terms.ts'

export const INPUT = {
  number: 1,
  name: 'n1',
  list: ['n0', 'n2', 1, 'p1'],
  id: 'p1',
  fresh: 'fresh1',
  order: { by: 'p2', level: 2 },
}

export function randomCase(random: Random, subjectType: string): NaiveContextCase {
  const writer = new CaseWriter(random, subjectType)
  return writer.case()
}

class CaseWriter {
  private readonly random: Random
  private readonly subjectType: string
  private readonly pattern: RandomCondition
  private labelled = false

  constructor(random: Random, subjectType: string) {
    this.random = random
    this.subjectType = subjectType
    this.pattern = new RandomCondition(random, subjectType)
  }

  case(): NaiveContextCase {
    const { random } = this
    const clauses = this.pattern.clauses()
    const policyFilters = Array.from(
      {
        length: random.weighted([
          [5, 0],
          [4, 1],
          [1, 2],
        ]),
      },
      () => this.pattern.condition(),
    )
    const allowedReads = this.allowedReads()
    const nodes = this.asked(allowedReads.nodes)
    const relationships = this.asked(allowedReads.relationships)
    const base = {
      subjectType: this.subjectType,
      clauses,
      policyFilters,
      queryFilter: random.odds(0.3) ? this.filterWithin(allowedReads) : null,
      allowedReads,
      nodes,
      relationships,
      aggregates: allowedReads.aggregate_values.filter(() => random.odds(0.8)),
      joinRules: [] as JoinRule[],
      nodeTypes: [] as string[],
      existingNodes: [] as string[],
      existingRelationships: [] as string[],
      allowedDeletes: { nodes: [] as string[], relationships: [] as string[] },
      nodeWrites: [] as NaiveNodeWrite[],
      relationshipWrites: [] as NaiveRelationshipWrite[],
      deleteNodes: [] as string[],
      deleteRelationships: [] as string[],
    }
    return random.odds(0.45) ? this.withWrites(base) : base
  }

  // -- reads

  private allowedReads(): NaiveContextCase['allowedReads'] {
    const { random } = this
    const nodes: string[] = []
    const relationships: string[] = []
    const aggregate_values: string[] = []
    for (const [name, kind] of this.pattern.scope) {
      if (random.odds(0.1)) continue
      if (kind === 'node' || kind === 'nodes') {
        const property = random.pick(PROPERTIES)
        nodes.push(
          ...random.pick([
            [`${name}.external_id`],
            [`${name}.*`],
            [name, `${name}.external_id`],
            [`${name}.property.*`, `${name}.type`],
            [`${name}.property.${property}`, `${name}.property.${property}.metadata.${random.pick(METADATA)}`],
            [`${name}.*`, `${name}.property.num.metadata.source`, `${name}.trust_score.*`],
          ]),
        )
      }
      if (kind === 'relationship' || kind === 'relationships') {
        relationships.push(...random.pick([[name], [`${name}.*`], [`${name}.since`], [`${name}.property.*`]]))
      }
      if (kind === 'value' || kind === 'nodes' || random.odds(0.05)) aggregate_values.push(name)
    }
    return { nodes, relationships, aggregate_values }
  }

  /** Paths within the allowed ones. */
  private asked(allowed: readonly string[]): string[] {
    const { random } = this
    const paths = allowed
      .filter(() => random.odds(0.85))
      .flatMap((path) => {
        if (!path.endsWith('.*') || random.odds(0.4)) return [path]
        const stem = path.slice(0, -2)
        if (path.endsWith('.property.*')) return [`${stem}.${random.pick(PROPERTIES)}`]
        if (path.endsWith('.trust_score.*')) return [`${stem}._final_score`]
        const kind = this.pattern.scope.get(stem)
        if (kind === 'relationship' || kind === 'relationships')
          return [random.pick([stem, `${stem}.since`, `${stem}.property.num`])]
        return [
          random.pick([
            stem,
            `${stem}.external_id`,
            `${stem}.is_identity`,
            `${stem}.property.*`,
            `${stem}.property.${random.pick(PROPERTIES)}`,
          ]),
        ]
      })
    return [...new Set(paths)]
  }

  /** By what may be read; null if no readable path has a single value. */
  private filterWithin({
    nodes,
    relationships,
    aggregate_values,
  }: NaiveContextCase['allowedReads']): NaiveCondition | null {
    const terms = [...nodes, ...relationships].flatMap((path): Term[] => {
      const [of = '', first, second, third, field = ''] = path.split('.')
      const kind = this.pattern.scope.get(of)
      if (kind !== 'node' && kind !== 'relationship') return []
      if (third === 'metadata') return [{ kind: 'metadata', of, name: second as string, field }]
      if (first === 'trust_score') return []
      if (first === undefined || first === '*' || second === '*') {
        const own: Term[] =
          kind === 'node' && second !== '*'
            ? [
                { kind: 'own', of, name: 'external_id' },
                { kind: 'own', of, name: 'type' },
              ]
            : []
        return [...own, { kind: 'property', of, name: kind === 'node' ? this.random.pick(PROPERTIES) : 'since' }]
      }
      if (first === 'external_id' || first === 'type') return [{ kind: 'own', of, name: first }]
      return [{ kind: 'property', of, name: second ?? first }]
    })
    const values = aggregate_values
      .filter((name) => this.pattern.scope.get(name) === 'value')
      .map((name): Term => ({ kind: 'variable', name }))
    const all = [...terms, ...values]
    return all.length === 0 ? null : this.pattern.condition(0, all)
  }

  // -- writes

  private withWrites(base: NaiveContextCase): NaiveContextCase {
    const { random } = this
    const ofKind = (...kinds: ConditionVariableKind[]) =>
      [...this.pattern.scope].filter(([, kind]) => kinds.includes(kind)).map(([name]) => name)
    const nodes = ofKind('node', 'nodes')
    const relationships = ofKind('relationship', 'relationships')
    const nodeWrites: NaiveNodeWrite[] = []
    const relationshipWrites: NaiveRelationshipWrite[] = []
    const asked = { nodes: [...base.nodes], relationships: [...base.relationships] }
    const existingNodes = nodes.filter(() => random.odds(0.3))
    for (const name of existingNodes)
      nodeWrites.push({ name, key: null, labels: this.labels(0.15), properties: this.properties(name) })
    for (
      let i = random.weighted([
        [3, 0],
        [4, 1],
        [1, 2],
      ]);
      i > 0;
      i--
    ) {
      const name = `made${i}`
      nodeWrites.push({
        name,
        key: { type: random.pick(['Note', 'Car']), externalId: this.newId() },
        labels: this.labels(0.25),
        properties: this.properties(name),
      })
      asked.nodes.push(
        ...random.pick<string[]>([
          [],
          [`${name}.external_id`],
          [`${name}.external_id`, `${name}.property.num`],
          [name],
          [`${name}.*`],
          [`${name}.property.w${name}`],
        ]),
      )
      if (random.odds(0.3)) base.allowedReads.nodes.push(`${name}.*`)
    }
    const existingRelationships = relationships.filter(() => random.odds(0.3))
    for (const name of existingRelationships)
      relationshipWrites.push({ name, key: null, properties: this.properties(name) })
    const ends = [...ofKind('node'), ...nodeWrites.map(({ name }) => name).filter((name) => name.startsWith('made'))]
    for (
      let i = random.weighted([
        [4, 0],
        [4, 1],
        [1, 2],
      ]);
      i > 0;
      i--
    ) {
      const name = `joined${i}`
      relationshipWrites.push({
        name,
        key: { type: random.pick(['OWNS', 'ABOUT', 'SEES']), source: random.pick(ends), target: random.pick(ends) },
        properties: this.properties(name),
      })
      asked.relationships.push(...random.pick<string[]>([[], [name], [`${name}.since`], [`${name}.property.w${name}`]]))
      if (random.odds(0.3)) base.allowedReads.relationships.push(name)
    }
    const allowedDeletes = {
      nodes: nodes
        .filter(() => random.odds(0.12))
        .flatMap((name) => random.pick([[name], [`${name}.*`], [`${name}.property.num`], [`${name}.*`, name]])),
      relationships: relationships
        .filter(() => random.odds(0.2))
        .flatMap((name) => random.pick([[name], [`${name}.*`], [`${name}.since`]])),
    }
    const joins = ['OWNS', 'ABOUT', 'SEES'].flatMap((type) =>
      Array.from({ length: random.between(3, 12) }, () => ({
        type,
        source_node_label: random.pick([...TYPES, 'Vip']),
        target_node_label: random.pick([...TYPES, 'Fast']),
      })),
    )
    return {
      ...base,
      ...asked,
      nodeWrites,
      relationshipWrites,
      existingNodes,
      existingRelationships,
      nodeTypes: ['Note', 'Car'],
      joinRules: joins,
      allowedDeletes,
      deleteNodes: allowedDeletes.nodes.filter(() => random.odds(0.8)),
      deleteRelationships: allowedDeletes.relationships.filter(() => random.odds(0.8)),
    }
  }

  private newId(): Term {
    return this.random.weighted<Term>([
      [2, { kind: 'literal', value: `fresh${this.random.between(0, 30)}` }],
      [2, { kind: 'parameter', path: ['fresh'] }],
      [1, { kind: 'parameter', path: ['token', 'sub'] }],
      [2, { kind: 'literal', value: `c${this.random.between(0, 4)}` }],
    ])
  }

  /** For one of the writes: if two set the labels of one node, the result would depend on the order of rows. */
  private labels(odds: number): string[] | null {
    const { random } = this
    if (this.labelled || !random.odds(odds)) return null
    this.labelled = true
    return EXTRA_LABELS.filter(() => random.odds(0.6))
  }

  /** Names shared by two writes would make the result depend on the order of rows. */
  private properties(of: string): NaivePropertyWrite[] {
    const { random } = this
    const value = (): Term =>
      random.pick<Term>([
        { kind: 'literal', value: random.pick(['x', 7, true, 2.5]) },
        { kind: 'literal', value: ['x', 'y'] },
        { kind: 'parameter', path: ['number'] },
        { kind: 'parameter', path: ['order', 'by'] },
        { kind: 'parameter', path: ['token', 'sub'] },
      ])
    return random.odds(0.25)
      ? []
      : [
          {
            name: `w${of}`,
            term: value(),
            metadata: random.odds(0.3)
              ? [
                  { name: 'source', term: { kind: 'literal', value: 'desk' } },
                  { name: 'by', term: { kind: 'parameter', path: ['name'] } },
                ]
              : [],
          },
        ]
  }
}
