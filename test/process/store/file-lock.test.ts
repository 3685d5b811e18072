// Both implementations of file locks keep the same contract. The SQLite one is the fallback for systems without flock.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type FileLock, type LockMode, lockFile } from '../../../src/store/process/file-lock.ts'
import { lockWithSqlite } from '../../../src/store/process/sqlite-lock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type Lock = (path: string, mode: LockMode) => FileLock | null

describe.each<[string, Lock]>([
  ['flock', lockFile],
  ['SQLite', lockWithSqlite],
])('file locks with %s', (_, lock) => {
  const newPath = () => join(temporaryFolder(), 'task.lock')

  it('creates a private file', () => {
    const path = newPath()
    lock(path, 'exclusive')!.release()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })

  it.each<[LockMode, LockMode, boolean]>([
    ['exclusive', 'exclusive', false],
    ['exclusive', 'shared', false],
    ['shared', 'exclusive', false],
    ['shared', 'shared', true],
  ])('after a lock in mode %s, one in mode %s is granted: %s', (held, requested, isGranted) => {
    const path = newPath()
    const first = lock(path, held)!
    const second = lock(path, requested)
    expect(second !== null).toBe(isGranted)
    second?.release()
    first.release()
    const third = lock(path, 'exclusive')
    expect(third).not.toBeNull()
    third?.release()
    // A second release must not release another lock, whose file may have the same descriptor.
    const fourth = lock(path, 'exclusive')
    third?.release()
    expect(lock(path, 'shared')).toBeNull()
    fourth?.release()
  })

  it('throws if the file cannot be opened', () => {
    expect(() => lock(temporaryFolder(), 'exclusive')).toThrow('EISDIR')
  })

  // Another process holds the lock, and the system releases it when that process is killed.
  it('is released when its process is killed', async () => {
    const path = newPath()
    const folder = join(import.meta.dirname, '..', '..', '..', 'src', 'store', 'process')
    const [file, name] = lock === lockFile ? ['file-lock.ts', 'lockFile'] : ['sqlite-lock.ts', 'lockWithSqlite']
    const script = `
      import { ${name} } from ${JSON.stringify(join(folder, file))}
      const lock = ${name}(${JSON.stringify(path)}, 'exclusive')
      console.log(lock === null ? 'refused' : 'locked')
      setInterval(() => lock, 1000)`
    const child = Bun.spawn([process.execPath, '-e', script], { stdout: 'pipe', stderr: 'inherit' })
    const { value } = await child.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toBe('locked\n')
    expect(lock(path, 'shared')).toBeNull()
    child.kill('SIGKILL')
    await child.exited
    const next = lock(path, 'exclusive')
    expect(next).not.toBeNull()
    next?.release()
  })
})
