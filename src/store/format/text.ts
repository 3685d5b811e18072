// Encodes every JavaScript string without loss: UTF-8, or UTF-16 after a marker byte that never occurs in UTF-8.
// Captured text may contain lone surrogates. UTF-8 encoders replace each with U+FFFD, which would make different ids equal.

/** Never occurs in UTF-8. It is followed by UTF-16 code units, low byte first. */
const UTF16_MARK = 0xff

/** Encodes a string. */
export function textBytes(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8')
  return Buffer.concat([Buffer.from([UTF16_MARK]), Buffer.from(text, 'utf16le')])
}

/** Decodes the bytes from `start` to `end` (exclusive). */
export function readText(buffer: Buffer, start: number, end: number): string {
  if (start === end) return ''
  if (buffer[start] === UTF16_MARK) return buffer.toString('utf16le', start + 1, end)
  return buffer.toString('utf8', start, end)
}
