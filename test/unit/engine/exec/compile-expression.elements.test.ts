import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenSnapshot } from '../../../../src/engine/store.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { evaluate, type Surroundings } from '../../../support/evaluate-expression.ts'

// (ann:Person:Vip)-[:KNOWS {since: 2020}]->(bob:Person), over the real store.
let folder: string
let environment: LmdbEnvironment
let snapshot: OpenSnapshot
let around: Surroundings

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'verdigraph-expression-'))
  environment = openEnvironment(folder, { clock: systemClock, sync: false })
  await environment.write((batch) => {
    batch.upsertNode({
      type: 'Person',
      externalId: 'ann',
      labels: ['Vip'],
      isIdentity: true,
      properties: [
        { name: 'age', value: 30 },
        { name: 'score', value: new Float(1) },
        { name: 'tags', value: ['a', 'b'] },
        { name: 'external_id', value: 'captured' },
        { name: 'property', value: 'odd' },
      ],
    })
    batch.upsertNode({ type: 'Person', externalId: 'bob' })
    batch.upsertRelationship({
      source: { type: 'Person', externalId: 'ann' },
      type: 'KNOWS',
      target: { type: 'Person', externalId: 'bob' },
      properties: [
        { name: 'since', value: 2020 },
        { name: 'type', value: 'close' },
      ],
    })
  })
  snapshot = environment.snapshot()
  const person = snapshot.symbol('label', 'Person')
  const ann = snapshot.findNode(person, 'ann')
  const bob = snapshot.findNode(person, 'bob')
  const path = new PathValue([new NodeValue(0, ann), new NodeValue(0, bob)], [new RelationshipValue(0, 1)])
  around = {
    snapshot,
    variables: {
      ann: { kind: 'node', holds: ann },
      same: { kind: 'node', holds: ann },
      bob: { kind: 'node', holds: bob },
      nobody: { kind: 'node', holds: 0 },
      knows: { kind: 'relationship', holds: 1 },
      none: { kind: 'relationship', holds: 0 },
      hops: { kind: 'relationships', holds: [1] },
      noHops: { kind: 'relationships', holds: null },
      p: { kind: 'path', holds: path },
      value: { kind: 'value', holds: new NodeValue(0, ann) },
    },
  }
})

afterAll(async () => {
  snapshot.close()
  await environment.close()
  await rm(folder, { recursive: true, force: true })
})

describe('expressions over a graph', () => {
  const table: [string, Value][] = [
    // properties
    ['ann.age', 30],
    ['ann.score', new Float(1)],
    ['ann.tags', ['a', 'b']],
    ['ann.property.age', 30],
    ['ann.missing', null],
    ['ann.external_id', 'ann'],
    ['ann.property.external_id', 'captured'],
    ['ann.type', 'Person'],
    ['ann.is_identity', true],
    ['ann.property.property', 'odd'],
    ['nobody.age', null],
    ['nobody.external_id', null],
    ['nobody.property', null],
    ['knows.since', 2020],
    ['knows.property.since', 2020],
    ['knows.type', 'close'],
    ['none.since', null],
    // the same through values that are only known at run time
    ['value.age', 30],
    ['value.external_id', 'ann'],
    ['value.property.external_id', 'captured'],
    ['value.missing', null],
    ["ann['age']", 30],
    ["knows['since']", 2020],
    ['[ann, 1][0].age', 30],
    ['startNode(knows).age', 30],
    ['endNode(knows).external_id', 'bob'],
    ['[x IN [ann, bob] | x.external_id]', ['ann', 'bob']],
    // labels and types
    ['ann:Person', true],
    ['ann:Person:Vip', true],
    ['ann:Vip|Robot', true],
    ['ann:!Vip', false],
    ['ann:%', true],
    ['bob:Vip', false],
    ['bob:NeverSeen', false],
    ['nobody:Person', null],
    ['value:Vip', true],
    ['knows:KNOWS', true],
    ['knows:LIKES|KNOWS', true],
    ['knows:LIKES', false],
    ['none:KNOWS', null],
    ['[x IN [ann, bob] WHERE x:Vip | x.age]', [30]],
    // identity
    ['ann = same', true],
    ['ann <> bob', true],
    ['ann = bob', false],
    ['ann = nobody', null],
    ['nobody <> nobody', null],
    ['ann = value', true],
    ['ann = knows', false],
    ['ann < bob', null],
    ['ann IN [bob, value]', true],
    ['nobody IS NULL', true],
    ['ann IS NOT NULL', true],
    ['none IS NULL', true],
    ['ann.missing IS NULL', true],
    ['exists(ann.age)', true],
    ['exists(ann.missing)', false],
    // functions
    ['labels(ann)', ['Person', 'Vip']],
    ['labels(nobody)', null],
    ['type(knows)', 'KNOWS'],
    ['type(none)', null],
    ['id(ann) = id(same)', true],
    ['elementId(ann) <> elementId(bob)', true],
    ['size(keys(knows))', 2],
    ['properties(knows).since', 2020],
    ['properties(ann).external_id', 'captured'],
    ['properties(bob)', new Map()],
    ['startNode(knows) = ann AND endNode(knows) = bob', true],
    ['length(p)', 1],
    ['nodes(p) = [ann, bob]', true],
    ['relationships(p) = hops', true],
    ['size(hops)', 1],
    ['hops[0].since', 2020],
    ['noHops', null],
    ['all(h IN hops WHERE h.since > 2000)', true],
    // map projection
    [
      'ann {.age, .missing, five: 5}',
      new Map<string, Value>([
        ['age', 30],
        ['missing', null],
        ['five', 5],
      ]),
    ],
    [
      'knows {.*}',
      new Map<string, Value>([
        ['since', 2020],
        ['type', 'close'],
      ]),
    ],
    [
      'knows {.*, since: 1}',
      new Map<string, Value>([
        ['since', 1],
        ['type', 'close'],
      ]),
    ],
    ['nobody {.age}', null],
    ['none {.*}', null],
    // conditions as in filters
    ["ann.age >= 30 AND ann.external_id = 'ann' AND ann:Vip AND NOT bob:Vip", true],
    ['ann.age = 30.0', true],
    ["ann.age = '30'", false],
    ['bob.age > 1 OR ann.age > 1', true],
    ['bob.age > 1 AND ann.age > 1', null],
    ['NOT bob.age > 1', null],
  ]
  for (const [text, expected] of table) it(text, () => expect(evaluate(text, around)).toStrictEqual(expected))

  it('elements in slots become handles', () => {
    expect(evaluate('ann', around)).toBeInstanceOf(NodeValue)
    expect(evaluate('knows', around)).toStrictEqual(new RelationshipValue(0, 1))
    expect(evaluate('hops', around)).toStrictEqual([new RelationshipValue(0, 1)])
    expect(evaluate('[nobody, none]', around)).toStrictEqual([null, null])
  })

  it('patterns use the plan that the compiler creates for them', () => {
    for (const exists of [true, false]) {
      expect(evaluate('EXISTS { (ann)-->() }', { ...around, exists })).toBe(exists)
      expect(evaluate('NOT (ann)-->() OR nobody.age > 1', { ...around, exists, place: 'condition' })).toBe(
        exists ? null : true,
      )
    }
  })
})
