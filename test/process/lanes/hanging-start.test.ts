// A lane that hangs while it starts is killed and replaced, and the requests that wait for it are answered.
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { startService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** The first process hangs, every later one is a lane. */
function hangingOnce(): readonly string[] {
  const mark = join(temporaryFolder(), 'hung')
  const script = 'mark=$1; shift; if [ -e "$mark" ]; then exec "$@"; fi; : > "$mark"; exec sleep 600'
  return ['sh', '-c', script, 'sh', mark, ...childCommand('lane')]
}

it('a lane that hangs while it starts is replaced, and the request that waits for it is answered', async () => {
  const log: LogEntry[] = []
  const service = await startService(
    { lanes: 1, laneWaitMs: 120_000 },
    // A slow machine needs several attempts, each of which gets twice the time.
    { laneCommand: hangingOnce(), laneStartMaxMs: 1000, log: (entry) => void log.push(entry) },
  )
  try {
    const { status } = await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'c1' }] })
    expect(status).toBe(200)
    const [exit] = log.filter(({ message }) => message === 'a lane exited')
    expect(exit).toMatchObject({ how: 'signal SIGKILL', reason: 'it did not start within 1000 ms' })
  } finally {
    await service.stop()
  }
})
