import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { DeliveryLog, type DeliveryLogEntry } from '../../../../src/events/delivery/delivery-log.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('lines about events are logged once a minute for each message, with their number and the last details', () => {
  const lines: DeliveryLogEntry[] = []
  const log = new DeliveryLog((entry) => void lines.push(entry), { projectId: 'p', source: 'graph' }, 'main')
  const line = (message: string, events: number, more = {}): object => ({
    level: 'error',
    message,
    project: 'p',
    source: 'graph',
    provider: 'main',
    ...more,
    events,
  })
  const taken = (): DeliveryLogEntry[] => lines.splice(0)
  log.addEvents('refused', 1, { event: 'a' })
  log.addEvents('dropped', 7)
  expect(taken()).toEqual([line('refused', 1, { event: 'a' }), line('dropped', 7)])
  for (const event of ['b', 'c', 'd']) log.addEvents('refused', 2, { event })
  vi.advanceTimersByTime(59_000)
  expect(taken()).toEqual([])
  vi.advanceTimersByTime(1000)
  expect(taken()).toEqual([line('refused', 6, { event: 'd' })])
  // A line that was logged late begins a minute as well.
  log.addEvents('refused', 1, { event: 'e' })
  vi.advanceTimersByTime(59_000)
  expect(taken()).toEqual([])
  log.close()
  expect(taken()).toEqual([line('refused', 1, { event: 'e' })])
  vi.advanceTimersByTime(120_000)
  log.addEvents('refused', 1, { event: 'f' })
  log.add('info', 'delivered again')
  expect(taken()).toEqual([
    line('refused', 1, { event: 'f' }),
    { level: 'info', message: 'delivered again', project: 'p', source: 'graph', provider: 'main' },
  ])
  log.close()
})
