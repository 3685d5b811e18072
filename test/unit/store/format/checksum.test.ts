import { describe, expect, test } from 'vitest'
import { DataCorruptionError } from '../../../../src/kernel/errors.ts'
import { checksum } from '../../../../src/store/format/checksum.ts'
import { type LmdbEnvironment, openEnvironment } from '../../../../src/store/graph/environment.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

describe('a checksum', () => {
  test('detects every change of one bit, at any length', () => {
    for (const length of [1, 3, 7, 8, 9, 33, 1017]) {
      const words = Uint32Array.from({ length }, (_, i) => Math.imul(i + 1, 0x9e3779b1))
      const whole = checksum(words, 0, length, 5)
      for (let bit = 0; bit < length * 32; bit += length > 100 ? 37 : 1) {
        words[bit >>> 5]! ^= 1 << (bit & 31)
        expect(checksum(words, 0, length, 5)).not.toBe(whole)
        words[bit >>> 5]! ^= 1 << (bit & 31)
      }
      expect(checksum(words, 0, length, 6)).not.toBe(whole)
      if (length > 1) expect(checksum(words, 0, length - 1, 5)).not.toBe(whole)
    }
  })

  test('is equal for equal words, at any offset', () => {
    const words = Uint32Array.from({ length: 40 }, (_, i) => i % 20)
    expect(checksum(words, 20, 20, 1)).toBe(checksum(words, 0, 20, 1))
  })

  test('of a known value never changes: files contain it', () => {
    expect(checksum(Uint32Array.of(1, 2, 3), 0, 3, 7)).toBe(1623072909)
    expect(
      checksum(
        Uint32Array.from({ length: 10 }, (_, i) => i),
        0,
        10,
        7,
      ),
    ).toBe(3138246708)
  })
})

describe('a corrupted value', () => {
  const A = { type: 'A', externalId: 'a' }
  const B = { type: 'A', externalId: 'b' }

  async function opened(): Promise<LmdbEnvironment> {
    const options = { clock: new ManualClock(1_750_000_000_000), sync: false, hotBytes: 0 }
    const environment = openEnvironment(temporaryFolder(), options)
    await environment.write((batch) => {
      batch.upsertNode({ ...A, properties: [{ name: 'p', value: 1 }] })
      batch.upsertNode(B)
    })
    return environment
  }

  test('is reported as corruption of the key, to snapshots and to batches', async () => {
    const environment = await opened()
    const { raw } = environment.databases.upsertKeys
    // The value of one key under another: valid by itself, but not the key's own.
    await environment.write(() => {
      raw.put({ type: 1, externalId: 'a' }, raw.getBinaryFast({ type: 1, externalId: 'b' })!.slice(0, 8))
    })
    const snapshot = environment.snapshot()
    const read = (): unknown => snapshot.findNode(snapshot.symbol('label', 'A'), 'a')
    expect(read).toThrow(DataCorruptionError)
    expect(read).toThrow('upsert-keys type 1, externalId "a" has a wrong checksum')
    expect(snapshot.findNode(snapshot.symbol('label', 'A'), 'b')).toBe(2)
    snapshot.close()
    await expect(environment.write((batch) => batch.upsertNode(A))).rejects.toThrow(DataCorruptionError)
    await environment.close()
  })

  test('in the header fails every operation', async () => {
    const environment = await opened()
    const { raw } = environment.databases.meta
    await raw.put({ kind: 1, symbol: 0 }, new Uint8Array(44))
    expect(() => environment.snapshot()).toThrow('the knowledge graph of this project is damaged')
    await environment.close()
  })
})
