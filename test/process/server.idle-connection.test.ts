// A connection that is idle for less than the idle timeout is still open for the next request.
import { describe, expect, it } from 'vitest'
import { startHttpServer } from '../../src/http/server.ts'
import { HttpConnection } from '../support/http-connection.ts'

const IDLE_S = 1
const PAUSE_MS = 750

describe('an idle connection', () => {
  it('is not closed before its timeout, whenever the runtime checks', async () => {
    const front = startHttpServer(async () => ({ status: 200, headers: {}, body: 'here' }), {
      host: '127.0.0.1',
      port: 0,
      bodyBytesMax: 100,
      bodyTotalBytesMax: 1 << 20,
      bodyCallerBytesMax: 1 << 20,
      bodyTimeMs: 5000,
      drainMs: 5000,
      routes: [],
      idleTimeS: IDLE_S,
      tls: null,
    })
    try {
      const connect = () => HttpConnection.to(front.url)
      let line = await connect()
      let activeAt = performance.now()
      // The runtime checks every 4 seconds: one of six pauses contains such a check.
      for (let pauses = 0; pauses < 6; pauses++) {
        await Bun.sleep(PAUSE_MS)
        const askedAt = performance.now()
        const answer = await line.request('GET', '/', {}).then(
          ({ body }) => body,
          ({ message }: Error) => message,
        )
        if (answer !== 'here') {
          // On a busy machine the pause can be longer than the timeout.
          expect(performance.now() - activeAt, answer).toBeGreaterThan(IDLE_S * 1000)
          line = await connect()
          pauses = -1
        }
        activeAt = askedAt
      }
      line.close()
    } finally {
      await front.stop()
    }
  })
})
