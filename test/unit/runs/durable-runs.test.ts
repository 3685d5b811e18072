// The machine of durable runs: order, delays after failures, failures that cannot be stored, leadership, and a stop.
import { expect, it } from 'vitest'
import { type AttemptEnd, DurableRuns, type RunFailures, type RunKind } from '../../../src/runs/durable-runs.ts'
import { ManualClock } from '../../support/manual-clock.ts'

interface TestWork {
  readonly id: string
  sinceMs: number | null
  failures: RunFailures | null
  attempt(): AttemptEnd | Promise<AttemptEnd>
}

function machine(works: readonly TestWork[], more: { isLeading?: () => boolean; canStore?: () => boolean } = {}) {
  const { canStore = () => true, ...others } = more
  const clock = new ManualClock(1_000_000)
  const seen: string[] = []
  const kind: RunKind<TestWork> = {
    name: 'work',
    subjects: () => works,
    idOf: ({ id }) => id,
    dueSinceMs: ({ sinceMs }) => sinceMs,
    failuresOf: ({ failures }) => failures,
    async attempt(work) {
      seen.push(work.id)
      const ended = await work.attempt()
      if (ended === 'ended') {
        work.sinceMs = null
        work.failures = null
      }
      return ended
    },
    async fail(work, error, failures) {
      if (!canStore()) throw new Error('the disk is full')
      seen.push(`${work.id}: ${error}, ${failures.failures} until ${failures.atMs - clock.now()}`)
      work.failures = failures
    },
  }
  const runs = new DurableRuns({
    kinds: [kind],
    clock,
    catchUp: () => undefined,
    onFailure: () => undefined,
    onLookFailure: (failure) => void seen.push(`look: ${String(failure)}`),
    ...others,
  })
  return { runs, clock, seen }
}

const work = (id: string, sinceMs: number | null, attempt: TestWork['attempt'] = () => 'ended'): TestWork => ({
  id,
  sinceMs,
  failures: null,
  attempt,
})
const fail = (): never => {
  throw new Error('no')
}

it('the longest waiting run is first, and one that is paused ends the look', async () => {
  const works = [work('late', 9), work('paused', 5, () => 'paused'), work('early', 1), work('not due', null)]
  const { runs, seen } = machine(works)
  await runs.runDue()
  expect(seen).toEqual(['early', 'paused'])
  await runs.runDue('late')
  expect(seen).toEqual(['early', 'paused', 'late'])
})

it('a run that fails waits twice as long each time, at most an hour, and keeps no other one', async () => {
  const one = work('one', 1, fail)
  const { runs, clock, seen } = machine([one, work('other', 2)])
  await runs.runDue()
  expect(seen.splice(0)).toEqual(['one', 'one: no, 1 until 10000', 'other'])
  const delays: number[] = []
  for (let i = 0; i < 11; i++) {
    const delayMs = one.failures!.atMs - clock.now()
    delays.push(delayMs / 1000)
    clock.advance(delayMs - 1)
    await runs.runDue()
    expect(seen.splice(0)).toEqual([])
    clock.advance(1)
    await runs.runDue()
    expect(seen.splice(0)).toHaveLength(2)
  }
  expect(delays).toEqual([10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600])
  // A clock that is set back by a day does not stop it for a day.
  clock.advance(-86_400_000)
  await runs.runDue()
  expect(seen[0]).toBe('one')
})

it('a failure that cannot be stored counts in this process', async () => {
  let isFull = true
  const one = work('one', 1, fail)
  const { runs, clock, seen } = machine([one], { canStore: () => !isFull })
  await runs.runDue()
  await runs.runDue()
  expect([seen.splice(0), runs.hasUnstored, one.failures]).toEqual([['one'], true, null])
  isFull = false
  clock.advance(10_000)
  await runs.runDue()
  expect([seen, runs.hasUnstored]).toEqual([['one', 'one: no, 2 until 20000'], false])
})

it('another instance that leads executes the runs, except those that were requested here', async () => {
  let isLeading = false
  const { runs, seen } = machine([work('one', 1), work('two', 2)], { isLeading: () => isLeading })
  runs.look()
  await runs.runDue()
  expect(seen).toEqual([])
  await runs.runDue('two')
  expect(seen).toEqual(['two'])
  isLeading = true
  await runs.runDue()
  expect(seen).toEqual(['two', 'one'])
})

it('a stop waits for the run in progress and begins no other', async () => {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<AttemptEnd>()
  const first = work('first', 1, () => {
    begun.resolve()
    return end.promise
  })
  const { runs, seen } = machine([first, work('second', 2)])
  const working = runs.runDue()
  await begun.promise
  const closed = runs.close()
  end.resolve('ended')
  await Promise.all([closed, working])
  await runs.runDue()
  expect(seen).toEqual(['first'])
})
