// Opening an environment while other processes write to it at full speed: without protection LMDB would lose commits.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { LmdbFile } from '../../../src/store/lmdb/lmdb-file.ts'
import { openWhenUnwritten } from '../../../src/store/lmdb/open-file.ts'

const made: string[] = []
const children: Bun.Subprocess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** In memory if possible: the faster the commits, the more of them coincide with an opening. */
function fastFolder(): string {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'verdigraph-opening-'))
  made.push(folder)
  return folder
}

/** Writes one number after the other, or another role: see opening-process.ts. */
async function startProcess(folder: string, role: string) {
  const child = Bun.spawn([process.execPath, join(import.meta.dirname, 'opening-process.ts'), folder, role], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const line = async (): Promise<string> => {
    for (;;) {
      const end = rest.indexOf('\n')
      if (end >= 0) {
        const found = rest.slice(0, end)
        rest = rest.slice(end + 1)
        return found
      }
      const { value, done } = await lines.read()
      if (done) throw new Error(`the process (${role}) ended by itself`)
      rest += value
    }
  }
  expect(await line()).toBe('ready')
  return { child, line }
}

test('loses no commit of concurrent writers', async () => {
  const folder = fastFolder()
  const writers = [await startProcess(folder, 'write 0'), await startProcess(folder, 'write 1')]
  // Without the lock about one in a hundred openings did, and corrupted pages.
  for (let i = 0; i < 500; i++) {
    const file = new LmdbFile(folder, { readOnly: true })
    await Bun.sleep(0)
    await file.close()
  }
  for (const { child } of writers) child.stdin.write('stop\n')
  const counts = []
  for (const { line } of writers) {
    const { written, missed } = JSON.parse(await line())
    counts.push(written)
    // By the next write of the same process, which is acknowledged after the previous one.
    expect(missed).toEqual([])
  }
  const file = new LmdbFile(folder, { readOnly: true })
  for (const [at, written] of counts.entries()) {
    expect(written).toBeGreaterThan(0)
    const found = [...file.openNumbered(`numbers ${at}`).getKeys({ start: 0, end: undefined })]
    expect(found).toEqual(Array.from({ length: written }, (_, i) => i))
  }
  await file.close()
})

test('a file is valid although another process commits to it during the check', async () => {
  const folder = fastFolder()
  const writer = await startProcess(folder, 'write 0')
  for (let i = 0; i < 100; i++) {
    const file = await openWhenUnwritten(folder, () => new LmdbFile(folder, { readOnly: true }))
    await file.close()
  }
  writer.child.stdin.write('stop\n')
  expect(JSON.parse(await writer.line())).toMatchObject({ missed: [] })
})

test('a write waits for an opening, also for one that is killed', async () => {
  const folder = fastFolder()
  const file = new LmdbFile(folder, { sync: false })
  const numbers = file.openNumbered('numbers')
  const opener = await startProcess(folder, 'open and stay')
  let written = false
  const write = file.transaction(() => numbers.put(1, new Uint8Array([1]))).then(() => (written = true))
  await Bun.sleep(50)
  expect(written).toBe(false)
  expect([...numbers.getKeys({ start: 0, end: undefined })]).toEqual([])
  opener.child.kill('SIGKILL')
  await write
  expect([...numbers.getKeys({ start: 0, end: undefined })]).toEqual([1])
  await file.close()
})

test('waiting writes time out together, not one after the other, and the next one succeeds', async () => {
  const folder = fastFolder()
  const file = new LmdbFile(folder, { sync: false })
  const opener = await startProcess(folder, 'open and stay')
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const waiting = [0, 1, 2].map(() => file.transaction(() => {}))
    const refused = waiting.map((write) => expect(write).rejects.toThrow('timed out while another process was opening'))
    vi.setSystemTime(Date.now() + 60_000)
    await Promise.all(refused)
  } finally {
    vi.useRealTimers()
  }
  opener.child.kill('SIGKILL')
  await file.transaction(() => {})
  await file.close()
})

test('an opening waits for a write in progress', async () => {
  const folder = fastFolder()
  // It is ready with a write in progress, and commits it a moment later.
  await startProcess(folder, 'write slowly')
  const file = new LmdbFile(folder, { readOnly: true })
  expect([...file.openNumbered('numbers').getKeys({ start: 0, end: undefined })]).toEqual([7])
  await file.close()
})

test('an opening that must wait for long lets others write in between', async () => {
  const folder = fastFolder()
  const writer = await startProcess(folder, 'write 0')
  const holder = await startProcess(folder, 'write until told')
  vi.useFakeTimers({ toFake: ['Date'] })
  try {
    const opening = openWhenUnwritten(folder, () => new LmdbFile(folder, { readOnly: true }))
    await Bun.sleep(50)
    // Read once the write that waits for the opening is done.
    writer.child.stdin.write('stop\n')
    vi.setSystemTime(Date.now() + 6000)
    expect(JSON.parse(await writer.line())).toMatchObject({ missed: [] })
    holder.child.stdin.write('end\n')
    await (await opening).close()
  } finally {
    vi.useRealTimers()
  }
})

test('a command waits longer for writers than a server process', async () => {
  const folder = fastFolder()
  const holder = await startProcess(folder, 'write until told')
  const [command, serving] = [
    await startProcess(folder, 'open a minute later, patiently'),
    await startProcess(folder, 'open a minute later'),
  ]
  for (const { child } of [command, serving]) child.stdin.write('begin\n')
  expect(await serving.line()).toContain('is busy')
  holder.child.stdin.write('end\n')
  expect(await command.line()).toBe('opened')
})

test("processes that open one new folder concurrently keep each other's writes", async () => {
  const folder = fastFolder()
  const all = await Promise.all([0, 1, 2, 3].map((at) => startProcess(folder, `write ${at}`)))
  await Bun.sleep(20)
  for (const { child } of all) child.stdin.write('stop\n')
  for (const { line } of all) expect(JSON.parse(await line())).toMatchObject({ missed: [] })
})

test("processes that open each other's folders do not block each other", async () => {
  const folders = [fastFolder(), fastFolder()] as const
  const both = await Promise.all([
    startProcess(folders[0], `write and open ${folders[1]}`),
    startProcess(folders[1], `write and open ${folders[0]}`),
  ])
  for (const { child } of both) child.stdin.write('begin\n')
  // A process that blocks in the middle of a write finishes it too late for the other one, which times out.
  for (const { line } of both) expect(await line()).toBe('opened')
  for (const { child } of both) child.stdin.write('stop\n')
  for (const { child } of both) expect(await child.exited).toBe(0)
})

test('a write to a closed file is refused, also if it was waiting', async () => {
  const folder = fastFolder()
  const file = new LmdbFile(folder, { sync: false })
  const opener = await startProcess(folder, 'open and stay')
  const waiting = file.transaction(() => {})
  const refused = expect(waiting).rejects.toThrow('was closed')
  await file.close()
  await refused
  await expect(file.transaction(() => {})).rejects.toThrow('was closed')
  opener.child.kill('SIGKILL')
})
