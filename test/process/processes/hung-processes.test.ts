// A background process, a matcher or a shipper that hangs is replaced, and until then `/ready` names it. The process is
// stopped by SIGSTOP; its replacement is held back until `/ready`, the metrics and `doctor` have been read.
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { TASK_LOCKS_FOLDER } from '../../../src/kernel/folder/data-folder.ts'
import type { ChildKind } from '../../../src/processes/child-kinds.ts'
import { type FileLock, lockFile } from '../../../src/store/process/file-lock.ts'
import { childrenOf } from '../../support/child-processes.ts'
import { runCommand } from '../../support/cli-process.ts'
import { type MatchingService, startMatchingService } from '../../support/matching-service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const holds = temporaryFolder()
const holdOf = (kind: ChildKind): string => join(holds, kind)

/** The command line of a process that waits before it starts while a file exists. */
function heldCommand(kind: ChildKind): readonly string[] {
  const script = 'hold=$1; shift; while [ -e "$hold" ]; do sleep 0.1; done; exec "$@"'
  return ['sh', '-c', script, 'sh', holdOf(kind), ...childCommand(kind)]
}

async function until<T>(look: () => T | Promise<T>, isReached: (seen: T) => boolean): Promise<T> {
  for (;;) {
    const seen = await look()
    if (isReached(seen)) return seen
    await Bun.sleep(20)
  }
}

let matching: MatchingService
/** As long as it is held, the matcher waits for its turn. */
let turn: FileLock | null = null

beforeAll(async () => {
  const shipTo = join(temporaryFolder(), 'place')
  matching = await startMatchingService(
    { shipTo, audit: 'on', metricsAccess: 'public' },
    {
      clock: { now: () => Date.now() },
      backgroundCommand: heldCommand('background'),
      shippingCommand: heldCommand('shipper'),
      supervision: { pingMs: 500, matcherCommand: heldCommand('matcher') },
    },
  )
})
afterAll(() => matching.service.stop())

/** The process of a kind, below this process or its background process; undefined: it does not run yet. */
function processOf(kind: ChildKind): number | undefined {
  const running = (parent: number): readonly { pid: number; words: readonly string[] }[] =>
    childrenOf(parent).filter(({ words }) => words.includes(kind) && !words.includes('sh'))
  const background = childrenOf(process.pid).filter(({ words }) => words.includes('background'))
  const parents = kind === 'matcher' ? background.map(({ pid }) => pid) : [process.pid]
  return parents.flatMap(running)[0]?.pid
}

const ready = async (): Promise<{ status: number; degraded: readonly string[] }> => {
  const { status, body } = await matching.service.send('/ready')
  return { status, degraded: (body.degraded ?? []) as readonly string[] }
}

async function metric(line: string): Promise<number> {
  const { text } = await matching.service.send('/metrics')
  const found = text.split('\n').find((one) => one.startsWith(`${line} `))
  return Number(found?.slice(line.length))
}

async function doctor(): Promise<readonly { check: string; status: string; found: string }[]> {
  const { stdout } = await runCommand(['doctor', '--data', matching.service.dataDir, '--json'], {
    VERDIGRAPH_PORT: '0',
  })
  return JSON.parse(stdout).findings.filter(({ check }: { check: string }) => check === 'processes')
}

describe.each(['shipper', 'matcher', 'background'] as const)('a %s that hangs', (kind) => {
  it('is replaced; /ready, the metrics and doctor show it', async () => {
    if (kind === 'matcher') {
      turn = lockFile(join(matching.service.dataDir, TASK_LOCKS_FOLDER, 'entity-matching.lock'), 'exclusive')
      expect(turn).not.toBeNull()
      await matching.addPipeline('customers')
    }
    const first = (await until(
      () => processOf(kind),
      (pid) => pid !== undefined,
    )) as number
    writeFileSync(holdOf(kind), '')
    process.kill(first, 'SIGSTOP')

    const { status } = await until(ready, ({ degraded }) => degraded.includes(kind))
    expect(status).toBe(200)
    expect(await metric(`verdigraph_process_exits_total{process="${kind}",cause="hung"}`)).toBeGreaterThan(0)
    expect(await metric(`verdigraph_process_replacing{process="${kind}"}`)).toBe(1)
    expect(await doctor()).toContainEqual(
      expect.objectContaining({
        status: 'warning',
        found: expect.stringMatching(/ hung at .*, and its replacement does not work yet$/),
      }),
    )
    expect(existsSync(`/proc/${first}`)).toBe(false)

    rmSync(holdOf(kind))
    await until(ready, ({ degraded }) => !degraded.includes(kind))
    expect(await metric(`verdigraph_process_replacing{process="${kind}"}`)).toBe(0)
    expect(processOf(kind)).not.toBe(first)
    expect(await doctor()).toContainEqual(
      expect.objectContaining({ status: 'warning', found: expect.stringMatching(/ hung at .*, and was replaced$/) }),
    )
    turn?.release()
    turn = null
  })
})

it('the OOM killer chooses a background process before the process that listens', async () => {
  const score = async (pid: number | string): Promise<number> =>
    Number(await Bun.file(`/proc/${pid}/oom_score_adj`).text())
  const background = await until(
    () => processOf('background'),
    (pid) => pid !== undefined,
  )
  const shipper = processOf('shipper') as number
  expect(await score('self')).toBeLessThan(await score(background as number))
  expect(await score(background as number)).toBeLessThan(await score(shipper))
})
