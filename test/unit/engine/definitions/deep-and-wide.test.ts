// The depth and the width of the data are limited by the budget alone: no evaluation of a definition uses the stack of the process.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Graph, openStore } from '../../../../src/index.ts'

const LEVELS = 100_000
const MEMBERS = 100_000

const MODEL = `
DEFINE (u:User)-[:reads]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (d)-[:FIRST]->(x) WHERE (u)-[:reads]->(x) }
DEFINE (u:User)-[:approved]->(d:Doc) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:FIRST]->(x), (d)-[:SECOND]->(y) WHERE (u)-[:approved]->(x) AND (u)-[:approved]->(y)
}
DEFINE (a:Doc)-[:odd]->(b:Doc) AS { MATCH (a)-[:FIRST]->(b) UNION MATCH (a)-[:even]->(x)-[:FIRST]->(b) }
DEFINE (a:Doc)-[:even]->(b:Doc) AS { MATCH (a)-[:odd]->(x)-[:FIRST]->(b) }
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) UNION MATCH (u)-[:in]->(x)-[:PART]->(g) }
DEFINE (g:Group)-[:includes]->(x:User|Group) AS {
  MATCH (x)-[:MEMBER]->(g) UNION MATCH (x)-[:PART]->(g) UNION MATCH (g)-[:includes]->(y:Group)-[:includes]->(x)
}
DEFINE (u:User)-[:outside]->(g:Group) AS { MATCH (u) WHERE NOT (g)-[:includes]->(u) }
`

describe('definitions over large graphs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-large-'))
  const store = openStore(folder)
  const graph = new Graph(store, undefined, { model: MODEL })
  const [ann, all, top] = [
    { type: 'User', externalId: 'ann' },
    { type: 'Group', externalId: 'all' },
    { type: 'Group', externalId: 'top' },
  ] as const
  const doc = (at: number) => ({ type: 'Doc', externalId: `d${at}` })
  const user = (at: number) => ({ type: 'User', externalId: `u${at}` })

  beforeAll(async () => {
    await graph.write((batch) => {
      for (const node of [ann, all, top]) batch.upsertNode(node)
      for (let at = 0; at <= LEVELS; at++) batch.upsertNode(doc(at))
      for (let at = 1; at <= LEVELS; at++) {
        for (const type of ['FIRST', 'SECOND']) {
          batch.upsertRelationship({ source: doc(at - 1), type, target: doc(at) })
        }
      }
      batch.upsertRelationship({ source: ann, type: 'OWNER', target: doc(LEVELS) })
      for (let at = 0; at < MEMBERS; at++) {
        batch.upsertNode(user(at))
        batch.upsertRelationship({ source: user(at), type: 'MEMBER', target: all })
      }
      batch.upsertRelationship({ source: all, type: 'PART', target: top })
    })
  }, 60_000)

  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const holds = (type: string, source: readonly [string, string], target: readonly [string, string]): boolean =>
    graph
      .prepare(`MATCH (subject:${source[0]})-[:${type}]->(resource:${target[0]})`)
      .exists({ subject: source, resource: target })

  test.each(['reads', 'approved'])('a check of %s along a chain of 100,000 levels', (type) => {
    expect(holds(type, ['User', 'ann'], ['Doc', 'd0'])).toBe(true)
    expect(holds(type, ['User', 'u0'], ['Doc', 'd0'])).toBe(false)
  })

  test.each(['reads', 'approved'])('searches of %s along a chain of 100,000 levels', (type) => {
    const condition = graph.prepare(`MATCH (subject:User)-[:${type}]->(resource:Doc)`)
    expect(condition.find('subject', { resource: ['Doc', 'd0'] })).toEqual([['User', 'ann']])
    expect(condition.find('resource', { subject: ['User', 'ann'] })).toHaveLength(LEVELS + 1)
  })

  test('definitions that use each other, along a chain of 100,000 levels', () => {
    expect(holds('even', ['Doc', 'd0'], ['Doc', `d${LEVELS}`])).toBe(true)
    expect(holds('odd', ['Doc', 'd0'], ['Doc', `d${LEVELS}`])).toBe(false)
  })

  test.each([
    ['in', 'subject'],
    ['includes', 'resource'],
  ] as const)('100,000 members of a group by %s', (type, found) => {
    const given = found === 'subject' ? 'resource' : 'subject'
    const condition = graph.prepare(
      type === 'in'
        ? 'MATCH (subject:User)-[:in]->(resource:Group)'
        : 'MATCH (subject:Group)-[:includes]->(resource:User)',
    )
    expect(condition.find(found, { [given]: ['Group', 'top'] })).toHaveLength(MEMBERS)
    expect(condition.exists({ [given]: ['Group', 'top'], [found]: ['User', `u${MEMBERS - 1}`] })).toBe(true)
    expect(condition.exists({ [given]: ['Group', 'top'], [found]: ['User', 'ann'] })).toBe(false)
  })

  test('who is outside of a group of 100,000', () => {
    const condition = graph.prepare('MATCH (subject:User)-[:outside]->(resource:Group)')
    expect(condition.find('subject', { resource: ['Group', 'top'] })).toEqual([['User', 'ann']])
  })

  test.each([{ rowsHeldMax: 10_000 }, { bytesHeldMax: 4_000_000 }])(
    'a chain of 100,000 levels reaches the limit of %o',
    (limit) => {
      const limited = new Graph(store, { stepsMax: 100_000_000, timeMs: 60_000, ...limit }, { model: MODEL })
      const condition = limited.prepare('MATCH (subject:User)-[:approved]->(resource:Doc)')
      const given = { subject: ['User', 'u0'], resource: ['Doc', 'd0'] } as const
      expect(() => condition.exists(given)).toThrow('in memory is reached')
    },
  )
})
