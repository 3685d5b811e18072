// The distinct values of a property as numbers. Texts are kept as UTF-16 codes in one array, which takes a quarter of the
// memory of strings in a Map.

/** Interns texts: equal texts have the same number, from 0. */
export class ValueDictionary {
  /** The codes of all texts, one after the other. */
  codes = new Uint16Array(1 << 12)
  /** By number, where its codes begin; the next number's start is its end. */
  starts = new Uint32Array(1 << 10)
  /** By number, the hash of its text. */
  hashes = new Uint32Array(1 << 10)
  size = 0
  #slots = new Int32Array(1 << 11).fill(-1)

  /** The number of a text; adds it if it is new. */
  intern(text: string): number {
    const { length } = text
    let hash = 0x811c9dc5
    for (let at = 0; at < length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
    hash = mix(hash)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (;;) {
      const id = this.#slots[slot]!
      if (id < 0) break
      if (this.hashes[id] === hash && this.#isText(id, text)) return id
      slot = (slot + 1) & mask
    }
    const id = this.size
    this.#slots[slot] = id
    this.#append(id, hash, text)
    if (this.size * 2 > this.#slots.length) this.#growSlots()
    return id
  }

  /** The text of a number. */
  text(id: number): string {
    return String.fromCharCode(...this.codes.subarray(this.starts[id]!, this.starts[id + 1]!))
  }

  #isText(id: number, text: string): boolean {
    const start = this.starts[id]!
    if (this.starts[id + 1]! - start !== text.length) return false
    for (let at = 0; at < text.length; at += 1) if (this.codes[start + at] !== text.charCodeAt(at)) return false
    return true
  }

  #append(id: number, hash: number, text: string): void {
    const start = this.starts[id]!
    if (start + text.length > this.codes.length) {
      const codes = new Uint16Array(Math.max(this.codes.length * 2, start + text.length))
      codes.set(this.codes)
      this.codes = codes
    }
    for (let at = 0; at < text.length; at += 1) this.codes[start + at] = text.charCodeAt(at)
    if (id + 2 > this.starts.length) {
      this.starts = grown(this.starts)
      this.hashes = grown(this.hashes)
    }
    this.starts[id + 1] = start + text.length
    this.hashes[id] = hash
    this.size = id + 1
  }

  #growSlots(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (let id = 0; id < this.size; id += 1) {
      let slot = this.hashes[id]! & mask
      while (slots[slot]! >= 0) slot = (slot + 1) & mask
      slots[slot] = id
    }
    this.#slots = slots
  }
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}

/** The final mixing of MurmurHash3 (public domain): every bit of the input changes every bit of the result. */
export function mix(hash: number): number {
  let mixed = hash ^ (hash >>> 16)
  mixed = Math.imul(mixed, 0x85ebca6b)
  mixed ^= mixed >>> 13
  mixed = Math.imul(mixed, 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}
