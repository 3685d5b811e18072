// Scenario runs take long: those of all callers together leave half of the lanes to other requests.
import { describe, expect, it } from 'vitest'
import { chooseLane, type Lane, type QueuedRequest } from '../../../src/lanes/lane.ts'

function request(project: string, isTest: boolean): QueuedRequest {
  const job = { project, agent: 'a', isTest, isWaiting: false, isSharedWrite: false }
  return { job, project, agent: 'a', attempts: 0, isTimedOut: false, timer: null } as unknown as QueuedRequest
}

/** Gives each request a lane while there is one, and returns how many got one. */
function assign(lanes: readonly Lane[], requests: readonly QueuedRequest[]): number {
  return requests.filter((one) => {
    const lane = chooseLane(lanes, one, lanes.length)
    lane?.running.add({ queued: one } as never)
    return lane !== null
  }).length
}

const makeLanes = (count: number): Lane[] =>
  Array.from({ length: count }, () => ({ state: 'ready', running: new Set() }) as unknown as Lane)

describe.each([
  [1, 1],
  [2, 1],
  [4, 2],
  [5, 2],
])('%i lanes', (count, testsMax) => {
  it(`run ${testsMax} scenario runs of six projects at a time, and other requests in the rest`, () => {
    const lanes = makeLanes(count)
    const runs = Array.from({ length: 6 }, (_, at) => request(`project-${at}`, true))
    expect(assign(lanes, runs)).toBe(testsMax)
    const others = Array.from({ length: 6 }, (_, at) => request(`other-${at}`, false))
    expect(assign(lanes, others)).toBe(count - testsMax)
  })
})
