// The schema of filters documents what read-policy-filter.ts parses: both must accept and refuse the same documents.
import { describe, expect, it } from 'vitest'
import { policyFilterSchema } from '../../../src/policy/policy-filter-schema.ts'
import { readPolicyFilter } from '../../../src/policy/read-policy-filter.ts'

const leaf = { operator: '=', attribute: '$region', value: 'eu' }

describe('the documented schema of policy filters', () => {
  it.each([
    [leaf],
    [{ operator: 'IS NULL', attribute: '$token.email' }],
    [{ operator: 'IN', attribute: '$level', value: [1, 2.5, 'x', true] }],
    [{ operator: '=~', attribute: '$name', value: 'a.*', app: 'main', advice: { text: 'Ask for access.' } }],
    [{ operator: '<', attribute: '$time', value: { type: 'datetime', value: '2026-01-31T12:00:00Z' } }],
    [{ operator: 'AND', operands: [leaf, { operator: 'NOT', operands: [leaf] }] }],
    [{ operator: 'OR', operands: [leaf, leaf, leaf], advice: null }],
    [{}],
  ])('accepts what the parser accepts: %j', (filter) => {
    expect(readPolicyFilter(filter, 'filter')).toMatchObject({ ok: true })
    expect(policyFilterSchema.safeParse(filter).error).toBeUndefined()
  })

  it.each([
    [{ operator: 'XOR', operands: [leaf, leaf] }],
    [{ operator: 'AND', operands: leaf }],
    [{ operator: 'NOT', operands: [] }],
    [{ operator: '=', attribute: 7, value: 1 }],
    [{ ...leaf, comment: 'unknown member' }],
    [{ ...leaf, advice: { text: 7 } }],
    [{ ...leaf, app: 7 }],
    ['text'],
    [[leaf]],
  ])('refuses what the parser refuses: %j', (filter) => {
    expect(readPolicyFilter(filter, 'filter')).toMatchObject({ ok: false })
    expect(policyFilterSchema.safeParse(filter).success).toBe(false)
  })
})
