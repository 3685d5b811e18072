// Every JavaScript string as bytes and back, exactly: UTF-8, or UTF-16 behind a byte that UTF-8 never has.
// Captured text may hold lone surrogates; encoders replace them all by one character, which would make two ids equal.

/** Never occurs in UTF-8: marks UTF-16 code units, low byte first. */
const UTF16_MARK = 0xff

export function textBytes(text: string): Uint8Array {
  if (text.isWellFormed()) return Buffer.from(text, 'utf8')
  return Buffer.concat([Buffer.from([UTF16_MARK]), Buffer.from(text, 'utf16le')])
}

export function readText(buffer: Buffer, start: number, end: number): string {
  if (start === end) return ''
  if (buffer[start] === UTF16_MARK) return buffer.toString('utf16le', start + 1, end)
  return buffer.toString('utf8', start, end)
}
