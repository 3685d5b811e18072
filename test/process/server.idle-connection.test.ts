// A connection that is idle for less than the idle timeout is still open for the next request.
import { describe, expect, it } from 'vitest'
import { startHttpServer } from '../../src/http/server.ts'
import { HttpConnection } from '../support/http-connection.ts'

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
      idleTimeS: 1,
      tls: null,
    })
    try {
      const line = await HttpConnection.to(front.url)
      // The runtime checks every 4 seconds: one of the pauses contains such a check.
      for (let pause = 0; pause < 5; pause++) {
        await line.request('GET', '/', {})
        await Bun.sleep(900)
      }
      expect((await line.request('GET', '/', {})).body).toBe('here')
      line.close()
    } finally {
      await front.stop()
    }
  })
})
