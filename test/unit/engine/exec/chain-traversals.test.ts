// Traversals through super nodes: lists of several chunks on both sides, where a traversal switches to lookups. The
// random graphs of other tests are too small for that.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { unlimitedBudget } from '../../../../src/engine/budget.ts'
import { compileCondition, type PolicyCondition, type QueryContext } from '../../../../src/engine/conditions.ts'
import { NodeSet, OrderedNodeSet } from '../../../../src/engine/exec/node-set.ts'
import type { EngineOptions } from '../../../../src/engine/planned-query.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { Random, testSeed } from '../../../generate/random.ts'

const PEOPLE = 500
const TEAMS = 40
const FOLDERS = 300
/** The first teams and folders are super nodes. */
const HUBS = 2

const below = (random: Random, count: number): number => random.between(0, count - 1)

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-chain-'))
let environment: LmdbEnvironment

beforeAll(async () => {
  const random = new Random(seed)
  environment = openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 64 })
  await environment.write((batch) => {
    const nodes = (type: string, count: number): number[] =>
      Array.from({ length: count }, (_, at) => {
        const properties = [{ name: 'level', value: at % 7 }]
        return batch.upsertNode({ type, externalId: `${type}-${at}`, isIdentity: type === 'Person', properties }).id
      })
    const people = nodes('Person', PEOPLE)
    const teams = nodes('Team', TEAMS)
    const folders = nodes('Folder', FOLDERS)
    const some = (ids: readonly number[]): number => ids[below(random, ids.length)]!
    const relate = (source: number, type: string, target: number) => batch.createRelationship(source, type, target, [])
    for (const person of people) {
      if (below(random, 4) > 0) relate(person, 'MEMBER', teams[below(random, HUBS)]!)
      relate(person, 'MEMBER', some(teams))
      if (below(random, 3) === 0) relate(person, 'SHARES', some(folders))
      relate(person, 'KNOWS', some(people))
    }
    for (const [at, team] of teams.entries()) {
      for (let count = at < HUBS ? FOLDERS : below(random, 4); count > 0; count--) relate(team, 'VIEWS', some(folders))
      if (at > 0) relate(team, 'PARENT', teams[below(random, at)]!)
    }
    for (const [at, held] of folders.entries()) {
      for (let count = at < HUBS ? PEOPLE : 1; count > 0; count--) relate(held, 'ABOUT', some(people))
    }
  })
})

afterAll(async () => {
  await environment.close()
  rmSync(folder, { recursive: true, force: true })
})

function compiled(text: string, resourceType: string, rules: EngineOptions['rules']): PolicyCondition {
  const condition = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType }, { rules })
  if (!condition.ok) throw new Error(condition.error[0]!.message)
  return condition.value
}

function within<T>(ask: (asking: QueryContext) => T): T {
  const snapshot = environment.snapshot()
  try {
    return ask({ snapshot, parameters: new Map([['level', 3]]), limits: { stepsMax: 100_000_000, timeMs: 60_000 } })
  } finally {
    snapshot.close()
  }
}

describe('the results are those of a step-by-step traversal', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['Folder', 'MATCH (subject)-[:MEMBER]->(t)-[:VIEWS]->(resource)'],
    ['Folder', 'MATCH (subject)-[:MEMBER]->(t:Team)-[:VIEWS]->(resource) WHERE t.level = $level'],
    [
      'Folder',
      'MATCH (subject)-[:MEMBER]->(t:Team)-[:PARENT*0..3]->(u:Team)-[:VIEWS]->(resource) WHERE t.level > $level AND u.level < $level',
    ],
    ['Folder', 'MATCH (subject)-[:KNOWS*1..3]->(p:Person)-[:MEMBER]->(t)-[:VIEWS]->(resource) WHERE p.level <> $level'],
    ['Folder', 'MATCH (subject)<-[:ABOUT]-(f)<-[:VIEWS]-(t)-[:PARENT]->(u)<-[:MEMBER]-(p)-[:SHARES]->(resource)'],
    ['Folder', 'MATCH (subject)-[:MEMBER|SHARES]->(x)-[:VIEWS|ABOUT]-(resource)'],
    ['Folder', 'MATCH (subject)-[:KNOWS*1..3]->(p)-[:SHARES]->(resource) WHERE p.level < $level'],
    ['Person', 'MATCH (subject)-[:SHARES]->(f)-[:ABOUT]->(resource)'],
    ['Person', 'MATCH (subject)-[:KNOWS]->(p)<-[:ABOUT]-(f:Folder)<-[:SHARES]-(resource) WHERE f.level > $level'],
    ['Person', 'MATCH (subject)-[:MEMBER]->(t)-[:PARENT*1..2]->(u)-[:VIEWS]->(f)-[:ABOUT]->(resource)'],
    ['Team', 'MATCH (subject)-[:SHARES]->(f:Folder)<-[:VIEWS]-(resource)'],
  ]
  let grantedInAll = 0
  for (const [resourceType, text] of cases) {
    test(text, () => {
      const on = compiled(text, resourceType, 'on')
      const off = compiled(text, resourceType, 'off')
      expect(on.explain('check')).toContain('BidirectionalExpandInto')
      const random = new Random(seed)
      let granted = 0
      within((asking) => {
        for (let at = 0; at < 25; at++) {
          const subject = `Person-${below(random, PEOPLE)}`
          const found = off.resources(asking, subject)
          expect(on.resources(asking, subject), `resources of ${subject}`).toEqual(found)
          // The ends of super nodes: a right one, and some that may be wrong.
          const others = [0, 1, below(random, 40), below(random, 40)].map((other) => `${resourceType}-${other}`)
          for (const resource of [...others, ...found.slice(0, 2)]) {
            const right = found.includes(resource)
            granted += right ? 1 : 0
            expect(on.check(asking, subject, resource), `${subject} ${resource}`).toBe(right)
          }
        }
        const resource = `${resourceType}-${below(random, 40)}`
        expect(on.subjects(asking, resource), `subjects of ${resource}`).toEqual(off.subjects(asking, resource))
      })
      grantedInAll += granted
    })
  }
  // A random graph may have no result for one of them, but not for all.
  test('grant some access', () => expect(grantedInAll).toBeGreaterThan(100))
})

describe('a set of ids', () => {
  test('has the content of a plain set, however often it is filled and cleared', () => {
    const random = new Random(seed)
    const budget = unlimitedBudget()
    const set = new NodeSet()
    const list = new OrderedNodeSet()
    for (let round = 0; round < 24; round++) {
      const plain = new Set<number>()
      set.clear()
      list.clear()
      // Consecutive ids, ids that share low bits, and random ones.
      const step = [1, 64, 4096, 65_537][round % 4]!
      const size = [3, 40, 700, 3_000][below(random, 4)]!
      for (let at = 0; at < size; at++) {
        const id = 1 + ((below(random, size) * step) % 0xfffffff0)
        const isNew = !plain.has(id)
        plain.add(id)
        expect(set.add(id, budget)).toBe(isNew)
        expect(list.add(id, budget)).toBe(isNew)
      }
      expect(set.size).toBe(plain.size)
      expect([...list.ids.subarray(0, list.length)]).toEqual([...plain])
      for (let at = 0; at < 200; at++) {
        const id = 1 + below(random, size * step)
        expect(set.has(id)).toBe(plain.has(id))
        expect(list.has(id)).toBe(plain.has(id))
      }
    }
  })
})
