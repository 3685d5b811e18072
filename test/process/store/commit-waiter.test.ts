// The waiter of a process: it sees each commit of other processes. In these tests it never looks without a commit, so that a wake-up that
// is lost ends the test.
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { CommitCount } from '../../../src/store/process/commit-counter.ts'
import { CommitWaiter } from '../../../src/store/process/commit-waiter.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ROUNDS = 60
const LATE_MS = 30_000
const seed = Number(process.env.VERDIGRAPH_SEED ?? Math.floor(Math.random() * 2 ** 31))

const children: Bun.Subprocess[] = []

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.splice(0).map(({ exited }) => exited))
})

/** Returns a function that makes another process count a commit soon. */
function startWriter(folder: string, writerSeed: number): () => void {
  const program = join(import.meta.dirname, 'commit-writer.ts')
  const child = Bun.spawn([process.execPath, program, folder, String(writerSeed)], { stdin: 'pipe', stderr: 'inherit' })
  children.push(child)
  return () => {
    child.stdin.write('commit\n')
    child.stdin.flush()
  }
}

describe.each([
  ['that gets reports of writes', {}],
  ['that reads the count', { usesReports: false }],
])('a waiter %s', (_, options) => {
  test(`sees each commit of two other processes, in every state of the waiters (VERDIGRAPH_SEED=${seed})`, async () => {
    const folder = temporaryFolder()
    const commits = new CommitCount(folder)
    const writers = [startWriter(folder, seed), startWriter(folder, seed + 1)]
    const waiters = [1, 2].map(() => new CommitWaiter(folder, { ...options, beatMs: Number.POSITIVE_INFINITY }))
    const seen = waiters.map(() => 0)
    const subscriptions = waiters.map((waiter, at) =>
      waiter.subscribe(() => {
        seen[at] = commits.load()
      }),
    )
    for (let round = 1; round <= ROUNDS; round++) {
      for (const write of writers) write()
      const isSeen = await Promise.all(
        waiters.map((waiter, at) => waiter.until(() => seen[at] === round * writers.length, LATE_MS)),
      )
      expect(isSeen, `round ${round}`).toEqual([true, true])
    }
    for (const subscription of subscriptions) subscription.close()
  })

  test('looks at a given time without a commit, and not after it is closed', async () => {
    const waiter = new CommitWaiter(temporaryFolder(), { ...options, beatMs: Number.POSITIVE_INFINITY })
    const { promise, resolve } = Promise.withResolvers<void>()
    let looks = 0
    const closed = waiter.subscribe(() => {
      looks += 1
    })
    const open = waiter.subscribe(resolve)
    closed.lookWithin(1)
    closed.close()
    open.lookWithin(2)
    await promise
    expect(looks).toBe(0)
    open.close()
  })
})

test('a condition is awaited until it holds, or until the time is over', async () => {
  const waiter = new CommitWaiter(temporaryFolder())
  let holds = false
  const held = waiter.until(() => holds, LATE_MS)
  holds = true
  waiter.announce()
  expect(await held).toBe(true)
  expect(await waiter.until(async () => false, 1)).toBe(false)
  await expect(waiter.until(() => Promise.reject(new Error('closed')), LATE_MS)).rejects.toThrow('closed')
})
