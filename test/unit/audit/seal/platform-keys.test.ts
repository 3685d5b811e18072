import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openSealer } from '../../../../src/app/configuration.ts'
import { createApp } from '../../../../src/app.ts'
import { PlatformKeys } from '../../../../src/audit/seal/platform-keys.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { defaultSettings } from '../../../../src/settings.ts'
import { AuditIndex } from '../../../../src/store/audit/audit-index.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

async function newKeys(): Promise<{ readonly keys: PlatformKeys; readonly index: AuditIndex }> {
  const dataDir = join(temporaryFolder(), 'data')
  const app = await createApp({ ...defaultSettings, dataDir }, { sync: false })
  await app.close()
  const index = new AuditIndex(join(temporaryFolder(), 'index'), { sync: false })
  onTestFinished(() => index.close())
  return { index, keys: new PlatformKeys(index, openSealer(dataDir), systemClock) }
}

describe('the platform key', () => {
  test('is one, also when several logs need the first one at the same time', async () => {
    const { keys, index } = await newKeys()
    const used = await Promise.all(Array.from({ length: 4 }, () => keys.current()))
    expect(new Set(used.map(({ kid }) => kid)).size).toBe(1)
    expect(index.keys().map(({ kid }) => kid)).toEqual([used[0]?.kid])
  })
})
