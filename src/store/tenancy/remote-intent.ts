// The record that is stored before a transaction on another server commits: its events, and how to find out whether it was committed.
import type { Constituent } from './project-graphs.ts'

/** Events of a batch that is written to a graph of another server. */
export interface RemoteEvents {
  readonly record: Uint8Array | string
  readonly count: number
  /** Undefined: that of event sinks. */
  readonly stream: string | undefined
}

/** An intent. */
export interface RemoteIntent {
  readonly constituent: Constituent
  readonly mark: { readonly id: string; readonly version: number }
  readonly events: readonly RemoteEvents[]
}

interface EncodedEvents {
  /** A text, or bytes in base64. */
  readonly text?: string
  readonly bytes?: string
  readonly count: number
  readonly stream?: string
}

/** The stored form of an intent. */
export function writeRemoteIntent({ constituent, mark, events }: RemoteIntent): string {
  const encoded = events.map(
    ({ record, count, stream }): EncodedEvents => ({
      ...(typeof record === 'string' ? { text: record } : { bytes: Buffer.from(record).toString('base64') }),
      count,
      ...(stream === undefined ? {} : { stream }),
    }),
  )
  return JSON.stringify({ constituent, mark, events: encoded })
}

/** Reads the stored form. */
export function readRemoteIntent(text: string): RemoteIntent {
  const { constituent, mark, events } = JSON.parse(text) as Omit<RemoteIntent, 'events'> & {
    readonly events: readonly EncodedEvents[]
  }
  return {
    constituent,
    mark,
    events: events.map(({ text: record, bytes = '', count, stream }) => ({
      record: record ?? new Uint8Array(Buffer.from(bytes, 'base64')),
      count,
      stream,
    })),
  }
}

/** Of which graph an intent is, and of which write, without its events; null: it was left when the graph was in this folder. */
export function readRemoteMark(text: string): Pick<RemoteIntent, 'constituent' | 'mark'> | null {
  // Within a text of JSON, quotes are escaped: this is the member.
  const end = text.indexOf(',"events":[')
  return end < 0 ? null : JSON.parse(`${text.slice(0, end)}}`)
}
