// The position of a client in all streams of a project, as an opaque text.
import { z } from 'zod'
import type { OpenEventStream } from './event-streams.ts'

/** Sequence of the next event by the name of a stream (`streamKey`). */
export type EventPosition = ReadonlyMap<string, number>

const encoded = z.array(z.tuple([z.string(), z.int().min(1)])).max(10_000)

/** Names a stream among those of its project. */
export function streamKey({ source, part }: Pick<OpenEventStream, 'source' | 'part'>): string {
  return `${source}/${part}`
}

/** Encodes a position. */
export function encodePosition(position: EventPosition): string {
  return Buffer.from(JSON.stringify([...position])).toString('base64url')
}

/** Reads what `encodePosition` wrote; null for any other text. */
export function decodePosition(text: string): EventPosition | null {
  try {
    const read = encoded.safeParse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    return read.success ? new Map(read.data) : null
  } catch {
    return null
  }
}
