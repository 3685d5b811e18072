// kill -9 while a sorted load builds its edge lists: the graph is not opened before it is complete, the next run continues, and the lists are
// those of a load that was not killed.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { readRelationship } from '../../../src/store/format/records.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../src/store/integrity/check-graph.ts'
import { verifyFolder } from '../../../src/store/integrity/verify-folder.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Runs the load, and kills it after so many ticks of the building of lists. Returns true if it has ended by itself. */
async function run(folder: string, ticks: number): Promise<boolean> {
  const script = join(import.meta.dirname, 'sorting-process.ts')
  // It goes no further before it is killed, also if this process is slow.
  const child = Bun.spawn([process.execPath, script, folder, String(ticks + 1)], { stdout: 'pipe', stderr: 'inherit' })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let printed = ''
  while (printed.split('.\n').length <= ticks + 1) {
    const { value, done } = await reader.read()
    if (done) break
    printed += value
  }
  child.kill('SIGKILL')
  const exitCode = await child.exited
  if (exitCode !== 0) expect(child.signalCode).toBe('SIGKILL')
  return exitCode === 0
}

/** All relationships in the order of their ids, as readers see them. */
function contentOf(folder: string): unknown {
  const environment = openEnvironment(folder, { clock: systemClock })
  try {
    expect(checkGraph(environment)).toEqual([])
    return environment.inspect(({ relationships }, transaction) =>
      [...relationships.entries({ start: 1, end: undefined, ...transaction })].map(({ key, valueView }) => [
        key,
        readRelationship(valueView),
      ]),
    )
  } finally {
    void environment.close()
  }
}

test('continues and gives the same lists, however often it is killed', { timeout: 300_000 }, async () => {
  const random = new Random(testSeed())
  const whole = join(temporaryFolder(), 'graph')
  expect(await run(whole, Number.POSITIVE_INFINITY)).toBe(true)
  const expected = contentOf(whole)
  const folder = join(temporaryFolder(), 'graph')
  let kills = 0
  for (let isComplete = false; !isComplete; ) {
    // At first at the start of the merge, later at any time of it.
    isComplete = await run(folder, kills < 3 ? kills : random.between(1, 10 * kills))
    if (isComplete) break
    kills += 1
    const findings = await verifyFolder(folder, () => {})
    // A kill after the last transaction leaves a complete graph, and perhaps files.
    if (findings.length === 0) continue
    expect(findings).toEqual([expect.stringContaining('an import was interrupted')])
    expect(() => openEnvironment(folder, { clock: systemClock })).toThrow(/is not complete.*verdigraph import --resume/)
  }
  expect(kills).toBeGreaterThan(2)
  expect(await verifyFolder(folder, () => {})).toEqual([])
  expect(existsSync(join(folder, 'sorting'))).toBe(false)
  expect(contentOf(folder)).toEqual(expected)
})
