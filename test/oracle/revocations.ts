// Deletes and re-creates relationships; the next decision, search and batch must see each change.

import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import { evaluateBatch } from '../../src/pdp/evaluate-batch.ts'
import { searchResources } from '../../src/pdp/search.ts'
import { compileDecisionPolicy } from '../../src/policy/compile-policy.ts'
import { Random } from '../generate/random.ts'
import { storeGraph } from '../support/store-engine.ts'
import { caller, partsOver } from './decision-consistency.ts'

export interface Revokes {
  readonly revokes: number
  /** Permits after a revocation, denials after a grant. */
  readonly stalePermits: number
  readonly staleDenials: number
}

const PEOPLE = 200

export async function revokeAndAsk(revokes: number, seed: number): Promise<Revokes> {
  const random = new Random(seed)
  const stored = await storeGraph({ nodes: [], relationships: [] })
  const store = stored.environment
  const person = (i: number) => ({ type: 'Person', externalId: `p${i}` })
  const car = (i: number) => ({ type: 'Car', externalId: `c${i}` })
  const owns = (i: number) => ({ source: person(i), type: 'OWNS', target: car(i) })
  try {
    await store.write((batch) => {
      for (let i = 0; i < PEOPLE; i++) {
        batch.upsertNode(person(i))
        batch.upsertNode(car(i))
        batch.upsertRelationship(owns(i))
      }
    })
    const document = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)' },
    }
    const compiled = compileDecisionPolicy(JSON.stringify(document))
    if (!compiled.ok) throw new Error(compiled.error[0])
    const policy = { ...compiled.value, id: 'p', name: 'p', revision: 1, tags: [] }
    const parts = partsOver({ default: store, global: null, at: () => null }, [policy])
    let stalePermits = 0
    let staleDenials = 0
    const answers = (i: number): boolean[] => {
      const subject = { type: 'Person', id: `p${i}` }
      const action = { name: 'drive' }
      const request = { subject, action, resource: { type: 'Car', id: `c${i}` } }
      const decided = evaluate(parts, caller, noOrigin, request)
      const batch = evaluateBatch(parts, caller, noOrigin, {
        kind: 'batch',
        evaluations: [{}],
        defaults: request,
        options: undefined,
      })
      const found = searchResources(parts, caller, noOrigin, { subject, action, resource: { type: 'Car' } })
      return [
        decided.ok && decided.value.decision,
        batch.ok && batch.value[0]?.decision === true,
        found.ok && found.value.results.length > 0,
      ]
    }
    for (let round = 0; round < revokes; round++) {
      const i = random.between(0, PEOPLE - 1)
      await store.write((batch) => batch.deleteRelationship(owns(i)))
      stalePermits += answers(i).filter((permitted) => permitted).length
      await store.write((batch) => batch.upsertRelationship(owns(i)))
      staleDenials += answers(i).filter((permitted) => !permitted).length
    }
    return { revokes, stalePermits, staleDenials }
  } finally {
    await stored.close()
  }
}
