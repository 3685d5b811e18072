// Every form of a path that policies and queries accept has a value where the element has that part, as a requested path and
// in a filter. Every other form is refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { type CompiledQuery, compileStoredQuery } from '../../../src/context-query/compile-query.ts'
import { RecordContext } from '../../../src/context-query/record-context.ts'
import { ResponseBudget } from '../../../src/context-query/response-budget.ts'
import { unlimitedBudget } from '../../../src/engine/budget.ts'
import { Budget } from '../../../src/engine/conditions.ts'
import { noModel } from '../../../src/model/stored-model.ts'
import { compileContextDocument } from '../../../src/policy/compile-context.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let environment: LmdbEnvironment
const clock = new ManualClock(1_750_000_000_000)
beforeAll(async () => {
  environment = openEnvironment(temporaryFolder(), { clock, sync: false })
  await environment.write((batch) => {
    const ann = { type: 'Person', externalId: 'ann' }
    const car = { type: 'Car', externalId: 'c1' }
    const score = { type: '_TrustScore', externalId: 's1' }
    const metadata = {
      source: 'desk',
      assuranceLevel: 2,
      verifiedTime: '2026-01-01T00:00:00Z',
      custom: { by: 'bob' },
    } as const
    batch.upsertNode({ ...ann, isIdentity: true })
    batch.upsertNode({ ...car, labels: ['Vehicle'], properties: [{ name: 'price', value: 7, metadata }] })
    batch.upsertNode({ ...score, properties: [{ name: '_final_score', value: 3 }] })
    const since = [{ name: 'since', value: 2020 }]
    batch.upsertRelationship({ source: ann, type: 'OWNS', target: car, properties: since })
    batch.upsertRelationship({ source: car, type: '_HAS', target: score })
  })
})
afterAll(() => environment.close())

const CYPHER =
  'MATCH p = (subject:Person)-[r:OWNS]->(car:Car) MATCH (subject)-[s:OWNS*1..1]->(car) ' +
  'WITH subject, r, car, s, p, collect(car) AS cars, collect(r) AS owned'

function policyOf(reads: object, filter: object[] = []): object {
  return {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: 'Person' },
    condition: { cypher: CYPHER, filter },
    allowed_reads: reads,
  }
}

function compiled(policy: object, query: object): CompiledQuery | string {
  const stored = (fields: object) => ({ id: 'gid:x', name: 'x', fields }) as unknown as StoredDocument
  const result = compileStoredQuery(
    stored({ query: JSON.stringify(query) }),
    stored({ policy: JSON.stringify(policy), status: 'ACTIVE' }),
    noModel,
  )
  return result.ok ? result.value : result.error.issue
}

/** The records of a query that must be accepted. */
function records(policy: object, query: object): unknown[] {
  const result = compiled(policy, query)
  if (typeof result === 'string') throw new Error(result)
  const limits = { stepsMax: 1_000_000, timeMs: 10_000 }
  const budget = new Budget()
  budget.start(limits)
  const snapshot = environment.snapshot()
  try {
    const cursor = result.conditionRows.open({ snapshot, parameters: new Map(), limits, budget })
    const context = new RecordContext(snapshot, new ResponseBudget(1_000_000, unlimitedBudget()))
    const found: unknown[] = []
    while (cursor.next()) found.push(result.records.read(cursor, context))
    return found
  } finally {
    snapshot.close()
  }
}

const created = '2025-06-15T15:06:40.000Z'
const gid = expect.stringMatching(/^gid:/)
const entry = (type: string, value: unknown) => ({ type, value })
const price = 'property.price'
const score = '_final_score'

/** Parts of paths, and what they return. `single`: can be compared in a filter. */
const nodeForms: readonly (readonly [part: string, value: unknown, single: boolean])[] = [
  ['', expect.objectContaining({ ElementId: gid, Labels: expect.arrayContaining(['Car', 'Vehicle']) }), true],
  [
    '.*',
    [
      entry('create_time', created),
      entry('external_id', 'c1'),
      entry('id', gid),
      entry('is_identity', false),
      entry('type', 'Car'),
      entry('update_time', created),
      entry('price', 7),
    ],
    false,
  ],
  ['.external_id', 'c1', true],
  ['.type', 'Car', true],
  ['.create_time', created, true],
  ['.update_time', created, true],
  ['.is_identity', false, true],
  ['.id', gid, true],
  [`.${price}`, 7, true],
  ['.property.*', [entry('price', 7)], false],
  [`.${price}.metadata.source`, 'desk', true],
  [`.${price}.metadata.assurance_level`, 2, true],
  [`.${price}.metadata.verified_time`, '2026-01-01T00:00:00Z', true],
  [`.${price}.metadata.by`, 'bob', true],
  [`.${price}.metadata.custom_metadata`, { by: 'bob' }, true],
  [`.trust_score.${score}`, 3, true],
  ['.trust_score.*', [entry(score, 3)], false],
]
const relationshipForms: typeof nodeForms = [
  [
    '',
    {
      Id: expect.any(Number),
      ElementId: gid,
      StartId: expect.any(Number),
      StartElementId: gid,
      EndId: expect.any(Number),
      EndElementId: gid,
      Type: 'OWNS',
      Props: { create_time: created, id: gid, update_time: created, since: 2020 },
    },
    true,
  ],
  [
    '.*',
    [
      entry('create_time', created),
      entry('id', gid),
      entry('type', 'OWNS'),
      entry('update_time', created),
      entry('since', 2020),
    ],
    false,
  ],
  ['.id', gid, true],
  ['.type', 'OWNS', true],
  ['.create_time', created, true],
  ['.update_time', created, true],
  ['.since', 2020, true],
  ['.property.since', 2020, true],
  ['.property.*', [entry('since', 2020)], false],
]
/** Whether the element is bound to a list, as by a variable-length relationship. */
const variables: readonly (readonly [
  name: string,
  member: 'nodes' | 'relationships',
  forms: typeof nodeForms,
  isList: boolean,
  canFilter: boolean,
])[] = [
  ['car', 'nodes', nodeForms, false, true],
  ['cars', 'nodes', nodeForms, true, false],
  ['r', 'relationships', relationshipForms, false, true],
  ['s', 'relationships', relationshipForms, true, false],
  ['owned', 'relationships', relationshipForms, true, false],
  // A variable may be listed in the other member with the forms that both kinds have.
  ['r', 'nodes', relationshipForms.filter(([part]) => part !== '.since'), false, false],
  ['s', 'nodes', relationshipForms.filter(([part]) => part !== '.since'), true, false],
]

describe.each(variables)('a path of `%s` in `%s`', (name, member, forms, isList, canFilter) => {
  test.each(forms)('`%s` has a value', (part, value, single) => {
    const path = `${name}${part}`
    const reads = { [member]: [path] }
    expect(records(policyOf(reads), reads)).toEqual([{ [member]: { [path]: isList ? [value] : value } }])
    if (!canFilter || !single) return
    const filter = { operator: 'IS NOT NULL', attribute: path }
    expect(records(policyOf(reads, [filter]), { ...reads, filter })).toHaveLength(1)
    expect(records(policyOf(reads, [{ operator: 'NOT', operands: [filter] }]), reads)).toEqual([])
    const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    if (!isScalar) return
    expect(records(policyOf(reads, [{ operator: '=', attribute: path, value }]), reads)).toHaveLength(1)
    expect(records(policyOf(reads, [{ operator: '<>', attribute: path, value }]), reads)).toEqual([])
  })

  test('with `var.*` allowed, every other form of own fields and properties may be requested', () => {
    const paths = forms.map(([part]) => `${name}${part}`).filter((path) => !/metadata|trust_score/.test(path))
    expect(records(policyOf({ [member]: [`${name}.*`] }), { [member]: paths })).toHaveLength(1)
  })
})

test('the id of an element compares with its own', () => {
  for (const [member, path] of [
    ['nodes', 'car.id'],
    ['relationships', 'r.id'],
  ] as const) {
    const reads = { [member]: [path] }
    const [record] = records(policyOf(reads), reads) as Record<string, Record<string, string>>[]
    const value = record?.[member]?.[path] as string
    expect(records(policyOf(reads, [{ operator: '=', attribute: path, value }]), reads)).toHaveLength(1)
    expect(records(policyOf(reads, [{ operator: '=', attribute: path, value: `${value}x` }]), reads)).toEqual([])
  }
  const at = { operator: '>=', attribute: 'r.create_time', value: { type: 'datetime', value: created } }
  const reads = { relationships: ['r.create_time'] }
  expect(records(policyOf(reads, [at]), reads)).toHaveLength(1)
  expect(records(policyOf(reads, [{ ...at, operator: '<' }]), reads)).toEqual([])
})

describe('a path that can never have a value is refused in the policy and in the query', () => {
  const path = 'is a path, which can only be returned as an aggregate value'
  test.each<['nodes' | 'relationships', string, string]>([
    ['nodes', 'car.price', 'expected a path such as'],
    ['nodes', 'car.location', 'expected a path such as'],
    ['nodes', 'car.property', 'expected a path such as'],
    ['nodes', 'car.property.price.source', 'expected a path such as'],
    ['nodes', 'car.property.*.metadata.source', 'expected a path such as'],
    ['nodes', 'car.property.external_id', 'the own field is `car.external_id`'],
    ['nodes', 'car.property._service', 'because the name is protected'],
    ['nodes', 'car.property.id.metadata.source', 'because the name is protected'],
    ['nodes', 'r.external_id', '`r` is a relationship and has no `external_id`'],
    ['nodes', 's.is_identity', '`s` is a relationship and has no `is_identity`'],
    ['nodes', 'r.property.since.metadata.source', '`r` is a relationship and has no readable metadata'],
    ['nodes', 'r.trust_score.*', '`r` is a relationship and has no trust score'],
    ['nodes', 'p', `\`p\` ${path}`],
    ['relationships', 'p.*', `\`p\` ${path}`],
    ['relationships', 'r.external_id', 'because the name is protected'],
    ['relationships', 'r._service', 'because the name is protected'],
    ['relationships', 'r.property.id', 'the own field is `r.id`'],
    ['nodes', 'car.property.``', 'expected a path such as'],
    ['nodes', 'car.property.`a', 'expected a path such as'],
    ['nodes', 'car.property.a b', 'with any other name in backticks'],
    ['nodes', '`car`.property.a', 'expected a path such as'],
    ['nodes', 'car.property.a.', 'expected a path such as'],
    ['relationships', 'r.property.since.metadata.source', 'expected a path such as'],
    ['relationships', 'r.trust_score.x', 'expected a path such as'],
    ['relationships', 'r.*.x', 'expected a path such as'],
  ])('%s: `%s`', (member, text, issue) => {
    const issuesOf = (policy: object): readonly string[] => {
      const refused = compileContextDocument(policy)
      return refused.ok ? [] : refused.error
    }
    const issues = issuesOf(policyOf({ [member]: [text] }))
    expect(issues).toEqual([expect.stringContaining(issue)])
    expect(issues[0]).toContain(`policy.allowed_reads.${member}[0]: `)
    const everything = { nodes: ['car.*', 'r.*', 's.*'], relationships: ['r.*', 's.*'] }
    expect(compiled(policyOf(everything), { [member]: [text] })).toContain(`query.${member}[0]`)
    // A filter may test a path variable for null.
    if (text === 'p') return
    const filter = { operator: 'IS NULL', attribute: text }
    expect(issuesOf(policyOf({}, [filter]))).toEqual([expect.stringContaining('policy.condition.filter[0]')])
    expect(compiled(policyOf(everything), { filter })).toContain('query.filter')
  })
})
