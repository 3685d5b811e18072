// Gives the streams of a restored environment other origins.
import { EVENTS_DESCRIPTION, openOutbox } from '../lmdb/databases.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import { EventOutbox } from './outbox.ts'

/** See `EventOutbox.renewOrigins`. Does not change an environment without streams. Throws OperationalError. */
export async function renewOrigins(folder: string): Promise<void> {
  const hasStreams = await withOutbox(folder, { readOnly: true }, async (outbox) => outbox.streams().length > 0)
  if (hasStreams) await withOutbox(folder, {}, (outbox) => outbox.renewOrigins())
}

async function withOutbox<T>(
  folder: string,
  options: LmdbFileOptions,
  work: (outbox: EventOutbox) => Promise<T>,
): Promise<T> {
  const file = new LmdbFile(folder, options)
  try {
    return await work(new EventOutbox(file, openOutbox(file, EVENTS_DESCRIPTION)))
  } finally {
    await file.close()
  }
}
