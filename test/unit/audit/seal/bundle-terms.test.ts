import { afterEach, describe, expect, test } from 'vitest'
import type { EntryTermFacts } from '../../../../src/audit/entry-terms.ts'
import { BundleTerms } from '../../../../src/audit/seal/bundle-terms.ts'
import { AuditIndex } from '../../../../src/store/audit/audit-index.ts'
import { hashOfTerm } from '../../../../src/store/audit/audit-terms.ts'
import { AUDIT_DIMENSION, type AuditLog } from '../../../../src/store/audit/audit-types.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../../support/temporary-folder.ts'

const agent = { type: 'agent', id: 'gid:agent', applicationId: 'gid:app', user: { externalId: 'ann' } }

function facts(members: Partial<EntryTermFacts>): EntryTermFacts {
  return { type: 'svc.audit.capture.upsert.node', subject: 'nodes/Car/c1', timeMs: 5, actor: agent, ...members }
}

function termsOf(entries: readonly EntryTermFacts[]): BundleTerms {
  const terms = new BundleTerms(7, 3, null)
  for (const entry of entries) terms.add(entry)
  return terms
}

describe('the terms of a bundle', () => {
  afterEach(removeTemporaryFolders)

  test('have one posting for each value, also over several sealings, and the times of all entries', () => {
    const terms = termsOf([facts({}), facts({ timeMs: 2 }), facts({ subject: 'nodes/Car/c2', timeMs: 9 })])
    const values = [
      { dimension: AUDIT_DIMENSION.type, value: 'svc.audit.capture.upsert.node' },
      { dimension: AUDIT_DIMENSION.actor, value: 'gid:agent' },
      { dimension: AUDIT_DIMENSION.actor, value: 'gid:app' },
      { dimension: AUDIT_DIMENSION.actor, value: 'ann' },
      { dimension: AUDIT_DIMENSION.resource, value: 'c1' },
      { dimension: AUDIT_DIMENSION.resource, value: 'c2' },
    ] as const
    expect(terms.takePostings()).toEqual(values.map((term) => ({ ...hashOfTerm(term), generation: 7, bundle: 3 })))
    terms.add(facts({ actor: { ...agent }, timeMs: 1 }))
    expect(terms.takePostings()).toEqual([])
    terms.add(facts({ actor: { id: 'gid:other' } }))
    expect(terms.takePostings().length).toBe(1)
    expect(terms.times()).toEqual({ generation: 7, bundle: 3, fromMs: 1, toMs: 9 })
    expect(terms.isOf(7, 3) && !terms.isOf(7, 4) && !terms.isOf(8, 3)).toBe(true)
  })

  test('find a resource by its whole path and by its last part, also if an earlier version has indexed both', async () => {
    const index = new AuditIndex(temporaryFolder(), { sync: false })
    const before = ['nodes/Car/c9', 'c9'].map((value) => ({
      ...hashOfTerm({ dimension: AUDIT_DIMENSION.resource, value }),
      generation: 7,
      bundle: 4,
    }))
    const terms = termsOf([facts({}), facts({ subject: 'credentials' }), facts({ subject: '' })])
    await index.write((edits) => {
      edits.putLog({ id: 'A', generations: [{ number: 7 }] } as unknown as AuditLog)
      edits.putBundle(terms.times())
      edits.putBundle({ generation: 7, bundle: 4, fromMs: 0, toMs: 0 })
      for (const posting of [...terms.takePostings(), ...before]) edits.putPosting(posting)
    })
    const found = (resource: string): number[] =>
      index.find('A', { resources: [resource] }, null, 10).map(({ bundle }) => bundle)
    expect(['nodes/Car/c1', 'c1', 'credentials'].map(found)).toEqual([[3], [3], [3]])
    expect(['nodes/Car/c9', 'c9'].map(found)).toEqual([[4], [4]])
    expect(['nodes/Car/c2', 'Car', ''].map(found)).toEqual([[], [], []])
    await index.close()
  })
})
