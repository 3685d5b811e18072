// Removal of streams, and of removed providers from a stream, in several transactions, so that other writers and the event loop do
// not wait long. Each can be repeated after a crash.
import { OUTBOX_ENTRY } from '../format/keys.ts'
import { isOfProvider, isOfStream, keysOf, type OutboxAccess, REMOVED_MAX } from './outbox-access.ts'
import { cursorKey, deadLetterKey } from './outbox-keys.ts'
import { cursorsOf, headOf } from './outbox-reads.ts'

/** Dead letters belong to a cursor, and all entries but the statuses and the follower to the head: they go first. */
const DROP_ORDER = [
  OUTBOX_ENTRY.deadLetter,
  OUTBOX_ENTRY.cursor,
  OUTBOX_ENTRY.record,
  OUTBOX_ENTRY.loss,
  OUTBOX_ENTRY.follow,
  OUTBOX_ENTRY.status,
  OUTBOX_ENTRY.head,
]

/** See `EventOutbox.drop`. */
export async function dropStream(access: OutboxAccess, stream: string, isDue: () => boolean): Promise<void> {
  while (!(await dropPart(access, stream, isDue))) await new Promise((resolve) => setImmediate(resolve))
}

/** Resolves with true if nothing is left to do. */
function dropPart(access: OutboxAccess, stream: string, isDue: () => boolean): Promise<boolean> {
  return access.writing((database, edits) => {
    if (!isDue()) return true
    let left = REMOVED_MAX
    // The records that continue the stored head are removed before it, and the stream may have a new owner before the rest is.
    const head = headOf(database, stream, undefined)
    if (head !== null) edits.putHead(stream, head)
    for (const kind of DROP_ORDER) {
      for (const key of keysOf(database, { kind, stream, provider: '', sequence: 0 }, isOfStream)) {
        if (left === 0) return false
        left -= 1
        if (kind === OUTBOX_ENTRY.deadLetter) edits.removeDeadLetter(key)
        else edits.remove(key)
      }
    }
    return true
  })
}

/** See `EventOutbox.removeOtherProviders`. */
export async function removeProvidersOf(
  access: OutboxAccess,
  stream: string,
  kept: () => readonly string[] | null,
): Promise<boolean> {
  const found = access.reading<readonly string[]>([], (database, reading) => [
    ...cursorsOf(database, stream, reading).keys(),
  ])
  let isRemoved = false
  for (const provider of found) {
    for (;;) {
      const left = await removeProviderPart(access, stream, provider, kept)
      if (left === 'kept') break
      isRemoved = true
      if (left === 'done') break
    }
  }
  return isRemoved
}

/** The cursor is removed last, so that a call after a crash continues. */
function removeProviderPart(
  access: OutboxAccess,
  stream: string,
  provider: string,
  providers: () => readonly string[] | null,
): Promise<'kept' | 'part' | 'done'> {
  return access.writing((database, edits) => {
    if (providers()?.includes(provider) !== false) return 'kept'
    let left = REMOVED_MAX
    for (const key of keysOf(database, deadLetterKey(stream, provider, 0), isOfProvider)) {
      if (left === 0) return 'part'
      left -= 1
      edits.removeDeadLetter(key)
    }
    edits.remove(cursorKey(stream, provider))
    return 'done'
  })
}
