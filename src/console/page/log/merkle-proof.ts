// Proofs of the Merkle tree of RFC 9162 with SHA-256, computed in the browser.
import { areEqual, type Bytes, joined, sha256 } from './audit-bytes.ts'

/** SHA-256 of the entry, prefixed with a zero byte. */
export function hashOfLeaf(entry: Bytes): Promise<Bytes> {
  return sha256(joined(new Uint8Array([0]), entry))
}

function hashOfNode(left: Bytes, right: Bytes): Promise<Bytes> {
  return sha256(joined(new Uint8Array([1]), left, right))
}

/** Whether `proof` leads from the leaf at `index` to the root of the tree of `size` entries (RFC 9162, section 2.1.3.2). */
export async function provesInclusion(
  leaf: Bytes,
  index: number,
  size: number,
  proof: readonly Bytes[],
  root: Bytes,
): Promise<boolean> {
  if (!isCount(index) || !isCount(size) || index >= size) return false
  let node = index
  let last = size - 1
  let hash = leaf
  for (const other of proof) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      hash = await hashOfNode(other, hash)
      while (node % 2 === 0 && node !== 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else hash = await hashOfNode(hash, other)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && areEqual(hash, root)
}

/** Whether `proof` shows that the tree of `first` entries begins the tree of `second` entries (RFC 9162, section 2.1.4.2). */
export async function provesConsistency(
  first: number,
  second: number,
  firstRoot: Bytes,
  secondRoot: Bytes,
  proof: readonly Bytes[],
): Promise<boolean> {
  if (!isCount(first) || !isCount(second) || first < 1 || first > second) return false
  if (first === second) return proof.length === 0 && areEqual(firstRoot, secondRoot)
  let node = first - 1
  let last = second - 1
  while (node % 2 === 1) {
    node = (node - 1) / 2
    last = Math.floor(last / 2)
  }
  // A complete first tree is a subtree of the second one: its hash begins the proof.
  const [start, ...rest] = node === 0 ? [firstRoot, ...proof] : proof
  if (start === undefined) return false
  let oldHash = start
  let newHash = start
  for (const other of rest) {
    if (last === 0) return false
    if (node % 2 === 1 || node === last) {
      oldHash = await hashOfNode(other, oldHash)
      newHash = await hashOfNode(other, newHash)
      while (node % 2 === 0 && node !== 0) {
        node /= 2
        last = Math.floor(last / 2)
      }
    } else newHash = await hashOfNode(newHash, other)
    node = Math.floor(node / 2)
    last = Math.floor(last / 2)
  }
  return last === 0 && areEqual(oldHash, firstRoot) && areEqual(newHash, secondRoot)
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}
