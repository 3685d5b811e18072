import { expect, test } from 'vitest'
import { isOneOf, PAGE_READS_MAX, PAGES, superNodeWork, WHOLE } from '../../stress/super-nodes.ts'

test('writing to, checking and reading a node costs the same with 20,000 relationships as with 2,000', async () => {
  const few = await superNodeWork(2000)
  const many = await superNodeWork(20_000)
  expect([few.findings, many.findings]).toEqual([[], []])
  for (const [name, { answer, reads, bytesRead, writes, bytesWritten }] of Object.entries(many.work)) {
    if (isOneOf(WHOLE, name) || isOneOf(PAGES, name)) continue
    expect({ name, answer, reads, bytesRead, writes, bytesWritten }).toEqual({ name, ...countsOf(few.work[name]) })
    expect(reads, name).toBeLessThan(25)
  }
  expect(many.work['check a member through it']!.answer).toBe(true)
  expect(many.work['check a stranger through it']!.answer).toBe(false)
  expect(many.work['the first ten rows']!.answer).toBe(10)
  for (const name of PAGES) {
    expect([name, many.work[name]!.answer]).toEqual([name, 100])
    expect(many.work[name]!.reads, name).toBeLessThan(PAGE_READS_MAX)
  }
  expect(WHOLE.map((name) => many.work[name]!.answer)).toEqual([20_002, 20_002, 20_002])
})

function countsOf(work: object | undefined): object {
  const { ms: _, ...counts } = { ms: 0, ...work }
  return counts
}
