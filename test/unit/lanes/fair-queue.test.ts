// The queue of the lanes: the order of service.
import { describe, expect, it } from 'vitest'
import { FairQueue } from '../../../src/lanes/fair-queue.ts'

interface QueuedJob {
  readonly project: string
  readonly agent: string
  readonly costMs: number
}

const always = (): boolean => true

function job(project: string, costMs: number, agent = 'agent'): QueuedJob {
  return { project, agent, costMs }
}

/** The projects in the order in which one lane would serve them. */
function served(queue: FairQueue<QueuedJob>, count: number): QueuedJob[] {
  const order: QueuedJob[] = []
  for (let i = 0; i < count; i++) {
    const next = queue.dequeue(always)
    if (next === null) break
    queue.charge(next, next.costMs)
    order.push(next)
  }
  return order
}

describe('the fair queue', () => {
  it('serves the requests of a project in order', () => {
    const queue = new FairQueue<QueuedJob>(10)
    const jobs = [job('a', 5), job('a', 1), job('a', 3)]
    for (const one of jobs) expect(queue.enqueue(one)).toBe(true)
    expect(served(queue, 9)).toEqual(jobs)
    expect(queue.size).toBe(0)
  })

  it('gives projects the same time, and not the same number of requests', () => {
    const queue = new FairQueue<QueuedJob>(1000)
    for (let i = 0; i < 100; i++) queue.enqueue(job('long', 100))
    for (let i = 0; i < 100; i++) queue.enqueue(job('short', 1))
    const order = served(queue, 60)
    const longMs = order.filter(({ project }) => project === 'long').length * 100
    const shortMs = order.filter(({ project }) => project === 'short').length
    // 100 short requests take as much as one long one: nearly all of the first 60 are short.
    expect(shortMs).toBeGreaterThan(50)
    expect(longMs).toBeLessThanOrEqual(200)
  })

  it('gives a project that was idle no more than its share when it returns', () => {
    const queue = new FairQueue<QueuedJob>(1000)
    for (let i = 0; i < 50; i++) queue.enqueue(job('busy', 10))
    served(queue, 30)
    for (let i = 0; i < 50; i++) queue.enqueue(job('new', 10))
    const order = served(queue, 20).map(({ project }) => project)
    expect(order.filter((project) => project === 'busy').length).toBeGreaterThanOrEqual(9)
    expect(order.filter((project) => project === 'new').length).toBeGreaterThanOrEqual(9)
  })

  it('shares the time of a project among its agents', () => {
    const queue = new FairQueue<QueuedJob>(1000)
    for (let i = 0; i < 50; i++) queue.enqueue(job('a', 100, 'greedy'))
    for (let i = 0; i < 5; i++) queue.enqueue(job('a', 1, 'modest'))
    const order = served(queue, 8).map(({ agent }) => agent)
    expect(order.filter((agent) => agent === 'modest')).toHaveLength(5)
  })

  it('refuses a request of a project whose queue is full, and accepts those of others', () => {
    const queue = new FairQueue<QueuedJob>(2)
    expect(queue.enqueue(job('a', 1))).toBe(true)
    expect(queue.enqueue(job('a', 1, 'other'))).toBe(true)
    expect(queue.enqueue(job('a', 1))).toBe(false)
    expect(queue.enqueue(job('b', 1))).toBe(true)
    expect(queue.size).toBe(3)
  })

  it('skips requests that are not admitted, and keeps them', () => {
    const queue = new FairQueue<QueuedJob>(10)
    queue.enqueue(job('a', 1))
    queue.enqueue(job('b', 1))
    expect(queue.dequeue(({ project }) => project === 'b')?.project).toBe('b')
    expect(queue.dequeue(({ project }) => project === 'b')).toBeNull()
    expect(queue.dequeue(always)?.project).toBe('a')
  })

  it('puts a request back at the front, also if the queue is full', () => {
    const queue = new FairQueue<QueuedJob>(2)
    const [first, second, third] = [job('a', 1), job('a', 2), job('a', 3)]
    queue.enqueue(first)
    queue.enqueue(second)
    expect(queue.dequeue(always)).toBe(first)
    queue.enqueue(third)
    queue.requeue(first)
    expect(served(queue, 9)).toEqual([first, second, third])
  })

  it('forgets a removed request, and returns whether it was queued', () => {
    const queue = new FairQueue<QueuedJob>(2)
    const [first, second] = [job('a', 1), job('a', 2)]
    queue.enqueue(first)
    queue.enqueue(second)
    expect(queue.remove(first)).toBe(true)
    expect(queue.remove(first)).toBe(false)
    expect(queue.enqueue(first)).toBe(true)
    expect(served(queue, 9)).toEqual([second, first])
  })
})
