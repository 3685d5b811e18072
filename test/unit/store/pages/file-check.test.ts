// Corruption that is visible from outside is reported as an error; without this check LMDB would map the file and the
// process would crash.
import { copyFileSync, readFileSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../../../../src/store/graph/open-store.ts'
import type { DamagedFileError } from '../../../../src/store/lmdb/open-file.ts'
import { checkFileInSlices, findFileDamage } from '../../../../src/store/pages/file-check.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

let folder: string
let path: string

beforeEach(async () => {
  folder = temporaryFolder()
  path = join(folder, 'data.mdb')
  const store = openStore(folder, { sync: false })
  for (let round = 0; round < 3; round++) {
    await store.write((batch) => {
      for (let i = 0; i < 300; i++) {
        const value = 'x'.repeat(i % 50 === 0 ? 9000 : 40)
        batch.upsertNode({ type: 'Person', externalId: `p${round}-${i}`, properties: [{ name: 'note', value }] })
      }
    })
  }
  await store.close()
})

function patch(change: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path)
  change(bytes)
  writeFileSync(path, bytes)
}

function opening(): string {
  try {
    void openStore(folder).close()
    return 'opened'
  } catch (fault) {
    expect((fault as Error).message).toContain('; check the data folder with `verdigraph verify`, and restore it')
    return (fault as DamagedFileError).finding
  }
}

const PAGE = 4096

describe('a file', () => {
  test('that is valid has no error, nor has a missing one', () => {
    expect(findFileDamage(path)).toBeNull()
    expect(opening()).toBe('opened')
    expect(findFileDamage(join(temporaryFolder(), 'data.mdb'))).toBeNull()
  })

  test('may lack unused pages at its end', () => {
    patch((bytes) => {
      for (const page of [0, PAGE]) bytes.writeBigUInt64LE(bytes.readBigUInt64LE(page + 144) + 3n, page + 144)
    })
    expect(findFileDamage(path)).toBeNull()
  })

  test('that was checked, used and closed is checked again after a change', async () => {
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(path, longAgo, longAgo)
    for (let round = 0; round < 2; round++) expect(opening()).toBe('opened')
    expect(findFileDamage(path)).toBeNull()
    patch((bytes) => bytes.fill(0, 0, PAGE))
    expect(findFileDamage(path)).toBe('is not a database, or damaged')
    expect(opening()).toBe(`${path} is not a database, or damaged`)
  })

  const size = (): number => statSync(path).size
  const damages: readonly (readonly [name: string, damage: () => void, fault: RegExp])[] = [
    ['is empty', () => truncateSync(path, 0), /^is empty$/],
    ['ends within the first meta page', () => truncateSync(path, 100), /^is not a database, or damaged$/],
    ['ends after the first meta page', () => truncateSync(path, PAGE), /^is not a database, or damaged$/],
    [
      'ends within a page',
      () => truncateSync(path, size() - 1),
      /^is damaged: \d+ bytes is not a multiple of the page size$/,
    ],
    [
      'lost its second half',
      () => truncateSync(path, Math.floor(size() / PAGE / 2) * PAGE),
      /^is damaged: it has \d+ of \d+ pages$/,
    ],
    ['holds nothing but the meta pages', () => truncateSync(path, 2 * PAGE), /^is damaged: it has 2 of \d+ pages$/],
    ['is a text', () => writeFileSync(path, 'hello '.repeat(5000)), /^is not a database, or damaged$/],
    ['is all zeros', () => writeFileSync(path, Buffer.alloc(20 * PAGE)), /^is not a database, or damaged$/],
    [
      'has another magic number in its second meta page',
      () => patch((b) => b.writeUInt32LE(0xdeadbeef, PAGE + 24)),
      /^is not a database/,
    ],
    ['has another version', () => patch((b) => b.writeUInt32LE(1, 28)), /^is not a database, or damaged$/],
    ['has an invalid page size', () => patch((b) => b.writeUInt32LE(1000, 48)), /^is not a database, or damaged$/],
    [
      'refers to more pages than can exist',
      () => patch((b) => [0, PAGE].map((page) => b.writeBigUInt64LE(2n ** 50n, page + 144))),
      /^is damaged: it refers to more pages/,
    ],
    ['is gone, and its lock file is not', () => rmSync(path), /^is missing, although the folder was used before$/],
  ]
  test('that was checked ahead is checked again after a change', async () => {
    await checkFileInSlices(path)
    expect(findFileDamage(path)).toBeNull()
    patch((bytes) => bytes.fill(0, 0, PAGE))
    expect(findFileDamage(path)).toBe('is not a database, or damaged')
  })

  test.each(damages)('that %s is refused', async (_, damage, fault) => {
    damage()
    const found = findFileDamage(path)
    expect(found).toMatch(fault)
    await checkFileInSlices(path)
    expect(findFileDamage(path)).toBe(found)
    expect(opening()).toBe(`${path} ${found}`)
  })

  test('with a corrupted page found ahead is refused, and is opened after its repair', async () => {
    const root = readFileSync(path).readBigUInt64LE(newestMeta() + 136)
    const damage = (bytes: Buffer) => {
      bytes[Number(root) * PAGE]! ^= 1
    }
    patch(damage)
    await checkFileInSlices(path)
    expect(findFileDamage(path)).toMatch(/^is damaged: page \d+ has the wrong page number$/)
    expect(opening()).toContain('is damaged: page')
    patch(damage)
    await checkFileInSlices(path)
    expect(findFileDamage(path)).toBeNull()
    expect(opening()).toBe('opened')
  })

  function newestMeta(): number {
    const bytes = readFileSync(path)
    return bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(PAGE + 152) ? 0 : PAGE
  }

  test('that lost any page in use at its end is refused, and is valid again from a copy', () => {
    const copy = join(folder, 'copy')
    copyFileSync(path, copy)
    const pages = size() / PAGE
    // The last page of a file that has only grown is in use.
    for (const left of [pages - 1, pages - 2, 10, 3]) {
      truncateSync(path, left * PAGE)
      expect(findFileDamage(path)).toBe(`is damaged: it has ${left} of ${pages} pages`)
    }
    copyFileSync(copy, path)
    expect(findFileDamage(path)).toBeNull()
  })
})
