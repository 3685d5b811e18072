// Bodies that are written while their reader waits, through the real front end.
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { type HttpServer, startHttpServer } from '../../../src/http/server.ts'

let front: HttpServer | null = null
afterEach(() => front?.stop())

function serve(stream: AsyncIterator<string, void>, drainMs = 60_000): HttpServer {
  front = startHttpServer(async () => ({ status: 200, headers: { 'content-type': 'text/plain' }, body: '', stream }), {
    host: '127.0.0.1',
    port: 0,
    bodyBytesMax: 100,
    bodyTotalBytesMax: 1 << 20,
    bodyCallerBytesMax: 1 << 20,
    bodyTimeMs: 60_000,
    drainMs,
    routes: [],
    idleTimeS: 75,
    tls: null,
  })
  return front
}

/** Writes on command, and reports when its reader has left. */
function source() {
  const said: string[] = []
  let wake: () => void = () => {}
  let over = false
  let gone: () => void = () => {}
  const left = new Promise<void>((resolve) => {
    gone = resolve
  })
  const live: AsyncIterator<string, void> = {
    async next() {
      while (said.length === 0 && !over) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
      }
      const value = said.shift()
      return value === undefined ? { value: undefined, done: true } : { value, done: false }
    },
    async return() {
      gone()
      return { value: undefined, done: true }
    },
  }
  return {
    live,
    left,
    say(text: string) {
      said.push(text)
      wake()
    },
    end() {
      over = true
      wake()
    },
  }
}

describe('a streaming body', () => {
  it('arrives piece by piece, each when it is written, and ends', async () => {
    const { live, say, end } = source()
    const answered = await Promise.all([fetch(serve(live).url), say('one ')])
    const reader = (answered[0].body as ReadableStream<Uint8Array>).getReader()
    const read = async () => new TextDecoder().decode((await reader.read()).value)
    expect(await read()).toBe('one ')
    say('two')
    expect(await read()).toBe('two')
    end()
    expect((await reader.read()).done).toBe(true)
  })

  it('is notified when its reader disconnects', async () => {
    const { live, left, say } = source()
    const stop = new AbortController()
    say('here')
    const answered = await fetch(serve(live).url, { signal: stop.signal })
    expect(answered.status).toBe(200)
    stop.abort()
    await left
  })

  it('is read no faster than its reader', async () => {
    const piece = 'x'.repeat(1 << 20)
    let asked = 0
    let quiet: ReturnType<typeof setTimeout> | undefined
    let full: () => void = () => {}
    const filled = new Promise<void>((resolve) => {
      full = resolve
    })
    const { port } = serve({
      async next() {
        asked += 1
        clearTimeout(quiet)
        quiet = setTimeout(full, 200)
        // Without backpressure it would be unbounded: the test ends here and fails.
        if (asked > 200) full()
        return { value: piece, done: asked > 300 } as IteratorResult<string, void>
      },
    })
    const stuck = connect(port, '127.0.0.1')
    stuck.pause()
    stuck.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await filled
    expect(asked).toBeLessThan(100)
    stuck.destroy()
  })

  it('that is in progress does not delay a stop, and its written pieces arrive', async () => {
    const { live, say, end } = source()
    const { url } = serve(live)
    say('early ')
    const answered = await fetch(url)
    const text = answered.text()
    say('late')
    end()
    await front?.stop()
    expect(await text).toBe('early late')
    const silent = source()
    silent.say('.')
    const begun = await fetch(serve(silent.live, 500).url)
    const broken = expect(begun.text()).rejects.toThrow()
    await front?.stop()
    await broken
    await silent.left
  })
})
