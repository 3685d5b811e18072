// Clients of a stream receive pending text when they read, keep-alives when they wait, and the end.
import { expect, test } from 'vitest'
import { ClientStream } from '../../../../src/kernel/request/client-stream.ts'

class Lines extends ClientStream {
  private text = ''

  push(line: string): void {
    this.text += `${line}\n`
    this.flush()
  }

  protected override take(): string {
    const { text } = this
    this.text = ''
    return text
  }
}

const keepAlive = (): string => 'alive\n'

test('a reader that waits gets text at once, and one that does not gets all of it later', async () => {
  const stream = new Lines(() => undefined)
  const first = stream.next()
  stream.push('a')
  expect(await first).toEqual({ value: 'a\n', done: false })
  stream.push('b')
  stream.push('c')
  expect(await stream.next()).toEqual({ value: 'b\nc\n', done: false })
})

test('a quiet stream gets a keep-alive, and text counts as one', async () => {
  const stream = new Lines(() => undefined)
  const first = stream.next()
  expect([stream.tick(2, keepAlive), stream.tick(2, keepAlive)]).toEqual([true, true])
  expect(await first).toEqual({ value: 'alive\n', done: false })
  const second = stream.next()
  expect(stream.tick(2, keepAlive)).toBe(true)
  stream.push('a')
  expect(await second).toEqual({ value: 'a\n', done: false })
  const third = stream.next()
  expect(stream.tick(2, keepAlive)).toBe(true)
  expect(stream.tick(2, keepAlive)).toBe(true)
  expect(await third).toEqual({ value: 'alive\n', done: false })
})

test('a reader that has not read the last keep-alive is dead; one that reads it later is not', async () => {
  const stream = new Lines(() => undefined)
  expect([stream.tick(1, keepAlive), stream.tick(1, keepAlive)]).toEqual([true, false])
  expect(await stream.next()).toEqual({ value: 'alive\n', done: false })
  expect(stream.tick(1, keepAlive)).toBe(true)
  // Text makes the keep-alive superfluous.
  stream.push('a')
  expect(await stream.next()).toEqual({ value: 'a\n', done: false })
  expect(stream.tick(1, keepAlive)).toBe(true)
})

test('an ended stream gives what is pending, and then its end', async () => {
  const stream = new Lines(() => undefined)
  stream.push('a')
  stream.end()
  expect(await stream.next()).toEqual({ value: 'a\n', done: false })
  expect(await stream.next()).toEqual({ value: undefined, done: true })
})

test('a client that disconnects ends the stream without the pending text, and is reported once it has', async () => {
  let left = 0
  const stream = new Lines(() => {
    left += 1
  })
  const waiting = stream.next()
  expect(await stream.return()).toEqual({ value: undefined, done: true })
  expect(await waiting).toEqual({ value: undefined, done: true })
  expect(left).toBe(1)
})
