// The pages of one search while the graph changes between them, served by two processes in turn: no result is returned
// twice, no result that stays granted is missing, and every result is granted at the time of its page.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import type { DecisionDeps } from '../../../src/pdp/decision-deps.ts'
import { evaluate } from '../../../src/pdp/evaluate.ts'
import { searchResources, searchSubjects } from '../../../src/pdp/search.ts'
import { SearchCache } from '../../../src/pdp/search-cache.ts'
import { compileDecisionPolicy } from '../../../src/policy/compile-policy.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { SHORT_CHUNKS } from '../../oracle/compare-conditions.ts'
import { caller, partsOver } from '../../oracle/decision-consistency.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

const seed = testSeed()
console.log(`VERDIGRAPH_SEED=${seed}`)

/** By action: conditions with different search plans. */
const conditions = {
  hop: ['MATCH (subject:Person)-[:OWNS]->(resource:Doc)'],
  chain: ['MATCH (subject:Person)-[:IN]->(:Team)-[:SEES]->(resource:Doc)'],
  scan: ['MATCH (subject:Person), (resource:Doc) WHERE resource.level < subject.level'],
  reach: ['MATCH (subject:Person)-[:IN|SEES*1..3]->(resource:Doc)'],
  relationship: ['MATCH (subject:Person)-[o:OWNS]->(resource:Doc) WHERE o.level < 3'],
  fault: ['MATCH (subject:Person)-[:OWNS]->(resource:Doc) WHERE 6 / resource.level > 1'],
  each: ['MATCH (subject:Person)-[:OWNS]->(resource:Doc) WHERE $resource_external_id <> $subject_external_id'],
  several: ['MATCH (subject:Person)-[:OWNS]->(resource:Doc)', 'MATCH (subject:Person)-[:IN|SEES*1..3]->(resource:Doc)'],
} as const

const DOCS = 40
const PEOPLE = 8

describe('the pages of a search in a changing graph', () => {
  let stored: StoredGraph
  beforeAll(async () => {
    stored = await storeGraph({ nodes: [], relationships: [] }, SHORT_CHUNKS)
  })
  afterAll(() => stored?.close())

  const random = new Random(seed)
  const doc = (number = random.between(0, DOCS - 1)) => ({ type: 'Doc', externalId: `d${number}` })
  const person = (number = random.between(0, PEOPLE - 1)) => ({ type: 'Person', externalId: `p${number}` })
  const team = () => ({ type: 'Team', externalId: `t${random.between(0, 3)}` })
  const level = () => [{ name: 'level', value: random.between(0, 5) }]
  const relationship = () =>
    random.pick([
      { source: person(), type: 'OWNS', target: doc() },
      { source: person(), type: 'OWNS', target: doc() },
      { source: person(), type: 'IN', target: team() },
      { source: team(), type: 'SEES', target: doc() },
    ])
  const change = (times: number) =>
    stored.environment.write((batch) => {
      for (let i = 0; i < times; i++) {
        if (random.odds(0.1)) batch.upsertNode({ ...doc(), properties: level() })
        else if (random.odds(0.5)) batch.upsertRelationship({ ...relationship(), properties: level() })
        else batch.deleteRelationship(relationship())
      }
    })

  const policies = Object.entries(conditions).flatMap(([action, texts]) =>
    texts.map((cypher, at) => {
      const compiled = compileDecisionPolicy(
        JSON.stringify({
          meta: { policy_version: '3.0-kbac' },
          subject: { type: 'Person' },
          actions: [action],
          resource: { type: 'Doc' },
          condition: { cypher },
        }),
      )
      if (!compiled.ok) throw new Error(compiled.error[0])
      const id = `${action} ${at}`
      return { ...compiled.value, id, name: id, tags: [], revision: 1 }
    }),
  )

  it.each(Object.keys(conditions))('%s: contain each result once, and all that stay granted', async (action) => {
    await stored.environment.write((batch) => {
      // Not in the order of their names.
      for (let number = 0; number < DOCS; number++)
        batch.upsertNode({ ...doc((number * 7) % DOCS), properties: level() })
      for (let number = 0; number < PEOPLE; number++) batch.upsertNode({ ...person(number), properties: level() })
      for (const number of [0, 1, 2, 3]) batch.upsertNode({ type: 'Team', externalId: `t${number}` })
    })
    await change(300)
    const graphs = { default: stored.environment, global: null, at: () => null }
    const processes: DecisionDeps[] = [0, 1].map(() => ({
      ...partsOver(graphs, policies),
      searchCache: new SearchCache(),
    }))
    let pages = 0
    // Random graphs may give few pages: then more rounds are run.
    for (let round = 0; round < 12 || (pages <= 10 && round < 200); round++) {
      const end = random.pick(['resource', 'subject'] as const)
      const [subject, resource] = [person().externalId, doc().externalId]
      const granted = (): Set<string> => {
        const all = end === 'resource' ? DOCS : PEOPLE
        const ids = Array.from({ length: all }, (_, number) => (end === 'resource' ? `d${number}` : `p${number}`))
        return new Set(
          ids.filter((id) => {
            const decided = evaluate(processes[0]!, caller, noOrigin, {
              subject: { type: 'Person', id: end === 'subject' ? id : subject },
              action: { name: action },
              resource: { type: 'Doc', id: end === 'resource' ? id : resource },
            })
            return decided.ok && decided.value.decision
          }),
        )
      }
      let always = granted()
      const found: string[] = []
      for (let page: object = { limit: random.between(1, 3) }; ; pages++) {
        const now = granted()
        always = always.intersection(now)
        const parts = random.pick(processes)
        const asked = { action: { name: action }, page }
        const answer =
          end === 'resource'
            ? searchResources(parts, caller, noOrigin, {
                ...asked,
                subject: { type: 'Person', id: subject },
                resource: { type: 'Doc' },
              })
            : searchSubjects(parts, caller, noOrigin, {
                ...asked,
                subject: { type: 'Person' },
                resource: { type: 'Doc', id: resource },
              })
        if (!answer.ok) throw new Error(JSON.stringify(answer.error))
        const ids = answer.value.results.map(({ id }) => id)
        expect(ids.filter((id) => !now.has(id))).toEqual([])
        found.push(...ids)
        const token = answer.value.page?.next_token ?? ''
        if (token === '') break
        page = { token }
        if (random.odds(0.6)) await change(random.between(1, 6))
      }
      expect(new Set(found).size).toBe(found.length)
      expect([...always].filter((id) => !found.includes(id))).toEqual([])
    }
    expect(pages).toBeGreaterThan(10)
  })

  it('omit nothing that one policy granted at first and another grants now', async () => {
    const ann = { type: 'Person', externalId: 'ann' }
    const own = (id: string) => ({ source: ann, type: 'OWNS', target: { type: 'Doc', externalId: id } })
    const reach = (id: string) => ({ source: ann, type: 'SEES', target: { type: 'Doc', externalId: id } })
    const ids = Array.from({ length: 10 }, (_, number) => `e${number}`)
    await stored.environment.write((batch) => {
      batch.upsertNode(ann)
      for (const externalId of ids) batch.upsertNode({ type: 'Doc', externalId })
      for (const id of ids) batch.upsertRelationship(own(id))
      for (const id of ids.slice(0, 9)) batch.upsertRelationship(reach(id))
    })
    const graphs = { default: stored.environment, global: null, at: () => null }
    const parts = { ...partsOver(graphs, policies), searchCache: new SearchCache() }
    const found: string[] = []
    for (let page: object = { limit: 1 }; ; ) {
      const answer = searchResources(parts, caller, noOrigin, {
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'several' },
        resource: { type: 'Doc' },
        page,
      })
      if (!answer.ok) throw new Error(JSON.stringify(answer.error))
      found.push(...answer.value.results.map(({ id }) => id))
      const token = answer.value.page?.next_token ?? ''
      if (token === '') break
      page = { token }
      if (found.length > 1) continue
      await stored.environment.write((batch) => {
        batch.deleteRelationship(own('e9'))
        batch.upsertRelationship(reach('e9'))
      })
    }
    expect(found).toEqual(ids)
  })
})
