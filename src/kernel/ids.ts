// Global identifiers: `gid:` and 26 characters of Crockford base32, ordered by time.

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const GID = /^gid:[A-Za-z0-9_-]{22,}$/

/** Length of a generated identifier without `gid:`. */
export const GID_SUFFIX_LENGTH = 26
const TIME = 10
const RANDOM = 13
const pool = new Uint8Array(RANDOM * 256)
const LETTERS = Buffer.from(ALPHABET, 'latin1')

let lastMs = -1
let counter = 0
let drawn = pool.length
/** The encoded time, and the encoded identifier. Times before 1970 are encoded as 1970. */
const times = Buffer.alloc(TIME, ALPHABET[0])
const minted = Buffer.alloc(GID_SUFFIX_LENGTH)

/**
 * Generates an identifier: 10 characters of time in milliseconds, 3 of a counter within the millisecond, 13 random.
 * Identifiers of one process sort in order of generation.
 */
export function mintGid(nowMs: number): string {
  writeGidSuffix(minted, 0, nowMs)
  return `gid:${minted.toString('latin1')}`
}

/** Generates an identifier and writes its characters after `gid:` to `target` at offset `at`. */
export function writeGidSuffix(target: Uint8Array, at: number, nowMs: number): void {
  if (nowMs > lastMs) begin(nowMs)
  else {
    counter += 1
    if (counter === 32 ** 3) begin(lastMs + 1)
  }
  if (drawn === pool.length) {
    // Random bytes are drawn for many identifiers at once: the call costs more than the rest.
    crypto.getRandomValues(pool)
    drawn = 0
  }
  let to = at
  for (let i = 0; i < TIME; i++) target[to++] = times[i]!
  target[to++] = LETTERS[counter >>> 10]!
  target[to++] = LETTERS[(counter >>> 5) & 31]!
  target[to++] = LETTERS[counter & 31]!
  for (const end = drawn + RANDOM; drawn < end; drawn++) target[to++] = LETTERS[pool[drawn]! & 31]!
}

function begin(ms: number): void {
  lastMs = ms
  counter = 0
  for (let i = TIME - 1, rest = ms; i >= 0; i--, rest = Math.floor(rest / 32)) times[i] = LETTERS[rest % 32]!
}

/** Whether the text has the form of an identifier. */
export function isGid(text: string): boolean {
  return GID.test(text)
}
