// Remembers what texts were decoded to, by their bytes: texts that repeat, such as metadata with the same source and time, are
// decoded once and their strings are not created again.
import type { ValueView } from './bytes.ts'
import { readText } from './text.ts'

/** Texts that are remembered; a power of two. A new text replaces an older one of the same slot. */
const SLOTS = 4096
/** Longer texts rarely repeat. */
const BYTES_MAX = 512

interface Remembered<T> {
  readonly bytes: DataView
  readonly value: T
}

/** Decoded texts. The values are shared: they must not be changed. */
export class TextMemo<T> {
  private readonly slots: (Remembered<T> | undefined)[] = []

  /** The value of the text from `start` to `end` (exclusive); `decode` is called if it is not remembered. */
  get({ view, text }: ValueView, start: number, end: number, decode: (text: string) => T): T {
    if (end - start > BYTES_MAX) return decode(readText(text, start, end))
    const slot = hashOf(view, start, end) & (SLOTS - 1)
    const known = this.slots[slot]
    if (known !== undefined && isSame(known.bytes, view, start, end)) return known.value
    const value = decode(readText(text, start, end))
    this.slots[slot] = { bytes: new DataView(Uint8Array.prototype.slice.call(text, start, end).buffer), value }
    return value
  }
}

/** FNV-1a over words of 32 bits. The low bits of a product depend on low bits only, so that the high ones are mixed in. */
function hashOf(view: DataView, start: number, end: number): number {
  let hash = 0x811c9dc5
  let at = start
  for (; at + 4 <= end; at += 4) {
    hash = Math.imul(hash ^ view.getUint32(at, true), 0x01000193)
    hash ^= hash >>> 15
  }
  for (; at < end; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193)
  return hash ^ (hash >>> 15)
}

function isSame(bytes: DataView, view: DataView, start: number, end: number): boolean {
  const size = end - start
  if (bytes.byteLength !== size) return false
  let i = 0
  for (; i + 4 <= size; i += 4) if (bytes.getUint32(i, true) !== view.getUint32(start + i, true)) return false
  for (; i < size; i++) if (bytes.getUint8(i) !== view.getUint8(start + i)) return false
  return true
}
