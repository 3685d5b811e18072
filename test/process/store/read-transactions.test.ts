// Snapshots of one event-loop turn that share a read transaction: each still sees every commit acknowledged before it.
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../src/store/graph/environment.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { commitsIn } from './other-process.ts'

const source = join(import.meta.dirname, '..', '..', '..', 'src')

/**
 * Commits one node and ends while this process blocks. With a separate counter this process does not notice the commit.
 */
function writtenByAnother(folder: string, externalId: string, commits = 'commits'): void {
  const script = `
    const { openEnvironment } = await import('${source}/store/graph/environment.ts')
    const { openSharedCounter } = await import('${source}/store/process/shared-counter.ts')
    const commits = openSharedCounter('${folder}/${commits}')
    const environment = openEnvironment('${folder}', { clock: { now: () => 0 }, sync: false, commitCounter: commits })
    await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: '${externalId}', properties: [] }))
    await environment.close()`
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, '-e', script])
  if (exitCode !== 0) throw new Error(stderr.toString())
}

function holds(environment: LmdbEnvironment, externalId: string): boolean {
  const snapshot = environment.snapshot()
  const node = snapshot.findNode(snapshot.symbol('label', 'A'), externalId)
  snapshot.close()
  return node !== 0
}

async function opened(): Promise<{ folder: string; environment: LmdbEnvironment }> {
  const folder = temporaryFolder()
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, commitCounter: commitsIn(folder) })
  await environment.write((batch) => batch.upsertNode({ type: 'A', externalId: 'one', properties: [] }))
  return { folder, environment }
}

describe('a snapshot after another one of the same event-loop turn', () => {
  test('sees what another process has committed in between', async () => {
    const { folder, environment } = await opened()
    for (const name of ['two', 'three']) {
      expect([holds(environment, 'one'), holds(environment, name)]).toEqual([true, false])
      writtenByAnother(folder, name)
      expect([holds(environment, 'one'), holds(environment, name)]).toEqual([true, true])
    }
    await environment.close()
  })

  test('never goes back, whichever of two open ones is closed first', async () => {
    const { folder, environment } = await opened()
    holds(environment, 'one')
    for (const [name, oldFirst] of [
      ['two', true],
      ['three', false],
    ] as const) {
      const old = environment.snapshot()
      // As directly after a commit that is not acknowledged yet.
      writtenByAnother(folder, name, 'others')
      const now = environment.snapshot()
      const label = now.symbol('label', 'A')
      expect([old.findNode(label, name), now.findNode(label, name)]).toEqual([0, expect.any(Number)])
      for (const one of oldFirst ? [old, now] : [now, old]) one.close()
      expect(holds(environment, name)).toBe(true)
    }
    await environment.close()
  })

  test('of a closed environment is refused', async () => {
    const { environment } = await opened()
    holds(environment, 'one')
    const closed = environment.close()
    expect(() => environment.snapshot()).toThrow(/the store is closed/)
    await closed
  })
})
