// The concurrency limit of resolver calls.
import { expect, test } from 'vitest'
import { ConcurrencyLimiter } from '../../../src/pip/concurrency-limiter.ts'

const LONG_MS = 60_000

test('runs as many tasks of a key as allowed, and the others in order', async () => {
  const limiter = new ConcurrencyLimiter(2)
  const started: number[] = []
  const ends = Array.from({ length: 4 }, () => Promise.withResolvers<number>())
  const runs = ends.map(({ promise }, i) =>
    limiter.run('project', LONG_MS, () => {
      started.push(i)
      return promise
    }),
  )
  expect(await limiter.run('other', LONG_MS, async () => 'at once')).toBe('at once')
  expect(started).toEqual([0, 1])
  ends[1]?.resolve(11)
  expect(await runs[1]).toBe(11)
  ends[0]?.resolve(10)
  ends[2]?.resolve(12)
  ends[3]?.resolve(13)
  expect(await Promise.all(runs)).toEqual([10, 11, 12, 13])
  expect(started).toEqual([0, 1, 2, 3])
})

test('never runs a task that waited longer than its timeout, and lets the next one run', async () => {
  const limiter = new ConcurrencyLimiter(1)
  const end = Promise.withResolvers<string>()
  const first = limiter.run('project', LONG_MS, () => end.promise)
  let ran = false
  const late = limiter.run('project', 1, async () => {
    ran = true
  })
  const next = limiter.run('project', LONG_MS, async () => 'next')
  expect(await late).toBeNull()
  end.resolve('first')
  expect([await first, await next, ran]).toEqual(['first', 'next', false])
})

test('frees the place of a task that fails', async () => {
  const limiter = new ConcurrencyLimiter(1)
  await expect(limiter.run('project', LONG_MS, () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await limiter.run('project', LONG_MS, async () => 'next')).toBe('next')
})
