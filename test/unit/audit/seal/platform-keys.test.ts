import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createApp } from '../../../../src/app.ts'
import { LogSealer } from '../../../../src/audit/seal/log-sealer.ts'
import { PlatformKeys } from '../../../../src/audit/seal/platform-keys.ts'
import { openSealer } from '../../../../src/identity/folder-keys.ts'
import { systemClock } from '../../../../src/kernel/time/clock.ts'
import { defaultSettings } from '../../../../src/settings.ts'
import { AuditHeads } from '../../../../src/store/audit/audit-heads.ts'
import { AuditIndex } from '../../../../src/store/audit/audit-index.ts'
import type { AuditSigningKey } from '../../../../src/store/audit/audit-types.ts'
import { MemoryDocuments } from '../../../../src/store/documents/memory-documents.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

async function newKeys() {
  const dataDir = join(temporaryFolder(), 'data')
  const app = await createApp({ ...defaultSettings, dataDir }, { sync: false })
  await app.close()
  const index = new AuditIndex(join(temporaryFolder(), 'index'), { sync: false })
  onTestFinished(() => index.close())
  const sealer = openSealer(dataDir)
  return { index, sealer, keys: new PlatformKeys(index, sealer, systemClock) }
}

describe('the platform key', () => {
  test('is one, also when several logs need the first one at the same time', async () => {
    const { keys, index } = await newKeys()
    const used = await Promise.all(Array.from({ length: 4 }, () => keys.current()))
    expect(new Set(used.map(({ kid }) => kid)).size).toBe(1)
    expect(index.keys().map(({ kid }) => kid)).toEqual([used[0]?.kid])
  })

  test('is one after rotations at the same time: each replaces the one before it', async () => {
    const { keys, index } = await newKeys()
    const rotations = await Promise.all(Array.from({ length: 4 }, () => keys.rotate()))
    const stored = index.keys()
    expect(stored.map(({ kid }) => kid)).toEqual(rotations.map(({ kid }) => kid))
    expect(rotations.map(({ before }) => before)).toEqual([null, ...stored.slice(0, -1).map(({ kid }) => kid)])
    // Each is retired when the next one is created.
    expect(stored.map(({ retiredMs }) => retiredMs)).toEqual([
      ...stored.slice(1).map(({ createdMs }) => createdMs),
      null,
    ])
  })

  test('that was replaced while its predecessor is forgotten keeps its private part', async () => {
    const { keys, index } = await newKeys()
    const [first, second, third] = [await keys.rotate(), await keys.rotate(), await keys.rotate()]
    // All logs are signed with the second one.
    await keys.forgetBefore(index.keys()[1] as AuditSigningKey)
    expect(keys.retired(first.kid)).toBeNull()
    expect(keys.retired(second.kid)?.kid).toBe(second.kid)
    expect((await keys.current()).kid).toBe(third.kid)
  })

  test('that is replaced while a log is sealed signs a checkpoint together with its successor', async () => {
    const { keys, index, sealer } = await newKeys()
    const owner = { id: 'log', owner: 'gid:log', kind: 'project' } as const
    const folder = join(temporaryFolder(), 'logs')
    const onIndexLost = (): never => expect.fail('the index is not lost')
    const settings = { clock: systemClock, folder, origin: 'test', nextGeneration: () => 1, onIndexLost }
    const deps = { index, heads: new AuditHeads(new MemoryDocuments()), keys, sealer, ...settings }
    const log = new LogSealer(owner, deps)
    for (let round = 0; round < 20; round++) {
      const entry = Buffer.from(JSON.stringify({ id: String(round), type: 'test', time: '2026-01-01T00:00:00.000Z' }))
      const sealed = log.seal([{ sequence: round, entry, body: null, facts: null }], new Map())
      // At another step of the sealing in each round.
      for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve))
      await Promise.all([sealed, keys.rotate()])
    }
    await log.changeKey()
    const checkpoints = [...index.checkpoints(owner.id, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)].reverse()
    const changes = checkpoints.filter(({ kid }, at) => at > 0 && kid !== checkpoints[at - 1]?.kid)
    expect(changes.length).toBeGreaterThan(5)
    for (const { note } of changes) expect(note.match(/^— /gm)).toHaveLength(2)
  })
})
