import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { OperationalError } from '../../../src/kernel/errors.ts'
import { LogFile } from '../../../src/ops/log-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-lines-'))
const disk = join(folder, 'disk')
mkdirSync(disk)
const isMounted = Bun.spawnSync(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk]).exitCode === 0
if (!isMounted) console.log('skipped: this user may not mount a file system')

afterAll(() => {
  if (isMounted) Bun.spawnSync(['umount', disk])
  rmSync(folder, { recursive: true, force: true })
})

describe('a log file', () => {
  it('contains the written lines, in order, readable only for its owner', async () => {
    const path = join(folder, 'ordered')
    const file = new LogFile(path, { bufferBytesMax: 1 << 20, report: () => {} })
    const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} é`)
    for (const [i, line] of lines.entries()) {
      file.write(line)
      if (i % 1000 === 0) await Bun.sleep(25)
    }
    await file.close()
    expect(readFileSync(path, 'utf8')).toBe(`${lines.join('\n')}\n`)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(file.dropped).toBe(0)
  })

  it('appends to existing content, with another concurrent writer', async () => {
    const path = join(folder, 'shared')
    const files = [0, 1].map(() => new LogFile(path, { bufferBytesMax: 1 << 20, report: () => {} }))
    for (let i = 0; i < 500; i++) for (const [who, file] of files.entries()) file.write(`${who} ${i}`)
    await Promise.all(files.map((file) => file.close()))
    const found = readFileSync(path, 'utf8').split('\n')
    expect(found.length).toBe(1001)
    expect(found.every((line) => line === '' || /^[01] \d+$/.test(line))).toBe(true)
  })

  it('drops and counts lines that do not fit, and reports that once', async () => {
    const path = join(folder, 'full')
    const told: string[] = []
    const file = new LogFile(path, { bufferBytesMax: 100, report: (message) => told.push(message) })
    for (let i = 0; i < 50; i++) file.write('0123456789')
    expect(file.dropped).toBe(41)
    expect(told).toEqual([`lines for ${path} are being lost: the buffer is full`])
    while (told.length < 2) await Bun.sleep(5)
    file.write('again')
    await file.close()
    expect(readFileSync(path, 'utf8').split('\n')).toHaveLength(11)
    expect(told.slice(1)).toEqual([`writing to ${path} works again; 41 lines were lost since the start`])
  })

  it('starts a new line after a truncated one', async () => {
    const path = join(folder, 'cut')
    writeFileSync(path, 'whole\nha')
    const file = new LogFile(path, { bufferBytesMax: 100, report: () => {} })
    file.write('one')
    await expect.poll(() => readFileSync(path, 'utf8')).toBe('whole\nha\none\n')
    file.write('two')
    await file.close()
    expect(readFileSync(path, 'utf8')).toBe('whole\nha\none\ntwo\n')
  })

  it('starts without an empty line, even if the file was rotated before the first line', async () => {
    const path = join(folder, 'rotated')
    writeFileSync(path, 'whole\n')
    const file = new LogFile(path, { bufferBytesMax: 100, report: () => {} })
    renameSync(path, `${path}.1`)
    file.write('old')
    await expect.poll(() => readFileSync(`${path}.1`, 'utf8')).toBe('whole\nold\n')
    file.reopen()
    file.write('new')
    await file.close()
    expect([`${path}.1`, path].map((one) => readFileSync(one, 'utf8'))).toEqual(['whole\nold\n', 'new\n'])
  })

  it.skipIf(!isMounted)('starts a new line when a full disk has space again', async () => {
    const path = join(disk, 'lines')
    const ballast = join(disk, 'ballast')
    writeFileSync(ballast, Buffer.alloc(48 * 1024))
    const told: string[] = []
    const file = new LogFile(path, { bufferBytesMax: 1 << 20, report: (message) => told.push(message) })
    for (let i = 0; i < 1000; i++) file.write(`line ${i} on a disk without space for all of them`)
    while (told.length < 1) await Bun.sleep(5)
    expect(told[0]).toContain('are being lost: ENOSPC')
    rmSync(ballast)
    file.write('again')
    await file.close()
    const text = readFileSync(path, 'utf8')
    expect(text).toMatch(/them\nl[^\n]*\nagain\n$/)
    // Except for the half line and the last one, missing lines were lost.
    expect(file.dropped).toBe(1000 - (text.split('\n').length - 3))
  })

  it('that cannot be opened prevents the start of the service', () => {
    expect(() => new LogFile(join(folder, 'no', 'such'), { bufferBytesMax: 100, report: () => {} })).toThrow(
      OperationalError,
    )
  })
})
