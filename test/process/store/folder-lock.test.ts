import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { joinFolder, lockFolder } from '../../../src/store/process/folder-lock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** In a separate process, because the locks belong to processes. */
async function elsewhere(code: string): Promise<string> {
  const module = JSON.stringify(
    join(import.meta.dirname, '..', '..', '..', 'src', 'store', 'process', 'folder-lock.ts'),
  )
  const text = `import { joinFolder, lockFolder } from ${module}
    try { ${code}; console.log('done') } catch (fault) { console.log(fault.message) }`
  const child = Bun.spawn([process.execPath, '-e', text], { stdout: 'pipe', stderr: 'inherit' })
  return (await child.stdout.text()).trim()
}

describe('a worker', () => {
  it('joins the folder of the process that started it, and no other', async () => {
    const folder = temporaryFolder()
    const refused = `the folder ${folder} is not served by the process that started this worker`
    const held = lockFolder(folder)
    const join = (proof: string) => elsewhere(`joinFolder(${JSON.stringify(folder)}, ${JSON.stringify(proof)})`)
    expect(await join(held.workerToken)).toBe('done')
    expect(await join('of another start')).toBe(refused)
    held.release()
    expect(await join(held.workerToken)).toBe(refused)
    const next = lockFolder(folder)
    expect(await join(held.workerToken)).toBe(refused)
    next.release()
  })

  it('keeps the folder locked while it runs, even if its parent is gone', async () => {
    const folder = temporaryFolder()
    const held = lockFolder(folder)
    const worker = joinFolderBeside(folder, held.workerToken)
    await worker.joined
    held.release()
    const taken = elsewhere(`lockFolder(${JSON.stringify(folder)})`)
    expect(await Promise.race([taken, Bun.sleep(300).then(() => 'waits')])).toBe('waits')
    await worker.end()
    expect(await taken).toBe('done')
  })
})

function joinFolderBeside(folder: string, proof: string) {
  const module = JSON.stringify(
    join(import.meta.dirname, '..', '..', '..', 'src', 'store', 'process', 'folder-lock.ts'),
  )
  const text = `import { joinFolder } from ${module}
    const lock = joinFolder(${JSON.stringify(folder)}, ${JSON.stringify(proof)})
    console.log('joined')
    setInterval(() => lock, 1000)`
  const child = Bun.spawn([process.execPath, '-e', text], { stdout: 'pipe', stderr: 'inherit' })
  return {
    joined: child.stdout.getReader().read(),
    async end() {
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

it('a folder is locked once within one process too', () => {
  const folder = temporaryFolder()
  const held = lockFolder(folder)
  expect(() => lockFolder(folder)).toThrow(`the folder ${folder} is served by process ${process.pid}`)
  expect(() => joinFolder(folder, 'another')).toThrow('is not served by the process that started this worker')
  held.release()
})
