// The folder of a log: every append, prune and proof agrees with the tree of all leaf hashes, also after crashes.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  decodeEntries,
  ENTRY_MAX_BYTES,
  EntryTooLongError,
  encodeEntries,
} from '../../../src/audit/log/entry-bundle.ts'
import { emptyTree, extendTree, isConsistent, isIncluded, leafHash, rootOf } from '../../../src/audit/log/merkle.ts'
import { LogDamagedError, LogFileMissingError, TileFolder } from '../../../src/audit/log/tile-folder.ts'
import { parseTilePath, tilePath } from '../../../src/audit/log/tile-path.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { auditEntry, newLogKey, WrittenLog } from '../../support/audit-log.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const key = newLogKey('log')
const entriesFrom = (from: number, count: number): Uint8Array[] =>
  Array.from({ length: count }, (_, at) => auditEntry(from + at))
const rootOver = (hashes: readonly Uint8Array[]): Uint8Array => rootOf(extendTree(emptyTree, hashes))

describe('the folder of a log', () => {
  it('has the root and the proofs of the naive tree after appends around the borders of tiles', async () => {
    const seed = testSeed()
    const random = new Random(seed)
    const log = new WrittenLog(temporaryFolder(), 'log')
    const leaves: Uint8Array[] = []
    const counts = [
      1,
      0,
      3,
      251,
      1,
      1,
      255,
      256,
      257,
      511,
      512,
      513,
      ...Array.from({ length: 12 }, () => random.between(1, 6000)),
    ]
    for (const count of counts) {
      const before = leaves.length
      const added = entriesFrom(before, count)
      leaves.push(...added.map(leafHash))
      await log.append(added, [key.signer])
      const { size } = log.state
      const root = rootOver(leaves)
      expect([seed, size, rootOf(log.state)]).toEqual([seed, leaves.length, root])
      const borders = [0, 1, 255, 256, 257, 511, 512, before, size - 1, random.between(0, size - 1)]
      for (const index of borders.filter((border) => border < size)) {
        const proof = await log.tiles.inclusionProof(index, size)
        expect(isIncluded(leaves[index] as Uint8Array, index, size, proof, root), `${seed}: ${index} of ${size}`).toBe(
          true,
        )
        expect(await log.tiles.entries(index, index + 1)).toEqual([Buffer.from(auditEntry(index))])
        const consistency = await log.tiles.consistencyProof(index, size)
        const isProven = isConsistent(index, size, rootOver(leaves.slice(0, index)), root, consistency)
        expect(isProven, `${seed}: ${index} to ${size}`).toBe(true)
      }
      // Another object finds the same right edge on disk.
      if (random.odds(0.5)) Object.assign(log, { tiles: new TileFolder(log.folder) })
    }
  })

  it('proves the size of an old checkpoint from wider tiles, and gives their prefix', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    await log.grow(10, [key.signer])
    const old = await log.tiles.read({ level: 0, index: 0, width: 10 })
    await log.grow(20, [key.signer])
    expect(existsSync(join(log.folder, 'tile/0/000.p/10'))).toBe(false)
    expect(await log.tiles.read({ level: 0, index: 0, width: 10 })).toEqual(old)
    await log.grow(300, [key.signer])
    expect(existsSync(join(log.folder, 'tile/0/000.p'))).toBe(false)
    expect(await log.tiles.read({ level: 0, index: 0, width: 10 })).toEqual(old)
    const bundle = (await log.tiles.read({ level: 'entries', index: 0, width: 10 })) as Uint8Array
    expect(decodeEntries(bundle)).toEqual({ entries: entriesFrom(0, 10), restBytes: 0 })
    expect(await log.tiles.read({ level: 0, index: 1, width: 75 })).toBe(null)
  })

  it('proves the entries of a bundle at once as it proves single ones, also at the borders of bundles and trees', async () => {
    const folder = new TileFolder(temporaryFolder())
    const entries = entriesFrom(0, 66_000)
    await folder.append(emptyTree, entries)
    for (const size of [1, 2, 255, 256, 257, 300, 512, 65_535, 65_536, 65_537, entries.length]) {
      const root = rootOver(entries.slice(0, size).map(leafHash))
      for (const first of [0, 200, 256, 65_280, 65_536, size - 1]) {
        if (first >= size) continue
        const proofOf = await folder.inclusionProver(first, size)
        for (let index = first; index < Math.min(size, first - (first % 256) + 256); index += 1) {
          const isProven = isIncluded(leafHash(entries[index] as Uint8Array), index, size, proofOf(index), root)
          if (!isProven) throw new Error(`entry ${index} of ${size} is not proven`)
        }
        expect(proofOf(first)).toEqual(await folder.inclusionProof(first, size))
      }
    }
  })

  it('overwrites what a killed process left beyond the state, and reads none of it afterwards', async () => {
    const seed = testSeed()
    const random = new Random(seed)
    for (let round = 0; round < 30; round += 1) {
      const log = new WrittenLog(temporaryFolder(), 'log')
      await log.grow(random.between(0, 1500), [key.signer])
      const { state } = log
      // The process ends after these files, before it stores the new state.
      const lost = entriesFrom(state.size, random.between(1, 1500)).map((entry) => Buffer.concat([entry, entry]))
      await log.tiles.append(state, lost)
      const tiles = round % 2 === 0 ? log.tiles : new TileFolder(log.folder)
      const added = entriesFrom(state.size, random.between(1, 700))
      const { state: next, root } = await tiles.append(state, added)
      const leaves = entriesFrom(0, next.size).map(leafHash)
      expect([seed, round, root]).toEqual([seed, round, rootOver(leaves)])
      expect(await new TileFolder(log.folder).entries(0, next.size)).toEqual(
        entriesFrom(0, next.size).map((entry) => Buffer.from(entry)),
      )
      for (const width of [1, 100, 255, 256]) {
        const index = Math.floor(next.size / 256)
        const tile = await tiles.read({ level: 0, index, width })
        expect(tile === null, `${seed}: width ${width} of ${next.size}`).toBe(width > next.size % 256)
      }
    }
  })

  it('keeps the tiles of a state to which the caller goes back after an append', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    await log.grow(300, [key.signer])
    const { state, note } = log
    await log.tiles.append(state, entriesFrom(300, 100))
    // The caller could not store the new state.
    await log.tiles.publish(note)
    expect(existsSync(join(log.folder, 'tile/entries/001.p/44'))).toBe(true)
    await log.grow(5, [key.signer])
    expect(log.state.size).toBe(305)
    expect(rootOf(log.state)).toEqual(rootOver(entriesFrom(0, 305).map(leafHash)))
    expect(existsSync(join(log.folder, 'tile/entries/001.p/44'))).toBe(false)
  })

  it('refuses to append after a state that a published checkpoint has left behind', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    await log.grow(300, [key.signer])
    const { state } = log
    await log.grow(5, [key.signer])
    await expect(new TileFolder(log.folder).append(state, entriesFrom(300, 1))).rejects.toThrow(LogDamagedError)
    await expect(new TileFolder(log.folder).append(emptyTree, entriesFrom(0, 1))).rejects.toThrow(LogDamagedError)
    expect(await log.tiles.entries(0, 305)).toHaveLength(305)
  })

  it('continues after a file of a killed append was cut', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    await log.grow(250, [key.signer])
    for (const path of ['tile/0/000', 'tile/entries/000', 'tile/entries/000.p/255', 'tile/1/000.p/1']) {
      mkdirSync(dirname(join(log.folder, path)), { recursive: true })
      writeFileSync(join(log.folder, path), 'cut')
    }
    const tiles = new TileFolder(log.folder)
    const { root, state } = await tiles.append(log.state, entriesFrom(250, 3))
    expect(root).toEqual(rootOver(entriesFrom(0, 253).map(leafHash)))
    expect(await tiles.entries(0, 253)).toHaveLength(253)
    expect((await tiles.append(state, entriesFrom(253, 3))).root).toEqual(rootOver(entriesFrom(0, 256).map(leafHash)))
  })

  it('refuses to append to files that are not those of the state', async () => {
    for (const path of ['tile/0/001.p/44', 'tile/1/000.p/1', 'tile/entries/001.p/44']) {
      const log = new WrittenLog(temporaryFolder(), 'log')
      await log.grow(300, [key.signer])
      const bytes = readFileSync(join(log.folder, path))
      writeFileSync(join(log.folder, path), bytes.with(20, (bytes[20] as number) ^ 1))
      const append = (): Promise<unknown> => new TileFolder(log.folder).append(log.state, entriesFrom(300, 1))
      await expect(append(), path).rejects.toThrow(LogDamagedError)
      rmSync(join(log.folder, path))
      await expect(append(), path).rejects.toThrow(LogDamagedError)
    }
  })

  it('takes entries of 0 and 65,535 bytes, and refuses longer ones before it writes anything', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    const entries = [new Uint8Array(), new Uint8Array(ENTRY_MAX_BYTES).fill(0x41), auditEntry(2)]
    await log.append(entries, [key.signer])
    expect(await log.tiles.entries(0, 3)).toEqual(entries.map((entry) => Buffer.from(entry)))
    const append = log.tiles.append(log.state, [auditEntry(3), new Uint8Array(ENTRY_MAX_BYTES + 1)])
    await expect(append).rejects.toThrow(new EntryTooLongError(65_536))
    expect(existsSync(join(log.folder, 'tile/entries/000.p/4'))).toBe(false)
    expect(() => encodeEntries([new Uint8Array(ENTRY_MAX_BYTES + 1)])).toThrow(EntryTooLongError)
  })

  it('prunes whole bundles and their payloads, and keeps proofs of pruned entries', async () => {
    const log = new WrittenLog(temporaryFolder(), 'log')
    const [early, shared] = await Promise.all(['early', 'shared'].map((text) => log.tiles.writeBody(Buffer.from(text))))
    const referring = (index: number, hash: string | undefined): Uint8Array =>
      Buffer.from(JSON.stringify({ source: 's', sequence: String(index).padStart(16, '0'), dataref: `bodies/${hash}` }))
    const entries = entriesFrom(0, 1000)
      .with(3, referring(3, early))
      .with(4, referring(4, shared))
      .with(990, referring(990, shared))
    await log.append(entries, [key.signer])
    expect(await log.tiles.prune(255)).toBe(0)
    expect(await log.tiles.prune(700)).toBe(512)
    expect(await log.tiles.prune(300)).toBe(256)
    await expect(log.tiles.entries(511, 513)).rejects.toThrow(LogFileMissingError)
    expect(await log.tiles.entries(512, 514)).toHaveLength(2)
    expect(await log.tiles.readBody(early as string)).toBe(null)
    expect(await log.tiles.readBody(shared as string)).toEqual(Buffer.from('shared'))
    const proof = await log.tiles.inclusionProof(3, 1000)
    expect(isIncluded(leafHash(entries[3] as Uint8Array), 3, 1000, proof, rootOf(log.state))).toBe(true)
    expect((await log.tiles.append(log.state, [])).root).toEqual(rootOf(log.state))
  })
})

describe('paths of tiles', () => {
  it('are those of C2SP tlog-tiles', () => {
    expect(tilePath({ level: 0, index: 1_234_067, width: 256 })).toBe('tile/0/x001/x234/067')
    expect(tilePath({ level: 'entries', index: 999, width: 17 })).toBe('tile/entries/999.p/17')
    expect(tilePath({ level: 2, index: 1000, width: 1 })).toBe('tile/2/x001/000.p/1')
  })

  it('are read back, and no other form of the same path is accepted', () => {
    const random = new Random(testSeed())
    for (let i = 0; i < 500; i += 1) {
      const tile = {
        level: random.pick([0, 1, 7, 63, 'entries'] as const),
        index: random.between(0, 10 ** random.between(1, 12)),
        width: random.between(1, 256),
      }
      expect(parseTilePath(tilePath(tile))).toEqual(tile)
    }
    const wrong = [
      'tile/00/000',
      'tile/64/000',
      'tile/0/x000/001',
      'tile/0/01',
      'tile/0/000.p/0',
      'tile/0/000.p/256',
      'tile/0/000.p/01',
    ]
    for (const path of [
      ...wrong,
      'tile/0/1000',
      'tile/-1/000',
      'tile/entries/../000',
      'tile/0/000/',
      '/tile/0/000',
      '',
    ]) {
      expect(parseTilePath(path), path).toBe(null)
    }
  })
})
