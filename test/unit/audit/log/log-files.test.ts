// Reading tiles of a log that grows at the same time.
import { expect, test } from 'vitest'
import { findTile, type LogFiles } from '../../../../src/audit/log/log-files.ts'
import { HASH_BYTES } from '../../../../src/audit/log/merkle.ts'
import { tilePath } from '../../../../src/audit/log/tile-path.ts'

const tile = { level: 0, index: 0, width: 16 } as const
const full = tilePath({ ...tile, width: 256 })

/** A log in memory: between a listing and the next read, it grows `steps` times, and removes the narrower tile each time. */
function growingLog(steps: number): LogFiles {
  let width = tile.width + 1
  return {
    names: async () => {
      const listed = [String(width)]
      if (width < tile.width + 1 + steps) width += 1
      return listed
    },
    read: async (path) => (path === `${full}.p/${width}` ? new Uint8Array(width * HASH_BYTES) : null),
  }
}

test.each([0, 3, 30, 200])(
  'a partial tile is found in a wider one, although the log replaced it %i times',
  async (steps) => {
    const found = await findTile(growingLog(steps), tile)
    expect(found?.bytes.length).toBe((tile.width + 1 + steps) * HASH_BYTES)
  },
)

test('a partial tile that no wider one replaces does not exist', async () => {
  expect(await findTile({ names: async () => ['3', '16'], read: async () => null }, tile)).toBe(null)
})
