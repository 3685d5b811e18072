import { describe, expect, test } from 'vitest'
import {
  initialStatus,
  type ProviderStatus,
  readStatuses,
  storeStatuses,
} from '../../../../src/events/delivery/status.ts'
import { verifyFolder } from '../../../../src/store/integrity/verify-folder.ts'
import { EventsFolder } from '../../../../src/store/outbox/events-folder.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const failing: ProviderStatus = { ...initialStatus('sink', 'kafka', 0), lastError: 'no connection – “x”', failed: 3 }

describe('statuses of providers', () => {
  test('are stored by project and provider, also without events, and are removed with the events of the project', async () => {
    const folder = temporaryFolder()
    const { outbox, close } = opened(folder)
    await storeStatuses(outbox, 'a', [failing, initialStatus('sink', 'queue', 0)])
    await storeStatuses(outbox, 'b', [initialStatus('other', 'kafka', 0)])
    await outbox.append([{ stream: 'a', bytes: new Uint8Array(8), count: 1, timeMs: 1 }])
    expect([...readStatuses(outbox, 'a')]).toEqual([
      ['kafka', failing],
      ['queue', initialStatus('sink', 'queue', 0)],
    ])
    expect(outbox.streams()).toEqual(['a'])
    await storeStatuses(outbox, 'a', [{ ...failing, lastError: '' }], ['queue'])
    expect([...readStatuses(outbox, 'a').values()]).toEqual([{ ...failing, lastError: '' }])
    await outbox.drop('a')
    expect(readStatuses(outbox, 'a').size).toBe(0)
    expect(readStatuses(outbox, 'b').size).toBe(1)
    await close()
    expect(await verifyFolder(folder, () => {})).toEqual([])
  })
})

function opened(folder: string): { outbox: EventsFolder['outbox']; close: () => Promise<void> } {
  const events = new EventsFolder(folder, { sync: false })
  return { outbox: events.outbox, close: () => events.close() }
}
