// A store beyond the limits of the process is refused, and open stores keep working: without the check the lmdb package
// would crash the process.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { OperationalError } from '../../../src/kernel/errors.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../../src/store/graph/environment.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Three of them exceed the address space of a process. */
const mapBytes = 40 * 2 ** 40

test('a store beyond the address space is refused, until another one is closed', async () => {
  const folder = temporaryFolder()
  const open = (name: string) => openEnvironment(join(folder, name), { clock: systemClock, sync: false, mapBytes })
  const [first, second] = [open('first'), open('second')]
  expect(() => open('third')).toThrow(OperationalError)
  expect(() => open('third')).toThrow(
    `the store in ${join(folder, 'third')} cannot be opened: the address space of this process is full`,
  )
  await first.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
  await second.close()
  const third = open('third')
  const snapshot = first.snapshot()
  expect(snapshot.nodeCount(null)).toBe(1)
  snapshot.close()
  await first.close()
  await third.close()
})

test('a store beyond the file limit of the process is refused, and the others are read and written', async () => {
  const folder = temporaryFolder()
  const script = `
    import { openStore } from './src/store/graph/open-store.ts'
    const stores = []
    let fault = null
    while (fault === null) {
      try {
        stores.push(openStore('${folder}/' + stores.length, { sync: false }))
      } catch (failure) {
        fault = failure
      }
    }
    for (const store of stores) await store.write((batch) => batch.upsertNode({ type: 'A', externalId: 'a' }))
    const counts = stores.map((store) => store.snapshot().nodeCount(null))
    console.log(fault.name, fault.message.replace(/^.* cannot be opened: /, ''), counts.length > 5, new Set(counts).size)
    await stores.pop().close()
    await openStore('${folder}/again', { sync: false }).close()
  `
  const child = Bun.spawn(
    ['bash', '-c', 'ulimit -Sn 100; ulimit -Hn 100; exec "$0" --eval "$1"', process.execPath, script],
    {
      cwd: join(import.meta.dirname, '..', '..', '..'),
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'inherit',
    },
  )
  expect(await child.stdout.text()).toBe(
    'ResourceLimitError this process has reached its limit of open files (`ulimit -n`) true 1\n',
  )
  expect(await child.exited).toBe(0)
})
