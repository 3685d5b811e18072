import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { CommitWaiter } from '../../../src/store/process/commit-waiter.ts'
import { LeaderElection } from '../../../src/store/process/leader-election.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const children: Bun.Subprocess[] = []

afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await Promise.all(children.splice(0).map(({ exited }) => exited))
})

function candidate(folder: string) {
  const child = Bun.spawn([process.execPath, join(import.meta.dirname, 'candidate-process.ts'), folder], {
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  let said = ''
  void (async () => {
    for await (const bytes of child.stdout) said += new TextDecoder().decode(bytes)
  })()
  return {
    said: () => said,
    async says(text: string) {
      while (!said.includes(text) && !child.killed) await Bun.sleep(5)
    },
    async kill() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

it('one process has a task, and when it is killed another takes it over', async () => {
  const folder = temporaryFolder()
  const first = candidate(folder)
  await first.says('stands')
  expect(first.said()).toBe('elected\nstands\n')
  const others = [candidate(folder), candidate(folder)]
  for (const other of others) await other.says('stands')
  let left = [first, ...others]
  let holder = first
  for (let round = 0; round < 2; round++) {
    await holder.kill()
    left = left.filter((one) => one !== holder)
    await Promise.race(left.map((one) => one.says('elected')))
    const elected = left.filter((one) => one.said().includes('elected'))
    expect(elected).toHaveLength(1)
    holder = elected[0] as typeof first
  }
})

it('a free task is won at once, each task separately, and released when the process is done', () => {
  const folder = temporaryFolder()
  const done: string[] = []
  const one = new LeaderElection(folder, new CommitWaiter(folder))
  one.campaign('provisioning', () => done.push('one provisions'))
  const other = new LeaderElection(folder, new CommitWaiter(folder))
  other.campaign('provisioning', () => done.push('never'))
  other.campaign('sweeping', () => done.push('other sweeps'))
  expect(done).toEqual(['one provisions', 'other sweeps'])
  other.close()
  one.close()
  const third = new LeaderElection(folder, new CommitWaiter(folder))
  third.campaign('provisioning', () => done.push('third provisions'))
  expect(done.at(-1)).toBe('third provisions')
  third.close()
})
