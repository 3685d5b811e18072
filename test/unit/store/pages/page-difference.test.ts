// The changed pages of a store: only those of the changed paths, and none of a damaged tree.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changedPages } from '../../../../src/store/pages/page-difference.ts'
import { PageFile } from '../../../../src/store/pages/page-file.ts'
import { findTreeDamage } from '../../../../src/store/pages/page-walk.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = {
  encoding: 'binary',
  keyEncoding: 'binary',
  noSubdir: false,
  overlappingSync: false,
  noSync: true,
} as const

interface RawStore {
  put(key: Buffer, value: Buffer): unknown
  transaction(change: () => void): Promise<void>
  close(): Promise<void>
}

let path: string
let store: RawStore

beforeEach(async () => {
  const folder = temporaryFolder()
  path = join(folder, 'data.mdb')
  store = open({ path: folder, ...options }) as unknown as RawStore
  await store.transaction(() => {
    for (let at = 0; at < 5000; at++) store.put(key(at), Buffer.alloc(50, at))
  })
})

afterEach(() => store.close())

function key(at: number): Buffer {
  return Buffer.from(String(at).padStart(8, '0'))
}

function changed(since: number): { pages: number[]; transaction: number } {
  const file = new PageFile(path)
  try {
    const [meta] = file.metas()!
    const pages = Array.from(changedPages(file, meta, since), ({ page, bytes }) =>
      Array.from({ length: bytes.length / meta.pageBytes }, (_, at) => page + at),
    )
    return { pages: pages.flat(), transaction: meta.transaction }
  } finally {
    file.close()
  }
}

test('of one written key are the pages of its path and of the free list', async () => {
  const whole = changed(-1)
  expect(whole.pages.length).toBeGreaterThan(80)
  expect(new Set(whole.pages).size).toBe(whole.pages.length)
  expect(changed(whole.transaction).pages).toEqual([])
  await store.transaction(() => store.put(key(2500), Buffer.alloc(50, 1)))
  const { pages } = changed(whole.transaction)
  // Two or three of the tree, one or two of the free list.
  expect(pages.length).toBeGreaterThanOrEqual(3)
  expect(pages.length).toBeLessThan(10)
})

test('of a long value are all its pages, and of an unchanged one in a changed leaf none', async () => {
  const { transaction } = changed(-1)
  await store.transaction(() => store.put(key(2500), Buffer.alloc(400_000, 1)))
  const long = changed(transaction)
  expect(long.pages.length).toBeGreaterThan(97)
  await store.transaction(() => store.put(key(2501), Buffer.alloc(50, 2)))
  expect(changed(long.transaction).pages.length).toBeLessThan(10)
})

test('of a long value that a shorter one replaced in the same transaction are sound', async () => {
  await store.transaction(() => {
    store.put(key(1), Buffer.alloc(20_000, 1))
    store.put(key(1), Buffer.alloc(9000, 2))
  })
  expect(changed(-1).pages.length).toBeGreaterThan(80)
  const file = new PageFile(path)
  expect(findTreeDamage(file, file.metas()![0], { leaves: 'by key' })).toBeNull()
  file.close()
})

test('of a damaged tree are refused', () => {
  const { pages } = changed(-1)
  const bytes = readFileSync(path)
  const page = pages.at(-1) as number
  // Another page number.
  bytes[page * 4096] = bytes[page * 4096]! ^ 0xff
  writeFileSync(path, bytes)
  expect(() => changed(-1)).toThrow(`page ${page} is missing or has the wrong page number`)
})
