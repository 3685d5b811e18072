// Error texts for `last_error`: causes, one line, no secrets.
import { describe, expect, it } from 'vitest'
import { errorText } from '../../../../src/events/providers/error-text.ts'

describe('an error text', () => {
  it('names the causes, and leaves out general texts', () => {
    const refused = new Error('connect ECONNREFUSED 10.0.0.1:9092')
    const broker = new Error('broker a:9092', { cause: refused })
    const all = new AggregateError([broker, broker], 'Cannot connect to any broker.')
    const send = new AggregateError([all], 'produce failed 3 times.')
    expect(errorText(send)).toBe('broker a:9092: connect ECONNREFUSED 10.0.0.1:9092')
    expect(errorText(new Error('Producing messages failed.'))).toBe('Producing messages failed')
    expect(errorText({ condition: 'amqp:not-found', description: 'no queue' })).toBe('amqp:not-found no queue')
    expect(errorText(Object.assign(new Error(''), { code: 'ECONNRESET' }))).toBe('ECONNRESET')
    expect([errorText(undefined), errorText({}), errorText('text')]).toEqual(['unknown error', 'unknown error', 'text'])
  })

  it('has no secret in any usual encoding', () => {
    const secret = 'p/s&w=rd'
    const forms = [secret, encodeURIComponent(secret), Buffer.from(secret).toString('base64')]
    const text = errorText(new Error(`login ${forms[0]}`, { cause: new Error(`${forms[1]} ${forms[2]}`) }), [
      secret,
      '',
      null,
    ])
    expect(text).toBe('login ***: *** ***')
  })

  it('is one line of limited length, also if the causes form a cycle', () => {
    const long = new Error(`first\r\nsecond\u001b[31m\u2028${'x'.repeat(1000)}`)
    long.cause = long
    const text = errorText(long)
    expect(text).toMatch(/^first second \[31m x+…$/)
    expect(text).toHaveLength(500)
  })
})
