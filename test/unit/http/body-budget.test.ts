// Bytes of request bodies in progress: counted, limited in total and per caller, and released however a request ends.

import { connect, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { BodyBudget, type BodyReservation, SMALL_BODY_BYTES } from '../../../src/http/body-budget.ts'
import { startService, type TestService } from '../../support/service.ts'

const KIB = 1024

describe('a byte budget', () => {
  it('counts what is reserved and not released, in any order', () => {
    const step = fc.record({
      of: fc.nat(5),
      action: fc.constantFrom('reach', 'release'),
      bytes: fc.nat(4 * SMALL_BODY_BYTES),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const limits = { totalBytesMax: 6 * SMALL_BODY_BYTES, callerBytesMax: 3 * SMALL_BODY_BYTES }
        const budget = new BodyBudget(limits)
        const open = Array.from({ length: 6 }, (_, at): { own: number; one: BodyReservation } => ({
          own: 0,
          one: budget.open(`caller ${at % 3}`),
        }))
        const sum = (some: typeof open) => some.reduce((all, { own }) => all + own, 0)
        for (const { of, action, bytes } of steps) {
          const mine = open[of] as (typeof open)[number]
          if (action === 'release') {
            mine.one.release()
            mine.own = 0
          } else {
            const wanted = bytes <= SMALL_BODY_BYTES ? mine.own : Math.max(mine.own, bytes)
            const others = sum(open) - mine.own
            const caller = sum(open.filter((_, at) => at % 3 === of % 3)) - mine.own
            const expected =
              wanted === mine.own
                ? undefined
                : caller > 0 && caller + wanted > limits.callerBytesMax
                  ? 'too-many-bytes'
                  : others > 0 && others + wanted > limits.totalBytesMax
                    ? 'unavailable'
                    : undefined
            expect(mine.one.growTo(bytes)?.kind).toBe(expected)
            if (expected === undefined) mine.own = wanted
          }
          expect(budget.reservedBytes).toBe(sum(open))
        }
        for (const { one } of open) one.release()
        expect(budget.reservedBytes).toBe(0)
      }),
    )
  })
})

let service: TestService | null = null
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await service?.stop()
  service = null
})

const path = '/access/v1/evaluation'
const question = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

/** A request of so many bytes. */
function questionOf(bytes: number): string {
  const empty = JSON.stringify({ ...question, ignored: '' })
  return JSON.stringify({ ...question, ignored: 'x'.repeat(bytes - empty.length) })
}

/** Sends the head and the first bytes of a body, and no more: its bytes stay reserved. */
async function hold(one: TestService, key: string, length: number | 'chunked', first = 'x'): Promise<Socket> {
  const { hostname, port } = new URL(one.url)
  const socket = connect(Number(port), hostname)
  sockets.push(socket)
  socket.on('error', () => {})
  const framing = length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`
  const sent = length === 'chunked' ? `${first.length.toString(16)}\r\n${first}\r\n` : first
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nX-SVC-ClientKey: ${key}\r\nContent-Type: application/json\r\n${framing}\r\n\r\n`
  await new Promise<void>((resolve) => {
    socket.write(head + sent, () => resolve())
  })
  return socket
}

/**
 * Repeats the request until the response has that status: a server notices the state of other connections with a delay.
 */
async function until(status: number, ask: () => Promise<{ status: number; text: string; headers: Headers }>) {
  for (;;) {
    const answered = await ask()
    if (answered.status === status) return answered
    await Bun.sleep(20)
  }
}

describe('the bodies of one caller', () => {
  const start = () => startService({ bodyTotalBytesMax: 1200 * KIB, bodyBytesMax: 300 * KIB, bodyTimeMs: 60_000 })

  it.each([
    ['with a declared length', 200 * KIB, 'x'],
    ['in chunks', 'chunked', 'x'.repeat(200 * KIB)],
  ] as const)('%s are refused beyond its limit (429), and those of other callers are not', async (_, length, first) => {
    service = await start()
    const one = service
    const other = await one.addAgent('other', ['Authorization'])
    const held = await hold(one, one.key, length, first)
    const ask = (key: string, bytes: number) =>
      one.send(path, { headers: { 'x-svc-clientkey': key }, raw: questionOf(bytes) })
    const refused = await until(429, () => ask(one.key, 120 * KIB))
    expect(refused.text).toBe(
      '{"message":"Too Many Requests","errors":["body: the bodies of this caller exceed its share of body_total_bytes_max (307200 bytes)"]}',
    )
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await ask(one.key, 64 * KIB)).status).toBe(200)
    expect((await ask(one.key, 90 * KIB)).status).toBe(200)
    expect((await ask(other.key, 250 * KIB)).status).toBe(200)
    // The client disconnects.
    held.destroy()
    expect((await until(200, () => ask(one.key, 120 * KIB))).text).toMatch(/^\{"decision":false/)
    expect((await ask(one.key, 290 * KIB)).status).toBe(200)
  })
})

describe('the bodies of all callers', () => {
  it('are admitted alone, also above the limit', async () => {
    service = await startService({ bodyTotalBytesMax: 300 * KIB, bodyTimeMs: 60_000 })
    expect(
      (await service.send(path, { headers: { 'x-svc-clientkey': service.key }, raw: questionOf(400 * KIB) })).status,
    ).toBe(200)
  })

  it('are refused beyond the limit (503), except small ones', async () => {
    service = await startService({ bodyTotalBytesMax: 300 * KIB, bodyTimeMs: 60_000 })
    const one = service
    const other = await one.addAgent('other', ['Authorization'])
    const held = await hold(one, one.key, 200 * KIB)
    const ask = (bytes: number) => one.send(path, { headers: { 'x-svc-clientkey': other.key }, raw: questionOf(bytes) })
    const refused = await until(503, () => ask(120 * KIB))
    expect(refused.text).toBe(
      '{"message":"the bodies of all running requests exceed body_total_bytes_max (307200 bytes)"}',
    )
    expect(refused.headers.get('retry-after')).toBe('1')
    expect((await ask(64 * KIB)).status).toBe(200)
    held.destroy()
    expect((await until(200, () => ask(120 * KIB))).status).toBe(200)
  })

  it('release their bytes if they are too slow', async () => {
    service = await startService({ bodyTotalBytesMax: 300 * KIB, bodyTimeMs: 300 })
    const one = service
    const held = await hold(one, one.key, 200 * KIB)
    let answered = ''
    held.on('data', (data) => {
      answered += data.toString()
    })
    await new Promise((resolve) => held.on('close', resolve))
    expect(answered).toMatch(/^HTTP\/1\.1 408 /)
    // On a slow machine this body is too slow too.
    await until(200, () => one.send(path, { headers: { 'x-svc-clientkey': one.key }, raw: questionOf(240 * KIB) }))
  })

  it('release their bytes if they are malformed or too large', async () => {
    service = await startService({ bodyTotalBytesMax: 300 * KIB, bodyBytesMax: 250 * KIB, bodyTimeMs: 60_000 })
    const one = service
    const headers = { 'x-svc-clientkey': one.key }
    const whole = () => one.send(path, { headers, raw: questionOf(240 * KIB) })
    for (let round = 0; round < 3; round++) {
      expect((await one.send(path, { headers, raw: 'x'.repeat(200 * KIB) })).status).toBe(400)
      expect((await one.send(path, { headers, raw: questionOf(251 * KIB) })).status).toBe(413)
      const stream = new Blob(['x'.repeat(260 * KIB)]).stream()
      expect(
        (
          await one.send(path, {
            method: 'POST',
            headers: { ...headers, 'content-type': 'application/json' },
            raw: stream,
          })
        ).status,
      ).toBe(413)
      expect((await whole()).status).toBe(200)
    }
  })
})

describe('the values of one body', () => {
  it('are limited, whatever their type', async () => {
    service = await startService({ jsonValuesMax: 1000 })
    const one = service
    const ask = (ignored: unknown) => one.ask(path, { ...question, ignored })
    // 3 objects with 2, 1 and 2 members, and the list next to them.
    const own = 1 + 3 + 5 + 1
    expect((await ask(Array.from({ length: 1000 - own }, () => 1))).status).toBe(200)
    const refused = await ask(Array.from({ length: 1001 - own }, () => ({})))
    expect(refused.status).toBe(400)
    expect((refused.body.errors as string[])[0]).toMatch(
      /^body: malformed JSON at line 1, column \d+: more than 1000 values$/,
    )
    expect((await ask(['[,]'.repeat(5000)])).status).toBe(200)
  })
})

describe('the headers of a response', () => {
  it('belong to it, also with many concurrent responses', async () => {
    service = await startService()
    const one = service
    const ids = Array.from({ length: 200 }, (_, at) => `request-${at}`)
    const answers = await Promise.all(
      ids.map((id) => one.send(path, { headers: { 'x-svc-clientkey': one.key, 'x-request-id': id }, body: question })),
    )
    expect(answers.map(({ headers }) => headers.get('x-request-id'))).toEqual(ids)
    for (const { headers } of answers) {
      expect([headers.get('content-type'), headers.get('cache-control')]).toEqual(['application/json', 'no-store'])
    }
  })
})
