import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { validate } from '../../../src/config/validate.ts'
import type { ServiceError } from '../../../src/kernel/errors.ts'
import type { Result } from '../../../src/kernel/result.ts'
import { readEvaluation, readResourceSearch, readSubjectSearch } from '../../../src/pdp/read-request.ts'
import { evaluationRequest, resourceSearchRequest, subjectSearchRequest } from '../../../src/pdp/schema.ts'

const readers: readonly [string, (body: unknown) => Result<unknown, ServiceError>, z.ZodType][] = [
  ['evaluation', readEvaluation, evaluationRequest],
  ['resource search', readResourceSearch, resourceSearchRequest],
  ['subject search', readSubjectSearch, subjectSearchRequest],
]

/** Mostly valid, often slightly invalid: every member may be missing, have another type, or come with unknown ones. */
const anything = fc.oneof(fc.jsonValue(), fc.constant(undefined))
function mostly<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 8, arbitrary }, { weight: 1, arbitrary: anything })
}
const object = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true })
const members = (shape: Record<string, fc.Arbitrary<unknown>>) =>
  fc
    .tuple(fc.record(shape, { requiredKeys: [], noNullPrototype: true }), object)
    .map(([known, unknown]) => ({ ...unknown, ...known }))
const entity = members({ type: mostly(fc.string()), id: mostly(fc.string()), properties: mostly(object) })
const request = members({
  subject: mostly(entity),
  resource: mostly(entity),
  action: mostly(members({ name: mostly(fc.string()), properties: mostly(object) })),
  context: mostly(
    members({
      input_params: mostly(object),
      policy_tags: mostly(fc.array(mostly(fc.string()), { maxLength: 3 })),
      policy_status: mostly(fc.constantFrom('ACTIVE', 'DRAFT')),
    }),
  ),
})

describe.each(readers)('the reader of a %s', (_, read, schema) => {
  it('agrees with the schema on every request, including the messages', () => {
    let accepted = 0
    let refused = 0
    fc.assert(
      fc.property(mostly(request), (body) => {
        // A schema would drop it silently, so it is refused there; the hand-written reader accepts it like other names.
        fc.pre(!JSON.stringify(body)?.includes('__proto__'))
        const byHand = read(body)
        const bySchema = validate(schema, body)
        expect(byHand.ok).toBe(bySchema.ok)
        if (!byHand.ok) {
          expect(byHand.error).toEqual({ kind: 'malformed', issues: bySchema.ok ? [] : bySchema.error })
          refused += 1
        } else accepted += 1
      }),
      { numRuns: 1000 },
    )
    // Without accepted requests the test would prove little.
    expect(Math.min(accepted, refused)).toBeGreaterThan(30)
  })
})

describe('the reader of an evaluation', () => {
  const complete = {
    subject: { type: 'Person', id: 'ann' },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'c1' },
  }
  const issuesOf = (body: unknown): readonly string[] => {
    const read = readEvaluation(body)
    return read.ok || read.error.kind !== 'malformed' ? [] : read.error.issues
  }

  it('ignores unknown members anywhere', () => {
    expect(readEvaluation({ ...complete, more: 1, subject: { ...complete.subject, email: 'a@b' } }).ok).toBe(true)
  })

  it('reports every error with its path and the expected type', () => {
    expect(issuesOf([])).toEqual(['body: expected object, found array'])
    expect(issuesOf({ ...complete, subject: 'ann' })).toEqual(['subject: expected object, found string'])
    expect(issuesOf({ action: { name: 3 }, context: { input_params: [], policy_tags: ['a', null] } })).toEqual([
      'subject: expected object, found nothing',
      'action.name: expected string, found number',
      'resource: expected object, found nothing',
      'context.input_params: expected object, found array',
      'context.policy_tags[1]: expected string, found null',
    ])
  })
})
