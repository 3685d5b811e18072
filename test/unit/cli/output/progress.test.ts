import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type ProgressStream, progressLine } from '../../../../src/cli/output/progress.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function stream(terminal: { columns?: number } | null): { written: string[]; stream: ProgressStream } {
  const written: string[] = []
  const write = (text: string) => written.push(text)
  return { written, stream: terminal === null ? { write } : { isTTY: true, write, ...terminal } }
}

it('writes one line every five seconds where the stream is not a terminal, also while nothing is reported', () => {
  const { written, stream: pipe } = stream(null)
  const progress = progressLine('opening', pipe)
  vi.advanceTimersByTime(4999)
  expect(written).toEqual([])
  vi.advanceTimersByTime(1)
  progress.show(1, 4, 'first')
  vi.advanceTimersByTime(5000)
  progress.show(2, 4, 'second')
  progress.show(3, 4, 'second')
  vi.advanceTimersByTime(10_000)
  progress.end()
  vi.advanceTimersByTime(10_000)
  expect(written).toEqual(['opening\n', ' 25 %  first\n', ' 75 %  second\n', ' 75 %  second\n'])
})

it('writes lines for work that does not return to the event loop', () => {
  const { written, stream: pipe } = stream(null)
  const progress = progressLine('opening', pipe)
  const start = performance.now()
  const spy = vi.spyOn(performance, 'now')
  for (let second = 0; second <= 12; second++) {
    spy.mockReturnValue(start + second * 1000)
    progress.show(second, null, `second ${second}`)
  }
  spy.mockRestore()
  progress.end()
  expect(written).toEqual(['second 5\n', 'second 10\n'])
})

it.each([
  [0, 79],
  [undefined, 79],
  [40, 39],
  [200, 122],
])('rewrites one line on a terminal of width %s, and removes it', (columns, expected) => {
  const { written, stream: terminal } = stream(columns === undefined ? {} : { columns })
  const progress = progressLine('opening', terminal)
  progress.show(1, 2, 'x'.repeat(90))
  vi.advanceTimersByTime(100)
  progress.show(2, 2, 'y')
  vi.advanceTimersByTime(100)
  progress.clear()
  progress.clear()
  progress.end()
  const [start, first = '', second = '', cleared, ...rest] = written
  expect(start).toBe('\r\x1b[2Kopening')
  expect(first.slice(0, 5)).toBe('\r\x1b[2K')
  expect(first.slice(5)).toHaveLength(expected)
  expect(first.slice(5)).toMatch(/^█{12}░{12} {2}50 % {2}x*$/)
  expect(second).toContain('100 %  y')
  expect([cleared, rest]).toEqual(['\r\x1b[2K', []])
})
