// A request is never sent on a connection that the lane has closed: it would wait until its time limit.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { ForwardedRequestHead } from '../../../src/http/lane-job.ts'
import { LaneEndedError, LaneProcess } from '../../../src/lanes/lane-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const REQUESTS = 20
const head: ForwardedRequestHead = {
  method: 'GET',
  path: '/',
  query: '',
  headers: [],
  requestId: 'r',
  address: '127.0.0.1',
  introspected: [],
}

it('requests after the lane has closed idle connections are answered, or end as those of a lane that has exited', async () => {
  const opened = Promise.withResolvers<void>()
  let closed = Promise.withResolvers<void>()
  const lane = new LaneProcess({
    command: [process.execPath, join(import.meta.dirname, 'closing-lane.ts')],
    task: {
      settings: null,
      identity: { number: 1, proof: '' },
      socket: join(temporaryFolder(), 'lane.sock'),
    },
    onOpen: opened.resolve,
    onEvent: () => closed.resolve(),
  })
  await opened.promise
  const ask = () => lane.request(head, new Uint8Array())
  let answers = 0
  for (let round = 0; round < REQUESTS; round += 1) {
    // Several connections become idle.
    await Promise.all([ask(), ask()].map((answer) => answer.catch(ignoreEnd)))
    closed = Promise.withResolvers()
    lane.command('reopen logs')
    await closed.promise
    const answer = await ask().catch(ignoreEnd)
    if (answer !== null) answers += 1
  }
  expect(answers).toBeGreaterThan(0)
  await lane.stop()
})

/** The close of a connection may be on its way when a request is written to it. */
function ignoreEnd(error: unknown): null {
  if (!(error instanceof LaneEndedError)) throw error
  return null
}
