// If the check denies many results of a search, pages are filled nevertheless, and no granted result is lost.
import { expect, it } from 'vitest'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { searchResources } from '../../../src/pdp/search.ts'
import { SearchCache } from '../../../src/pdp/search-cache.ts'
import { compileDecisionPolicy } from '../../../src/policy/compile-policy.ts'
import { caller, partsOver } from '../../oracle/decision-consistency.ts'
import { storeGraph } from '../../support/store-engine.ts'

const DOCS = 450
const number = (id: string): number => Number(id.slice(1))

it.each([1, 5, 120])('pages of %i together contain what the check grants', async (limit) => {
  const stored = await storeGraph({ nodes: [], relationships: [] })
  try {
    await stored.environment.write((batch) => {
      batch.upsertNode({ type: 'Person', externalId: 'ann' })
      for (let at = 0; at < DOCS; at++) batch.upsertNode({ type: 'Doc', externalId: `d${at}` })
    })
    const compiled = compileDecisionPolicy(
      JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: 'Person' },
        actions: ['see'],
        resource: { type: 'Doc' },
        condition: { cypher: 'MATCH (subject:Person), (resource:Doc)' },
      }),
    )
    if (!compiled.ok) throw new Error(compiled.error[0])
    // As if the check failed where the search does not: for each of the first 200.
    const { condition } = compiled.value
    const strict = Object.assign(Object.create(condition) as typeof condition, {
      mayFail: () => true,
      check: (...[asking, subject, resource]: Parameters<typeof condition.check>) =>
        number(resource) >= 200 && condition.check(asking, subject, resource),
    })
    const policy = { ...compiled.value, condition: strict, id: 'p', name: 'p', revision: 1, tags: [] }
    const graphs = { default: stored.environment, global: null, at: () => null }
    const parts = { ...partsOver(graphs, [policy]), searchCache: new SearchCache() }
    const found: number[] = []
    for (let page: object = { limit }; ; ) {
      const answer = searchResources(parts, caller, noOrigin, {
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'see' },
        resource: { type: 'Doc' },
        page,
      })
      if (!answer.ok) throw new Error(JSON.stringify(answer.error))
      found.push(...answer.value.results.map(({ id }) => number(id)))
      const token = answer.value.page?.next_token ?? ''
      if (token === '') break
      page = { token }
    }
    expect(found).toEqual(Array.from({ length: DOCS - 200 }, (_, at) => at + 200))
  } finally {
    await stored.close()
  }
})
