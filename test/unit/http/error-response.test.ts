import { describe, expect, it } from 'vitest'
import { errorBodyText, internalErrorResponse, toErrorResponse } from '../../../src/http/error-response.ts'
import { requestIdOf } from '../../../src/http/request-id.ts'
import type { ServiceError } from '../../../src/kernel/errors.ts'

// Wire constants, pinned by literals: a failure here is a change of the interface.
const pins: readonly [ServiceError, number, string, Record<string, string>?][] = [
  [{ kind: 'malformed', issues: ['a: b'] }, 400, '{"message":"Bad Request","errors":["a: b"]}'],
  [{ kind: 'invalid', issues: ['c'] }, 422, '{"message":"Unprocessable Entity","errors":["c"]}'],
  [
    { kind: 'unknown-location', location: 'mars', parameter: 'region' },
    422,
    '{"message":"Unprocessable Entity","errors":["unknown location mars for parameter $region"]}',
  ],
  [{ kind: 'unauthenticated', message: 'who?' }, 401, '{"message":"who?"}', { 'www-authenticate': 'Bearer' }],
  [{ kind: 'forbidden', message: 'no' }, 403, '{"message":"no"}'],
  [{ kind: 'not-found', message: 'gone' }, 404, '{"message":"gone"}'],
  [
    { kind: 'method-not-allowed', allow: ['GET', 'HEAD'] },
    405,
    '{"message":"Method Not Allowed"}',
    { allow: 'GET, HEAD' },
  ],
  [{ kind: 'conflict', message: 'taken' }, 409, '{"message":"taken"}'],
  [{ kind: 'stale-etag' }, 412, '{"message":"Precondition Failed"}'],
  [
    { kind: 'unsupported-encoding', message: 'content-encoding: no' },
    415,
    '{"message":"Unsupported Media Type","errors":["content-encoding: no"]}',
    { 'accept-encoding': 'identity' },
  ],
  [
    { kind: 'too-large', limitBytes: 10 },
    413,
    '{"message":"Content Too Large","errors":["body: expected at most 10 bytes"]}',
  ],
  [
    { kind: 'unsupported-media-type', message: 'content-type: no' },
    415,
    '{"message":"Unsupported Media Type","errors":["content-type: no"]}',
  ],
  [
    { kind: 'budget', limit: 'decisionTimeMs', message: 'too slow' },
    422,
    '{"message":"Unprocessable Entity","errors":["too slow"]}',
  ],
  [{ kind: 'unavailable', message: 'later', retryAfterS: 2 }, 503, '{"message":"later"}', { 'retry-after': '2' }],
]

describe('error responses', () => {
  it.each(pins)('%j has status %i', (error, status, text, headers) => {
    const problem = toErrorResponse(error)
    expect(problem.status).toBe(status)
    expect(errorBodyText(problem)).toBe(text)
    expect(problem.headers).toEqual(headers)
  })

  it('reveal nothing about an internal error', () => {
    expect(internalErrorResponse.status).toBe(500)
    expect(errorBodyText(internalErrorResponse)).toBe('{"message":"Internal Server Error"}')
  })
})

describe('request identifiers', () => {
  it('are kept if the caller sent one', () => {
    expect(requestIdOf('abc-123')).toBe('abc-123')
    expect(requestIdOf('a b, "c"')).toBe('a b, "c"')
    expect(requestIdOf('x'.repeat(256))).toBe('x'.repeat(256))
  })

  it.each([
    ['nothing', null],
    ['an empty one', ''],
    ['a long one', 'x'.repeat(257)],
    ['one with a control character', 'a\tb'],
    ['one that would be two lines', 'a\r\nb'],
    ['one that no header can hold', 'Ā'],
  ])('are created for %s, and never twice the same', (_, given) => {
    const made = requestIdOf(given)
    expect(made).toMatch(/^[0-9a-f]{16}-[0-9a-z]+$/)
    expect(requestIdOf(given)).not.toBe(made)
  })
})
