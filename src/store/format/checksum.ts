// The checksum of a stored value: over its words, begun with its key, so that a value that stands under another key than
// its own is found out as well. Every step can be undone, so one changed word always shows; of other changes one in 2^32 may not.

const P1 = 0x9e3779b1
const P2 = 0x85ebca77
const P3 = 0xc2b2ae3d
const P4 = 0x27d4eb2f

/** Of the first `count` words from `start` on. Four lanes, as in xxHash, because a processor works on them side by side. */
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

// -- seeds: the parts of a key, one behind the other

export function seedWithWords(seed: number, high: number, low: number): number {
  return step(step(seed, high), low)
}

export function seedWithText(seed: number, text: string): number {
  let sum = step(seed, text.length)
  for (let i = 0; i < text.length; i++) sum = step(sum, text.charCodeAt(i))
  return sum
}

export function seedWithBytes(seed: number, bytes: Uint8Array): number {
  let sum = step(seed, bytes.length)
  for (let i = 0; i < bytes.length; i++) sum = step(sum, bytes[i]!)
  return sum
}
