// Batches of spans: one is sent after another, a stop sends all of them, and those that cannot be sent are counted.
import { afterEach, expect, test } from 'vitest'
import { type OpenTracing, openTracing } from '../../../src/ops/tracing.ts'

let collector: Bun.Server<undefined> | null = null
let exported = 0
let faults: string[] = []

afterEach(async () => {
  await collector?.stop(true)
  exported = 0
  faults = []
})

/** Tracing with batches of one span, to a collector that answers with `answer`. */
function traceTo(
  answer: (request: number) => Response | Promise<Response>,
  timeoutMs: number,
  queueMax = 10,
): OpenTracing {
  let requests = 0
  collector = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => answer(++requests) })
  return openTracing({
    url: `http://127.0.0.1:${collector.port}/v1/traces`,
    headers: {},
    timeoutMs,
    sampler: 'always_on',
    ratio: 1,
    resource: {},
    version: '1',
    isLane: false,
    queueMax,
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
}

function addSpans(tracing: OpenTracing, count: number): void {
  for (let at = 0; at < count; at++)
    tracing.serve(
      'request',
      {},
      () => null,
      (span) => span.end(null),
    )
}

const accepted = (): Response => Response.json({ partialSuccess: {} })

test('a stop sends all batches that wait, also while one is on its way', async () => {
  const arrived = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const tracing = traceTo(async () => {
    arrived.resolve()
    await answered.promise
    return accepted()
  }, 60_000)
  addSpans(tracing, 4)
  await arrived.promise
  const closed = tracing.close()
  // Everything that the stop hands over at once is handed over before the answer.
  await Bun.sleep(0)
  answered.resolve()
  await closed
  await expect.poll(() => exported).toBe(4)
  expect(faults).toEqual([])
})

test('a stop sends the batches after one that is refused', async () => {
  const tracing = traceTo(async (request) => {
    // The first one is sent before the stop.
    if (request === 2) return new Response(null, { status: 400 })
    await Bun.sleep(50)
    return accepted()
  }, 60_000)
  addSpans(tracing, 4)
  await tracing.close()
  expect([exported, faults]).toEqual([3, ['export_failed: 1', expect.any(String)]])
})

test('an answer that never ends makes no more spans wait than the queue may have', async () => {
  const ended = Promise.withResolvers<void>()
  const tracing = traceTo(
    () => {
      async function* body() {
        for (let isOpen = true; isOpen; ) {
          yield ' '
          isOpen = await Promise.race([ended.promise.then(() => false), Bun.sleep(10).then(() => true)])
        }
      }
      return new Response(body)
    },
    100,
    2,
  )
  await expect
    .poll(() => {
      // The provider awaits each batch for a second, and then hands over the next one.
      addSpans(tracing, 1)
      return faults
    })
    .toContain('too many spans wait for the collector')
  expect(faults).toContain('export_failed: 1')
  expect(exported).toBe(0)
  ended.resolve()
  await tracing.close()
})
