import { describe, expect, it } from 'vitest'
import { type LogEntry, openLog } from '../../../src/ops/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'

const clock = new ManualClock(Date.UTC(2026, 0, 1))

function logged(entry: LogEntry, level: 'info' | 'error' | 'silent' = 'info', secrets: readonly string[] = []): string {
  let text = ''
  openLog({ clock, level, secrets, write: (line) => (text += line) })(entry)
  return text
}

describe('a line of the log', () => {
  it('is one JSON object with level, time and message', () => {
    const line = logged({ level: 'error', message: 'it broke', where: 'there', count: 2 })
    expect(line.endsWith('}\n')).toBe(true)
    expect(JSON.parse(line)).toEqual({
      level: 'error',
      time: '2026-01-01T00:00:00.000Z',
      message: 'it broke',
      where: 'there',
      count: 2,
    })
  })

  it('is left out below the level', () => {
    expect(logged({ level: 'info', message: 'x' }, 'error')).toBe('')
    expect(logged({ level: 'error', message: 'x' }, 'silent')).toBe('')
  })

  it('contains no terminal control characters', () => {
    const line = logged({ level: 'info', message: 'a\u001b[31m\u009b\u007f\nb' })
    expect(line.trimEnd()).not.toMatch(/[\x00-\x1f\x7f-\x9f]/)
    expect(JSON.parse(line).message).toBe('a\u001b[31m\u009b\u007f\nb')
  })

  const nested = JSON.stringify({ db_connection: { password: 'hun"ter2 \\ x', url: 'u' } })
  it.each([
    ['an agent key', 'key vgk_AAAABBBBCCCCDDDDhunter2'],
    ['a token', 'got eyJhbGciOiJFUzI1NiJ9.eyJodW50ZXIyIn0.hunter2'],
    ['a header', 'authorization: Bearer hunter2hunter2'],
    ['credentials in a URL', 'amqps://user:hunter2@queue.example'],
    ['a connection string', 'Endpoint=sb://x;SharedAccessKeyName=n;SharedAccessKey=hunter2'],
    ['a member of JSON', nested],
    ['a member of JSON within JSON', JSON.stringify({ policy: nested })],
    ['a private key', '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----'],
    ['the private part of a key', JSON.stringify({ kty: 'EC', d: 'hunter2hunter2hunter2' })],
    ['what is known to be secret', 'the key is 00hunter200'],
  ])('does not contain %s', (_, text) => {
    for (const entry of [
      { level: 'error', message: text },
      { level: 'error', message: 'x', stack: `Error: ${text}\n    at y` },
      { level: 'error', message: 'x', deep: { list: [text] } },
    ] as const) {
      const line = logged(entry, 'info', ['00hunter200'])
      expect(line).not.toMatch(/hun.{0,4}ter2/)
      expect(line).toContain('********')
      expect(() => JSON.parse(line)).not.toThrow()
    }
  })

  it('does not contain a member with the name of a secret', () => {
    const line = logged({ level: 'error', message: 'x', password: 'hunter2', api_key: 'hunter2', authParams: 1 })
    expect(line).not.toContain('hunter2')
  })

  it('keeps other members', () => {
    const text = 'expected a bearer token; the token of page 2, https://host:8080/path, `a`: expected "password"'
    expect(JSON.parse(logged({ level: 'info', message: text })).message).toBe(text)
  })
})
