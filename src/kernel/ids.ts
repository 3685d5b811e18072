// Global identifiers: `gid:` and 26 characters of Crockford base32, time-ordered (ruling F2).

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const GID = /^gid:[A-Za-z0-9_-]{22,}$/

let lastMs = -1
let counter = 0

/**
 * Mints an identifier: 10 characters of time in milliseconds, 3 of a counter within the millisecond, 13 random.
 * Identifiers of one process sort in the order they were made.
 */
export function mintGid(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs
    counter = 0
  } else {
    counter += 1
    if (counter === 32 ** 3) {
      lastMs += 1
      counter = 0
    }
  }
  const random = crypto.getRandomValues(new Uint8Array(13))
  let text = 'gid:'
  for (let shift = 9; shift >= 0; shift--) text += ALPHABET[Math.floor(lastMs / 32 ** shift) % 32]
  for (let shift = 2; shift >= 0; shift--) text += ALPHABET[Math.floor(counter / 32 ** shift) % 32]
  for (const byte of random) text += ALPHABET[byte % 32]
  return text
}

export function isGid(text: string): boolean {
  return GID.test(text)
}
