// Entry bundles (C2SP tlog-tiles): entries, each after its length as a big-endian 16-bit integer.

/** Longest entry, in bytes: its length has 16 bits. */
export const ENTRY_MAX_BYTES = 65_535
const LENGTH_BYTES = 2

/** An entry exceeds `ENTRY_MAX_BYTES`. */
export class EntryTooLongError extends Error {
  override readonly name = 'EntryTooLongError'
  readonly bytes: number
  constructor(bytes: number) {
    super(`an entry of the audit log has ${bytes} bytes; at most ${ENTRY_MAX_BYTES} are possible`)
    this.bytes = bytes
  }
}

/** The length of a bundle of entries. Throws EntryTooLongError. */
export function bundleLength(entries: readonly Uint8Array[]): number {
  let length = 0
  for (const { length: bytes } of entries) {
    if (bytes > ENTRY_MAX_BYTES) throw new EntryTooLongError(bytes)
    length += LENGTH_BYTES + bytes
  }
  return length
}

/** Encodes entries as a bundle, or as its continuation. Throws EntryTooLongError. */
export function encodeEntries(entries: readonly Uint8Array[]): Uint8Array {
  const bundle = new Uint8Array(bundleLength(entries))
  writeEntries(entries, bundle, 0)
  return bundle
}

/** As `encodeEntries`, into `bundle` at the offset `start`. Returns the offset after them. */
export function writeEntries(entries: readonly Uint8Array[], bundle: Uint8Array, start: number): number {
  let at = start
  for (const entry of entries) {
    bundle[at] = entry.length >>> 8
    bundle[at + 1] = entry.length & 0xff
    bundle.set(entry, at + LENGTH_BYTES)
    at += LENGTH_BYTES + entry.length
  }
  return at
}

/** The complete entries of a bundle. */
interface DecodedBundle {
  /** Views of the bundle. */
  readonly entries: readonly Uint8Array[]
  /** Bytes after the last complete entry: 0 in a sound bundle. */
  readonly restBytes: number
}

/** Decodes the entries of a bundle up to the first incomplete one, at most `limit`. */
export function decodeEntries(bundle: Uint8Array, limit = Number.POSITIVE_INFINITY): DecodedBundle {
  const entries: Uint8Array[] = []
  let at = 0
  while (entries.length < limit && at + LENGTH_BYTES <= bundle.length) {
    const end = at + LENGTH_BYTES + (((bundle[at] as number) << 8) | (bundle[at + 1] as number))
    if (end > bundle.length) break
    entries.push(bundle.subarray(at + LENGTH_BYTES, end))
    at = end
  }
  return { entries, restBytes: bundle.length - at }
}
