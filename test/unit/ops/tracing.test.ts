// The end of tracing: what waits to be sent is sent, one batch after the other.
import { expect, test } from 'vitest'
import { openTracing } from '../../../src/ops/tracing.ts'

test('a stop sends all batches that wait, also while one is on its way', async () => {
  const arrived = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  let requests = 0
  const collector = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch() {
      requests += 1
      arrived.resolve()
      await answered.promise
      return Response.json({ partialSuccess: {} })
    },
  })
  let exported = 0
  const faults: string[] = []
  const tracing = openTracing({
    url: `http://127.0.0.1:${collector.port}/v1/traces`,
    headers: {},
    timeoutMs: 60_000,
    sampler: 'always_on',
    ratio: 1,
    resource: {},
    version: '1',
    isLane: false,
    queueMax: 10,
    batchMax: 1,
    delayMs: 1,
    count: {
      exported: (spans) => {
        exported += spans
      },
      dropped: (reason, spans) => faults.push(`${reason}: ${spans}`),
    },
    report: (reason) => faults.push(reason),
  })
  try {
    for (let at = 0; at < 4; at++)
      tracing.serve(
        'request',
        {},
        () => null,
        (span) => span.end(null),
      )
    await arrived.promise
    const closed = tracing.close()
    // Everything that the stop hands over at once is handed over before the answer.
    await Bun.sleep(0)
    answered.resolve()
    await closed
    await expect.poll(() => exported).toBe(4)
    expect([requests, faults]).toEqual([4, []])
  } finally {
    await collector.stop(true)
  }
})
