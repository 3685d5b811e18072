// Global identifiers: `gid:` and 26 characters of Crockford base32, time-ordered (ruling F2).

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const GID = /^gid:[A-Za-z0-9_-]{22,}$/

const RANDOM = 13
const pool = new Uint8Array(RANDOM * 256)

let lastMs = -1
let prefix = ''
let counter = 0
let drawn = pool.length

/**
 * Mints an identifier: 10 characters of time in milliseconds, 3 of a counter within the millisecond, 13 random.
 * Identifiers of one process sort in the order they were made.
 */
export function mintGid(nowMs: number): string {
  if (nowMs > lastMs) begin(nowMs)
  else {
    counter += 1
    if (counter === 32 ** 3) begin(lastMs + 1)
  }
  if (drawn === pool.length) {
    // Random numbers are drawn for many at once: asking for them costs more than the rest.
    crypto.getRandomValues(pool)
    drawn = 0
  }
  let text = `${prefix}${ALPHABET[counter >>> 10]}${ALPHABET[(counter >>> 5) & 31]}${ALPHABET[counter & 31]}`
  for (const end = drawn + RANDOM; drawn < end; drawn++) text += ALPHABET[pool[drawn]! & 31]
  return text
}

function begin(ms: number): void {
  lastMs = ms
  counter = 0
  prefix = ''
  for (let digits = 0, rest = ms; digits < 10; digits++, rest = Math.floor(rest / 32))
    prefix = `${ALPHABET[rest % 32]}${prefix}`
  prefix = `gid:${prefix}`
}

export function isGid(text: string): boolean {
  return GID.test(text)
}
