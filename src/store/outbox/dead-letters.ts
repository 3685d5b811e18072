// The dead letters of an outbox: events that their providers refused for good, and the requests to send them again. The dispatcher
// adds them with `EventOutbox.commit`.
import { OUTBOX_ENTRY } from '../format/keys.ts'
import { type DirectEdits, isOfProvider, type OutboxAccess, totalsOf } from './outbox-access.ts'
import { type DeadLetterTotals, encodeBytes, readBytes, readLength } from './outbox-format.ts'
import { deadLetterKey, requestKey } from './outbox-keys.ts'

/** Dead letters that one transaction changes at most. */
const DEAD_LETTERS_MAX = 500
/** More dead letters are removed than necessary, so that not every later one needs a transaction more. */
const DEAD_LETTERS_KEPT_SHARE = 0.9
const NONE: DeadLetterTotals = { count: 0, bytes: 0 }

/** An event that its provider refused for good. */
export interface DeadLetter {
  readonly provider: string
  /** Sequence of the event in its stream. */
  readonly sequence: number
  /** As the caller of `commit` encoded it. */
  readonly bytes: Uint8Array
}

/** The dead letters of the streams of one environment. */
export class OutboxDeadLetters {
  private readonly access: OutboxAccess

  constructor(access: OutboxAccess) {
    this.access = access
  }

  /** Dead letters of a stream in the order of provider and sequence, after a position. At most `limit`. */
  list(
    stream: string,
    limit: number,
    after: Pick<DeadLetter, 'provider' | 'sequence'> | null = null,
  ): readonly DeadLetter[] {
    return this.access.reading([], (database, reading) => {
      const found: DeadLetter[] = []
      const start =
        after === null ? deadLetterKey(stream, '', 0) : deadLetterKey(stream, after.provider, after.sequence + 1)
      for (const { key, valueView } of database.entries({ start, end: undefined, limit, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.deadLetter || key.stream !== stream) break
        found.push({ provider: key.provider, sequence: key.sequence, bytes: readBytes(valueView) })
      }
      return found
    })
  }

  /** One dead letter, or null. */
  get(stream: string, provider: string, sequence: number): DeadLetter | null {
    return this.access.reading(null, (database, reading) => {
      const valueView = database.get(deadLetterKey(stream, provider, sequence), reading)
      return valueView && { provider, sequence, bytes: readBytes(valueView) }
    })
  }

  /** Removes a dead letter. Resolves with false if there is no such dead letter. */
  remove(stream: string, provider: string, sequence: number): Promise<boolean> {
    return this.access.writing((database, edits) => {
      const key = deadLetterKey(stream, provider, sequence)
      if (database.get(key) === null) return false
      edits.removeDeadLetter(key)
      return true
    })
  }

  /** Requests that a dead letter is sent again. Resolves with false if there is no such dead letter. */
  request(stream: string, provider: string, sequence: number): Promise<boolean> {
    return this.access.writing((database, edits) => {
      if (database.get(deadLetterKey(stream, provider, sequence)) === null) return false
      edits.put(requestKey(stream, provider, sequence), encodeBytes(new Uint8Array(0)))
      return true
    })
  }

  /** Whether a dead letter of any provider was requested. */
  hasRequests(stream: string): boolean {
    return this.access.reading(false, (database, reading) => {
      const start = requestKey(stream, '', 0)
      for (const key of database.raw.getKeys({ start, end: undefined, limit: 1, ...reading }))
        return key.kind === start.kind && key.stream === stream
      return false
    })
  }

  /** Removes all dead letters of a provider. Resolves with their number. */
  removeAll(stream: string, provider: string): Promise<number> {
    return this.changeAll(stream, provider, (edits, sequence) =>
      edits.removeDeadLetter(deadLetterKey(stream, provider, sequence)),
    )
  }

  /** The number and the bytes of the dead letters of a provider. */
  totals(stream: string, provider: string): DeadLetterTotals {
    return this.access.reading(NONE, (database, reading) => totalsOf(database, stream, provider, reading))
  }

  /**
   * Removes the first dead letters of a provider if all together exceed `bytesMax`, down to `DEAD_LETTERS_KEPT_SHARE` of it.
   * Resolves with the number of removed ones.
   */
  async bound(stream: string, provider: string, bytesMax: number): Promise<number> {
    if (this.totals(stream, provider).bytes <= bytesMax) return 0
    const bound = bytesMax * DEAD_LETTERS_KEPT_SHARE
    let removed = 0
    for (let isComplete = false; !isComplete; ) {
      isComplete = await this.access.writing((database, edits) => {
        let { bytes } = totalsOf(database, stream, provider, undefined)
        let count = 0
        const range = { start: deadLetterKey(stream, provider, 0), end: undefined }
        for (const { key, valueView } of database.entries(range)) {
          if (bytes <= bound || !isOfProvider(key, range.start)) return true
          if (count === DEAD_LETTERS_MAX) return false
          bytes -= readLength(valueView)
          count += 1
          removed += 1
          edits.removeDeadLetter(key)
        }
        return true
      })
    }
    return removed
  }

  /** Requests that all dead letters of a provider are sent again. Resolves with their number. */
  requestAll(stream: string, provider: string): Promise<number> {
    return this.changeAll(stream, provider, (edits, sequence) =>
      edits.put(requestKey(stream, provider, sequence), encodeBytes(new Uint8Array(0))),
    )
  }

  /** In several transactions, so that other writers do not wait long. */
  private async changeAll(
    stream: string,
    provider: string,
    change: (edits: DirectEdits, sequence: number) => void,
  ): Promise<number> {
    let changed = 0
    for (let from = 0; ; ) {
      const last = await this.access.writing((database, edits) => {
        const keys = database.raw.getKeys({ start: deadLetterKey(stream, provider, from), end: undefined })
        let count = 0
        for (const key of keys) {
          if (key.kind !== OUTBOX_ENTRY.deadLetter || key.stream !== stream || key.provider !== provider) return null
          if (count === DEAD_LETTERS_MAX) return key.sequence
          count += 1
          changed += 1
          change(edits, key.sequence)
        }
        return null
      })
      if (last === null) return changed
      from = last
    }
  }

  /** Whether it was requested that a dead letter is sent again. */
  isRequested(stream: string, provider: string, sequence: number): boolean {
    return this.access.reading(false, (database, reading) => {
      return database.get(requestKey(stream, provider, sequence), reading) !== null
    })
  }

  /** The first dead letters of a provider that were requested, in sequence. At most `limit`. */
  requested(stream: string, provider: string, limit: number): readonly DeadLetter[] {
    return this.access.reading([], (database, reading) => {
      const found: DeadLetter[] = []
      const start = requestKey(stream, provider, 0)
      for (const key of database.raw.getKeys({ start, end: undefined, limit, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.request || key.stream !== stream || key.provider !== provider) break
        const valueView = database.get(deadLetterKey(stream, provider, key.sequence), reading)
        if (valueView !== null) found.push({ provider, sequence: key.sequence, bytes: readBytes(valueView) })
      }
      return found
    })
  }

  /** Replaces a dead letter that was sent again and refused; its request is done. Does nothing if it was removed. */
  async replace(stream: string, { provider, sequence, bytes }: DeadLetter): Promise<void> {
    await this.access.writing((database, edits) => {
      const key = deadLetterKey(stream, provider, sequence)
      if (database.get(key) === null) return
      edits.putDeadLetter(key, bytes)
      edits.remove(requestKey(stream, provider, sequence))
    })
  }
}
