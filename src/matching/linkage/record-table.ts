// The nodes of one side: their numbers, and for each mapping the number of their value.

/** Number of an absent value. */
export const ABSENT = -1

/** Nodes and the numbers of their values. The values of a record are next to each other: a comparison reads all of them. */
export class RecordTable {
  size = 0
  nodes = new Float64Array(1 << 10)
  /** Values of each record. */
  readonly width: number
  /** By record, then by mapping: the number of the value in the mapping's dictionary, or ABSENT. */
  values: Int32Array

  constructor(width: number) {
    this.width = width
    this.values = new Int32Array(width << 10)
  }

  add(node: number, values: readonly number[]): void {
    if (this.size === this.nodes.length) this.#grow()
    this.nodes[this.size] = node
    const row = this.size * this.width
    for (let mapping = 0; mapping < this.width; mapping += 1) this.values[row + mapping] = values[mapping] ?? ABSENT
    this.size += 1
  }

  /** Replaces the numbers of the nodes. `numbers`: by the number that a node has. */
  renumber(numbers: Uint32Array): void {
    for (let record = 0; record < this.size; record += 1) this.nodes[record] = numbers[this.nodes[record]!]!
  }

  /** The number of a value. */
  value(record: number, mapping: number): number {
    return this.values[record * this.width + mapping]!
  }

  #grow(): void {
    const nodes = new Float64Array(this.size * 2)
    nodes.set(this.nodes)
    this.nodes = nodes
    const values = new Int32Array(this.values.length * 2)
    values.set(this.values)
    this.values = values
  }

  /** Orders the records by node, so that the order in which nodes were added has no effect. Yields between short steps. */
  *sort(): Generator<void, void> {
    const order = yield* sortInSteps(this.size, (a, b) => this.nodes[a]! - this.nodes[b]!)
    const nodes = new Float64Array(this.size)
    const values = new Int32Array(this.size * this.width)
    for (let at = 0; at < this.size; at += 1) {
      const record = order[at]!
      nodes[at] = this.nodes[record]!
      for (let mapping = 0; mapping < this.width; mapping += 1) {
        values[at * this.width + mapping] = this.values[record * this.width + mapping]!
      }
      if (at % (STEP / 4) === 0) yield
    }
    this.nodes = nodes
    this.values = values
  }
}

const STEP = 1 << 14

/** The indexes below `size` in ascending order; equal ones keep their order (merge sort). Yields between short steps. */
export function* sortInSteps(size: number, compare: (a: number, b: number) => number): Generator<void, Uint32Array> {
  let from = Uint32Array.from({ length: size }, (_, at) => at)
  let into = new Uint32Array(size)
  let work = 0
  for (let width = 1; width < size; width *= 2) {
    for (let start = 0; start < size; start += 2 * width) {
      const middle = Math.min(start + width, size)
      const end = Math.min(start + 2 * width, size)
      let left = start
      let right = middle
      for (let at = start; at < end; at += 1) {
        const isLeft = left < middle && (right >= end || compare(from[left]!, from[right]!) <= 0)
        into[at] = isLeft ? from[left]! : from[right]!
        if (isLeft) left += 1
        else right += 1
        work += 1
        if (work % STEP === 0) yield
      }
    }
    const sorted = into
    into = from
    from = sorted
  }
  return from
}

/** Uniform numbers below a bound from a seed (mulberry32, public domain). */
export function randomIntegers(seed: number): (bound: number) => number {
  let state = seed >>> 0
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * bound)
  }
}
