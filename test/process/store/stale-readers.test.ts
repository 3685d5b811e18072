import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const BATCHES = 60
const NODES = 50

it('a file does not grow without limit because a process was killed while it read', async () => {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, { clock: systemClock, sync: false })
  const size = (): number => statSync(join(folder, 'data.mdb')).size
  let round = 0
  /** The same nodes repeatedly, so that every new page replaces an old one. */
  const grown = async (): Promise<number> => {
    const before = size()
    for (let batch = 0; batch < BATCHES; batch++) {
      round += 1
      const value = `${round} `.repeat(200)
      await environment.write((changes) => {
        for (let node = 0; node < NODES; node++) {
          changes.upsertNode({ type: 'Page', externalId: `${node}`, properties: [{ name: 'text', value }] })
        }
      })
    }
    return size() - before
  }
  await grown()
  const settled = await grown()
  const reader = Bun.spawn([process.execPath, join(import.meta.dirname, 'reading-process.ts'), folder], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  await reader.stdout.getReader().read()
  const whileReading = await grown()
  reader.kill('SIGKILL')
  await reader.exited
  environment.clearStaleReaders()
  await grown()
  const after = await grown()
  await environment.close()
  // No page could be reused while the reader was open; the file would keep growing.
  expect(whileReading).toBeGreaterThan(1_000_000)
  expect(Math.max(settled, after)).toBeLessThan(whileReading / 10)
})
