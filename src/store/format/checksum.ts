// Checksums of stored values. The key of a value seeds its checksum, so a value stored under a wrong key is detected as well.
// Each step is invertible, so a change of one word is always detected. Other changes are missed with probability 2^-32.

const P1 = 0x9e3779b1
const P2 = 0x85ebca77
const P3 = 0xc2b2ae3d
const P4 = 0x27d4eb2f

/**
 * The checksum (32 bits) of `count` words from index `start`. Uses four lanes as xxHash32 does, which a processor runs in
 * parallel. `seed` comes from the key of the value.
 */
export function checksum(words: Uint32Array, start: number, count: number, seed: number): number {
  const end = start + count
  let at = start
  let sum = seed
  if (count >= 8) {
    let a = seed
    let b = seed ^ P1
    let c = seed ^ P2
    let d = seed ^ P3
    for (const last = end - 3; at < last; at += 4) {
      a = (a + Math.imul(words[at]!, P2)) | 0
      a = Math.imul((a << 13) | (a >>> 19), P1)
      b = (b + Math.imul(words[at + 1]!, P2)) | 0
      b = Math.imul((b << 13) | (b >>> 19), P1)
      c = (c + Math.imul(words[at + 2]!, P2)) | 0
      c = Math.imul((c << 13) | (c >>> 19), P1)
      d = (d + Math.imul(words[at + 3]!, P2)) | 0
      d = Math.imul((d << 13) | (d >>> 19), P1)
    }
    sum = ((a << 1) | (a >>> 31)) + ((b << 7) | (b >>> 25)) + ((c << 12) | (c >>> 20)) + ((d << 18) | (d >>> 14))
  }
  for (; at < end; at++) sum = step(sum, words[at]!)
  return finalMix(sum ^ count) >>> 0
}

function step(sum: number, word: number): number {
  const next = (sum + Math.imul(word, P3)) | 0
  return Math.imul((next << 17) | (next >>> 15), P4)
}

function finalMix(sum: number): number {
  let mix = Math.imul(sum ^ (sum >>> 15), P2)
  mix = Math.imul(mix ^ (mix >>> 13), P3)
  return mix ^ (mix >>> 16)
}

// -- seeds: combine the parts of a key one after another

/** Extends a seed by two words. */
export function seedWithWords(seed: number, high: number, low: number): number {
  return step(step(seed, high), low)
}

/** Extends a seed by a text: its length, then its UTF-16 code units. */
export function seedWithText(seed: number, text: string): number {
  let sum = step(seed, text.length)
  for (let i = 0; i < text.length; i++) sum = step(sum, text.charCodeAt(i))
  return sum
}

/** Extends a seed by bytes: their number, then each of them. */
export function seedWithBytes(seed: number, bytes: Uint8Array): number {
  let sum = step(seed, bytes.length)
  for (let i = 0; i < bytes.length; i++) sum = step(sum, bytes[i]!)
  return sum
}
