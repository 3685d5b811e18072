// One child process and its parent: a stop while the child starts, the ends that are no failures, and how long a busy one may be silent.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import type { LogEntry } from '../../../src/ops/log.ts'
import { ChildProcess } from '../../../src/processes/child-process.ts'
import { openChildFigures } from '../../../src/processes/process-figures.ts'
import { Supervised } from '../../../src/processes/supervised.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'
import type { SmallTask } from './small-child.ts'

afterAll(removeTemporaryFolders)

const command = [process.execPath, join(import.meta.dirname, 'small-child.ts')]

it('a child that is stopped while it starts ends what it opens', async () => {
  const folder = temporaryFolder()
  const [begun, go, stopped] = ['begun', 'go', 'stopped'].map((name) => join(folder, name)) as [string, string, string]
  const child = new ChildProcess<SmallTask>({ kind: 'matcher', command, task: { opening: { begun, go }, stopped } })
  await expect.poll(() => existsSync(begun)).toBe(true)
  const ended = child.stop(60_000)
  writeFileSync(go, '')
  expect(await ended).toMatchObject({ cause: 'stopped', code: 0 })
  expect(readFileSync(stopped, 'utf8')).toBe('asked')
})

it('a child whose parent is another process has exit code 5', async () => {
  const child = Bun.spawn([...command, '1'], { stdin: 'ignore', ipc: () => undefined })
  await child.exited
  expect(child.exitCode).toBe(5)
})

it('a process that ends with work for later has not failed, and is started again', async () => {
  const figures = openChildFigures(temporaryFolder())
  const lines: LogEntry[] = []
  let starts = 0
  let unexpected = 0
  const replaced: string[] = []
  const supervised = new Supervised<SmallTask>({
    kind: 'matcher',
    command,
    task: { isUnfinished: true },
    endsWhenDone: true,
    restart: { minMs: 10 },
    figures,
    log: (line) => void lines.push(line),
    isWanted() {
      starts += 1
      replaced.push(...figures.replaced())
      return starts < 3
    },
    onUnexpectedExit() {
      unexpected += 1
    },
  })
  supervised.adjust()
  await expect.poll(() => starts).toBeGreaterThanOrEqual(3)
  await supervised.close()
  expect({ lines, unexpected, replaced }).toEqual({ lines: [], unexpected: 0, replaced: [] })
  expect(figures.exits().filter(({ count }) => count > 0)).toEqual([])
})

it('a child that exceeds its memory learns why it stops, and has exit code 3', async () => {
  const stopped = join(temporaryFolder(), 'stopped')
  const limited = ['env', 'SMALL_CHILD_MEMORY_MAX=1', ...command]
  const child = new ChildProcess<SmallTask>({ kind: 'matcher', command: limited, task: { stopped } })
  expect(await child.exited).toMatchObject({ cause: 'failed', how: 'exit code 3: it used too much memory' })
  expect(readFileSync(stopped, 'utf8')).toBe('out of memory')
})

it('a process whose event loop is busy lives as long as it reports its work', async () => {
  const child = new ChildProcess<SmallTask>({ kind: 'matcher', command, task: { busyMs: 12_000 } })
  // Without a report it would be killed after six seconds.
  child.watch(1000, 500)
  expect(await child.exited).toMatchObject({ cause: 'done', code: 0 })
})
