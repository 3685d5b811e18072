// The attempts of one piece of work share the times of its executions.
import { expect, test } from 'vitest'
import { Budget } from '../../../../src/engine/budget.ts'
import { ExecutionTimes } from '../../../../src/kernel/request/execution-times.ts'
import { currentRemoteReads, nextExecutionMs, withRemoteReads } from '../../../../src/kernel/request/remote-reads.ts'

const LONG_MS = 600_000
const limits = (timeMs: number) => ({ stepsMax: 1_000, timeMs })

function begin(times: ExecutionTimes, budget: Budget, timeMs: number): void {
  budget.start(limits(timeMs))
  budget.includeFetches((ms) => times.begin(ms))
}

test('an execution keeps its deadline in later attempts, and one before it is only repeated', () => {
  const times = new ExecutionTimes()
  const first = times.begin(LONG_MS)
  const second = times.begin(LONG_MS)
  expect([first.state, second.state]).toEqual(['done', 'open'])
  times.restart()
  expect(times.current).toBeNull()
  expect(times.nextStartMs).toBe(first.startedMs)
  expect(times.begin(1)).toBe(first)
  expect(times.begin(1)).toBe(second)
  expect(times.nextStartMs).toBeNull()
})

test('what has ended at its limit ends at once in later attempts, and what has ended before does not', async () => {
  const times = new ExecutionTimes()
  const budget = new Budget()
  begin(times, budget, LONG_MS)
  const isLate = /the time limit of 1 ms is reached/
  try {
    begin(times, budget, 1)
  } catch (error) {
    // On a slow machine its time has passed when it begins.
    expect(String(error)).toMatch(isLate)
  }
  await expect.poll(() => performance.now() > times.current!.deadlineMs).toBe(true)
  times.restart()
  begin(times, budget, LONG_MS)
  expect(() => begin(times, budget, 1)).toThrow(isLate)
  begin(times, budget, LONG_MS)
  times.restart()
  begin(times, budget, LONG_MS)
  expect(() => begin(times, budget, 1)).toThrow(isLate)
})

test('an attempt sees when its next execution first began', async () => {
  const seen: number[] = []
  const result = await withRemoteReads(() => {
    const { reads, executions } = currentRemoteReads()
    seen.push(nextExecutionMs())
    const { startedMs } = executions.begin(LONG_MS)
    if (seen.length < 3) return reads.require(() => Promise.resolve())
    return startedMs
  })
  expect(seen.slice(1)).toEqual([result, result])
})
