import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DATA_FILE } from '../../../../src/kernel/folder/data-folder.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { checkGraph } from '../../../../src/store/integrity/check-graph.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

test('a graph grows beyond its initial address space, while it is read and by one batch too', async () => {
  const folder = temporaryFolder()
  const mapBytes = 2 ** 20
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, mapBytes })
  const reader = openEnvironment(folder, { clock: systemClock, sync: false, mapBytes, readOnly: true })
  const count = (of = environment): number => {
    const snapshot = of.snapshot()
    const found = snapshot.nodeCount(null)
    snapshot.close()
    return found
  }
  const text = 'x'.repeat(2000)
  const write = (from: number, items: number) =>
    environment.write((batch) => {
      for (let number = from; number < from + items; number++) {
        batch.upsertNode({ type: 'A', externalId: `${number}`, properties: [{ name: 'text', value: text }] })
      }
    })
  for (let from = 0; from < 1500; from += 100) {
    await write(from, 100)
    expect([count(), count(reader)]).toEqual([from + 100, from + 100])
  }
  const before = statSync(join(folder, DATA_FILE)).size
  expect(before).toBeGreaterThan(2 * mapBytes)
  await write(1500, 3000)
  expect([count(), count(reader)]).toEqual([4500, 4500])
  expect(statSync(join(folder, DATA_FILE)).size).toBeGreaterThan(before + 4 * mapBytes)
  expect([checkGraph(environment), checkGraph(reader)]).toEqual([[], []])
  await reader.close()
  await environment.close()
  const again = openEnvironment(folder, { clock: systemClock, sync: false, mapBytes })
  expect(count(again)).toBe(4500)
  await again.write((batch) => batch.upsertNode({ type: 'A', externalId: 'last' }))
  expect([count(again), checkGraph(again)]).toEqual([4501, []])
  await again.close()
})
