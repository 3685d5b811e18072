// The Merkle tree of RFC 9162, section 2.1, with SHA-256: hashes, the growing right edge, and which subtrees a proof consists of.
import { hash } from 'node:crypto'

/** Bytes of a hash. */
export const HASH_BYTES = 32

const LEAF_PREFIX = 0
const NODE_PREFIX = 1

/** The tree up to `size`: hashes of the complete subtrees of its right edge, the largest first. */
export interface TreeState {
  readonly size: number
  readonly edge: readonly Uint8Array[]
}

/** The tree without entries. */
export const emptyTree: TreeState = { size: 0, edge: [] }

/** Entries `from` to `to` (exclusive). */
export interface EntryRange {
  readonly from: number
  readonly to: number
}

/** Reused, because each hash is computed at once: allocating the input takes as long as hashing it. */
const scratch = new Uint8Array(64 * 1024)

/** SHA-256 of the entry, prefixed with a zero byte. */
export function leafHash(entry: Uint8Array): Uint8Array {
  const length = 1 + entry.length
  const input = length <= scratch.length ? scratch : new Uint8Array(length)
  input[0] = LEAF_PREFIX
  input.set(entry, 1)
  return sha256(input.subarray(0, length))
}

/** The hash of a node with these two children. */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  const end = 1 + left.length
  const length = end + right.length
  // A proof from outside may have hashes of any length.
  const input = length <= scratch.length ? scratch : new Uint8Array(length)
  input[0] = NODE_PREFIX
  input.set(left, 1)
  input.set(right, end)
  return sha256(input.subarray(0, length))
}

function sha256(input: Uint8Array): Uint8Array {
  return Bun.SHA256.hash(input, new Uint8Array(HASH_BYTES)) as Uint8Array
}

/** The state after these leaves. */
export function extendTree(state: TreeState, leafHashes: readonly Uint8Array[]): TreeState {
  const edge = [...state.edge]
  let { size } = state
  for (const leaf of leafHashes) {
    edge.push(leaf)
    size += 1
    // Two complete subtrees of one size become one: as often as the size can be halved.
    for (let rest = size; rest % 2 === 0; rest /= 2) mergeLastTwo(edge)
  }
  return { size, edge }
}

function mergeLastTwo(edge: Uint8Array[]): void {
  const right = edge.pop() as Uint8Array
  const left = edge.pop() as Uint8Array
  edge.push(nodeHash(left, right))
}

/** The root hash of the tree; of the empty tree, the hash of the empty string. */
export function rootOf({ edge }: Pick<TreeState, 'edge'>): Uint8Array {
  return edge.length === 0 ? hash('sha256', '', 'buffer') : edge.reduceRight((right, left) => nodeHash(left, right))
}

/** The root hash over `hashes`, which are the hashes of complete subtrees of one size. */
export function rootOfHashes(hashes: readonly Uint8Array[]): Uint8Array {
  return rootOf(extendTree(emptyTree, hashes))
}

/**
 * The ranges whose hashes are the inclusion proof of entry `index` in the tree of `size` entries, from the leaf to the root
 * (RFC 9162, section 2.1.3.1).
 */
export function inclusionRanges(index: number, size: number): EntryRange[] {
  const ranges: EntryRange[] = []
  let [from, to] = [0, size]
  while (to - from > 1) {
    const middle = from + largestPowerBelow(to - from)
    if (index < middle) {
      ranges.push({ from: middle, to })
      to = middle
    } else {
      ranges.push({ from, to: middle })
      from = middle
    }
  }
  return ranges.reverse()
}

/**
 * The ranges whose hashes prove that the tree of `first` entries is a prefix of the tree of `second` (RFC 9162, section
 * 2.1.4.1). Empty if the sizes are equal, or `first` is 0.
 */
export function consistencyRanges(first: number, second: number): EntryRange[] {
  if (first === 0) return []
  const ranges: EntryRange[] = []
  let [from, to, isPrefix] = [0, second, true]
  while (first < to) {
    const middle = from + largestPowerBelow(to - from)
    if (first <= middle) {
      ranges.push({ from: middle, to })
      to = middle
    } else {
      ranges.push({ from, to: middle })
      from = middle
      isPrefix = false
    }
  }
  if (!isPrefix) ranges.push({ from, to })
  return ranges.reverse()
}

function largestPowerBelow(count: number): number {
  let power = 1
  while (power * 2 < count) power *= 2
  return power
}

/** A complete subtree: the entries from `index * 2 ** level` on, `2 ** level` of them. */
export interface Subtree {
  readonly level: number
  readonly index: number
}

/** The complete subtrees that make up a range of a proof, the largest first. Their fold with `rootOf` is the hash of the range. */
export function subtreesOf({ from, to }: EntryRange): Subtree[] {
  const subtrees: Subtree[] = []
  for (let start = from; start < to; ) {
    let [level, width] = [0, 1]
    while (width * 2 <= to - start && start % (width * 2) === 0) {
      level += 1
      width *= 2
    }
    subtrees.push({ level, index: start / width })
    start += width
  }
  return subtrees
}

/** Whether `proof` proves that the tree of `size` entries with `root` has this leaf at `index` (RFC 9162, section 2.1.3.2). */
export function isIncluded(
  leaf: Uint8Array,
  index: number,
  size: number,
  proof: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  if (!isIndex(index) || !isIndex(size) || index >= size) return false
  let [node, last, hash] = [index, size - 1, leaf]
  for (const other of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(other, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else hash = nodeHash(hash, other)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && equalBytes(hash, root)
}

/**
 * Whether `proof` proves that the tree of `first` entries is a prefix of the tree of `second` entries (RFC 9162, section
 * 2.1.4.2).
 */
export function isConsistent(
  first: number,
  second: number,
  firstRoot: Uint8Array,
  secondRoot: Uint8Array,
  proof: readonly Uint8Array[],
): boolean {
  if (!isIndex(first) || !isIndex(second) || first > second) return false
  if (first === second) return proof.length === 0 && equalBytes(firstRoot, secondRoot)
  if (first === 0) return proof.length === 0 && equalBytes(firstRoot, rootOf(emptyTree))
  let [node, last] = [first - 1, second - 1]
  while (node % 2 === 1) [node, last] = [(node - 1) / 2, Math.floor(last / 2)]
  // A complete first tree is a subtree of the second one: its hash starts the proof.
  const hashes = node === 0 ? [firstRoot, ...proof] : proof
  const [start, ...rest] = hashes
  if (start === undefined) return false
  let [oldHash, newHash] = [start, start]
  for (const other of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      oldHash = nodeHash(other, oldHash)
      newHash = nodeHash(other, newHash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else newHash = nodeHash(newHash, other)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && equalBytes(oldHash, firstRoot) && equalBytes(newHash, secondRoot)
}

function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** Compares public values; not in constant time. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
