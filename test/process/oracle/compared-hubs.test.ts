// A comparison of policies for a node with more partners than are listed at once: each pair is found once, and memory stays bounded
// by the partners of one node.
import { expect, test } from 'vitest'
import { noOrigin } from '../../../src/kernel/request/request-origin.ts'
import { type ComparedPolicy, comparePolicies } from '../../../src/pdp/compare-policies.ts'
import { evaluate } from '../../../src/pdp/evaluate.ts'
import { compileDecisionPolicy } from '../../../src/policy/compile-policy.ts'
import { IN_MEMORY, openStore } from '../../../src/store/graph/open-store.ts'
import { caller, partsOver } from '../../oracle/decision-consistency.ts'

const CARS = 150_000
const BATCH = 10_000

function policy(name: string, cypher: string): ComparedPolicy {
  const compiled = compileDecisionPolicy(
    JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher },
    }),
  )
  if (!compiled.ok) throw new Error(compiled.error.join())
  return { ...compiled.value, id: name, name, revision: 1, tags: [], isStored: true }
}

test('each pair of a hub is found once', async () => {
  const store = openStore(IN_MEMORY)
  const ann = { type: 'Person', externalId: 'ann' }
  for (let from = 0; from < CARS; from += BATCH) {
    await store.write((batch) => {
      batch.upsertNode(ann)
      // The side with fewer nodes is followed, which is that of ann.
      for (let at = from; at < from + BATCH; at++) {
        const car = { type: 'Car', externalId: `c${at}` }
        batch.upsertNode(car)
        batch.upsertRelationship({ source: ann, type: at % 3 === 0 ? 'RENTS' : 'OWNS', target: car })
      }
    })
  }
  const graphs = { default: store, global: null, at: () => null }
  const old = [policy('own', 'MATCH (subject)-[:OWNS]->(resource)')]
  const either = [policy('either', 'MATCH (subject)-[:OWNS|RENTS]->(resource)')]
  const parts = partsOver(graphs, old)
  const scope = { subject: {}, action: {}, resource: {}, inputParams: undefined, policyTags: undefined, token: null }
  const limits = { timeMs: 60_000, stepsMax: Number.POSITIVE_INFINITY, rowsHeldMax: 200_000, sampleMax: 5 }
  const compared = comparePolicies(parts, graphs, caller, scope, { old, new: either }, limits)
  if (!compared.ok) throw new Error(JSON.stringify(compared.error))
  const { gains, losses, leftOut } = compared.value
  expect(leftOut).toEqual([])
  expect(losses).toEqual([])
  expect(gains).toMatchObject([{ pairs: CARS / 3, at_least: false }])
  for (const { subject, resource } of gains[0]?.sample ?? []) {
    const request = { subject, resource, action: { name: 'drive' } }
    expect(evaluate(parts, caller, noOrigin, request)).toMatchObject({ value: { decision: false } })
  }
  // A plan that holds the partners of a node needs more memory than there is.
  const held = [policy('held', 'MATCH (subject)-[:RENTS]->(resource) WITH DISTINCT subject, resource LIMIT 60000')]
  const small = comparePolicies(parts, graphs, caller, scope, { old, new: held }, { ...limits, rowsHeldMax: 100 })
  if (!small.ok) throw new Error(JSON.stringify(small.error))
  const [left] = small.value.leftOut
  expect(left).toMatchObject({ policy: { name: 'held' }, reason: 'budget', pairs: 0 })
  expect(left?.message).toContain('100 rows')
  await store.close()
})
