// An import resumes only the file that was interrupted; a failed import leaves its checkpoint, or nothing.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { openCatalog } from '../../../src/store/tenancy/catalog.ts'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { type ImportRequest, importFile } from '../../../src/transfer/import/import.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const progress = (): void => {}

async function emptyProject(): Promise<{ data: string; project: string }> {
  const data = join(temporaryFolder(), 'data')
  const project = mintGid(systemClock.now())
  const documents = openCollections(join(data, 'config'), { sync: false })
  const document = { id: project, kind: 'projects', project_id: '', fields: { ikg_status: 'ACTIVE' } }
  await documents.transact((changes) => changes.put('configuration', project, document))
  await documents.close()
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  await catalog.create(project)
  await catalog.close()
  return { data, project }
}

function importInto(dataDir: string, from: string, more: Partial<ImportRequest> = {}) {
  return importFile({ dataDir, from, dryRun: false, resume: false, progress, batchWeight: 5000, ...more })
}

function person(external_id: string): string {
  return `${JSON.stringify({ node: { type: 'Person', external_id } })}\n`
}

/** Names of the same length, longer than one read of the reader. */
function people(first = 'p'): string[] {
  return Array.from({ length: 3000 }, (_, i) => person(`${first}${String(i).padStart(40, '0')}`))
}

async function countOf(data: string, project: string): Promise<number> {
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  const snapshot = catalog.graph(project, 'default')!.snapshot()
  const count = snapshot.nodeCount(null)
  snapshot.close()
  await catalog.close()
  return count
}

test('after a complete import, a second import of the same file skips no line', async () => {
  const { data, project } = await emptyProject()
  const from = join(temporaryFolder(), 'lines')
  writeFileSync(from, `${person('ann')}${person('bob')}`)
  expect(await importInto(data, from, { projectId: project, resume: true })).toMatchObject({
    nodes: 2,
    isResumed: false,
  })
  const catalog = openCatalog(data, { clock: systemClock, sync: false })
  const graph = catalog.graph(project, 'default')!
  await graph.write((batch) => batch.deleteNode({ type: 'Person', externalId: 'bob' }))
  await catalog.close()
  expect(await importInto(data, from, { projectId: project, resume: true })).toMatchObject({ nodes: 2, skipped: 0 })
  expect(await countOf(data, project)).toBe(2)
})

test('an import resumes after a corrected line, and with a file that grew', async () => {
  const { data, project } = await emptyProject()
  const from = join(temporaryFolder(), 'lines')
  const options = { projectId: project, resume: true }
  writeFileSync(from, [...people(), 'nonsense\n', person('last')].join(''))
  await expect(importInto(data, from, options)).rejects.toThrow('line 3001: malformed JSON')
  writeFileSync(from, [...people(), person('mended'), person('last')].join(''))
  expect(await importInto(data, from, options)).toMatchObject({ nodes: 2, skipped: 3000, isResumed: true })
  // Its last line is incomplete, and completed by the next one.
  const longer = join(temporaryFolder(), 'longer')
  writeFileSync(longer, `${person('x').trimEnd()}`)
  const ended = importInto(data, longer, { ...options, progress: () => expect.fail('cut off') })
  await expect(ended).rejects.toThrow('cut off')
  writeFileSync(longer, `${person('x')}${person('y')}`)
  expect(await importInto(data, longer, options)).toMatchObject({ nodes: 1, skipped: 1 })
  expect(await countOf(data, project)).toBe(3004)
})

test('a file that differs before the interruption is not resumed, and is imported on request', async () => {
  const { data, project } = await emptyProject()
  const from = join(temporaryFolder(), 'lines')
  writeFileSync(from, [...people(), 'nonsense\n'].join(''))
  await expect(importInto(data, from, { projectId: project })).rejects.toThrow('line 3001: ')
  // As long as the other, and equal in its first 64 KiB.
  const others = people()
  others[2500] = person(`q${'0'.repeat(40)}`)
  for (const text of [[...others, 'nonsense\n'].join(''), people().slice(0, 2000).join(''), '', 'x'.repeat(300_000)]) {
    writeFileSync(from, text)
    await expect(importInto(data, from, { projectId: project, resume: true })).rejects.toThrow(
      /^\S+lines does not begin with the \d+ bytes that were imported before the interruption, .* without `--resume`/,
    )
    expect(await countOf(data, project)).toBe(3000)
  }
  writeFileSync(from, others.join(''))
  expect(await importInto(data, from, { projectId: project })).toMatchObject({ nodes: 3000, skipped: 0 })
  expect(await countOf(data, project)).toBe(3001)
})

test('an interrupted stream is resumed only by the same stream', async () => {
  const { data, project } = await emptyProject()
  const graph = `${JSON.stringify({ graph: { project, part: 'default' } })}\n`
  const stream = async (lines: readonly string[]): Promise<void> => {
    const own = Object.getOwnPropertyDescriptor(process, 'stdin')!
    Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(lines.join(''))]), configurable: true })
    try {
      await importInto(data, '-', { resume: true })
    } finally {
      Object.defineProperty(process, 'stdin', own)
    }
  }
  await expect(stream([graph, ...people(), 'nonsense'])).rejects.toThrow('line 3002: malformed JSON')
  const others = people()
  others[2500] = person('other')
  await expect(stream([graph, ...others])).rejects.toThrow('the standard input does not begin with the')
  expect(await countOf(data, project)).toBeLessThanOrEqual(3000)
  // Now from a real file.
  const stdin = new Blob([graph, ...people(), person('last')])
  const script = join(import.meta.dirname, 'importing-process.ts')
  const child = Bun.spawn([process.execPath, script, data, '-', '5000'], { stdin, stdout: 'ignore', stderr: 'pipe' })
  expect(await child.stderr.text()).toBe('')
  expect(await child.exited).toBe(0)
  expect(await countOf(data, project)).toBe(3001)
})

test('the graphs of one file are resumed separately', async () => {
  const one = await emptyProject()
  const other = mintGid(5)
  // Four lines each.
  const small = { batchWeight: 40 }
  const documents = openCollections(join(one.data, 'config'), { sync: false })
  const document = { id: other, kind: 'projects', project_id: '', fields: { ikg_status: 'ACTIVE' } }
  await documents.transact((changes) => changes.put('configuration', other, document))
  await documents.close()
  const catalog = openCatalog(one.data, { clock: systemClock, sync: false })
  await catalog.create(other)
  await catalog.close()
  const graph = (project: string): string => `${JSON.stringify({ graph: { project, part: 'default' } })}\n`
  const from = join(temporaryFolder(), 'lines')
  const first = [graph(one.project), person('ann'), graph(other), ...people().slice(0, 30)]
  const again = [graph(one.project), person('bob')]
  writeFileSync(from, [...first, 'nonsense\n', ...again].join(''))
  await expect(importInto(one.data, from, small)).rejects.toThrow('line 34: ')
  writeFileSync(from, [...first, ...again].join(''))
  expect(await importInto(one.data, from, { ...small, resume: true })).toMatchObject({ nodes: 2, skipped: 30 })
  expect(await countOf(one.data, one.project)).toBe(2)
  expect(await countOf(one.data, other)).toBe(30)
})

test('the data of an abandoned import is not resumed by a later import of the same file', async () => {
  const one = await emptyProject()
  const other = mintGid(5)
  const from = join(temporaryFolder(), 'lines')
  const catalog = openCatalog(one.data, { clock: systemClock, sync: false })
  await catalog.create(other)
  await catalog.close()
  const graph = (project: string): string => `${JSON.stringify({ graph: { project, part: 'default' } })}\n`
  const small = { batchWeight: 40 }
  const lines = [graph(one.project), ...people().slice(0, 20), graph(other), ...people().slice(0, 10)]
  writeFileSync(from, [...lines, 'nonsense\n'].join(''))
  await expect(importInto(one.data, from, small)).rejects.toThrow('line 33: ')
  expect(await countOf(one.data, other)).toBeGreaterThan(0)
  // Abandoned: the folder is served, and a node is deleted.
  rmSync(join(one.data, 'import.unfinished'))
  const served = openCatalog(one.data, { clock: systemClock, sync: false })
  const externalId = `p${'0'.repeat(40)}`
  await served.graph(other, 'default')!.write((batch) => batch.deleteNode({ type: 'Person', externalId }))
  await served.close()
  writeFileSync(from, lines.with(15, 'nonsense\n').join(''))
  await expect(importInto(one.data, from, small)).rejects.toThrow('line 16: ')
  writeFileSync(from, lines.join(''))
  const result = await importInto(one.data, from, { ...small, resume: true })
  expect(result).toMatchObject({ isResumed: true })
  // Some lines of the first graph were skipped, none of the second.
  expect(result.skipped).toBeGreaterThan(0)
  expect(result.skipped).toBeLessThan(15)
  expect(await countOf(one.data, one.project)).toBe(20)
  expect(await countOf(one.data, other)).toBe(10)
})

test('an import that wrote nothing leaves no data', async () => {
  const { data, project } = await emptyProject()
  const out = join(temporaryFolder(), 'export')
  await exportFolder({ dataDir: data, out, progress })
  const whole = readFileSync(out, 'utf8')
  const parent = temporaryFolder()
  const from = join(temporaryFolder(), 'lines')
  const empty = join(parent, 'empty')
  mkdirSync(empty)
  for (const dataDir of [join(parent, 'a', 'b', 'new'), empty]) {
    for (const text of ['nonsense', person('ann'), `${whole.split('\n')[0]}\n[]\n`]) {
      writeFileSync(from, text)
      await expect(importInto(dataDir, from)).rejects.toThrow(/^line \d: /)
      expect(readdirSync(parent)).toEqual(['empty'])
      expect(readdirSync(empty)).toEqual([])
    }
    await expect(importInto(dataDir, parent)).rejects.toThrow(`${parent} is a folder: name a file`)
    expect(readdirSync(parent)).toEqual(['empty'])
  }
  // Files that others have added in the meantime are kept.
  writeFileSync(from, `${whole.split('\n')[0]}\n[]\n`)
  const begun = importInto(join(parent, 'a', 'b', 'new'), from, {
    batchWeight: 1,
    progress: () => mkdirSync(join(parent, 'a', 'other'), { recursive: true }),
  })
  await expect(begun).rejects.toThrow(/^line 2: /)
  expect(readdirSync(parent, { recursive: true }).sort()).toEqual(['a', join('a', 'other'), 'empty'])
  // An existing folder keeps its data, and no graph without a line is created.
  rmSync(join(data, 'projects'), { recursive: true })
  const before = readdirSync(data)
  writeFileSync(from, whole.replace('{"end"', `${person('ann')}nonsense\n{"end"`))
  await expect(importInto(data, from, { batchWeight: 1000 })).rejects.toThrow(/^line \d: malformed JSON/)
  expect(readdirSync(data).filter((name) => !/\.(?:lock|pid)$/.test(name))).toEqual(before)
  expect(existsSync(join(data, 'projects', project.slice(4)))).toBe(false)
})
