// Hashes and proofs of the Merkle tree: against the reference vectors of Certificate Transparency, and against a naive tree
// that follows the recursive definitions of RFC 9162.
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  consistencyRanges,
  emptyTree,
  extendTree,
  inclusionRanges,
  isConsistent,
  isIncluded,
  leafHash,
  rootOf,
  subtreesOf,
} from '../../../../src/audit/log/merkle.ts'

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const unhex = (text: string): Uint8Array => Buffer.from(text, 'hex')

// From the tests of Certificate Transparency implementations: https://github.com/transparency-dev/merkle, testonly/constants.go.
const leaves = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  unhex,
)
const roots = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
]
/** Index and size. */
const inclusionVectors: readonly (readonly [number, number, readonly string[]])[] = [
  [0, 1, []],
  [
    0,
    8,
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [
    5,
    8,
    [
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [2, 3, ['fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125']],
  [
    1,
    5,
    [
      '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
]
/** Sizes of the two trees. */
const consistencyVectors: readonly (readonly [number, number, readonly string[]])[] = [
  [1, 1, []],
  [
    1,
    8,
    [
      '96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7',
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      '6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4',
    ],
  ],
  [
    6,
    8,
    [
      '0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ],
  ],
  [
    2,
    5,
    [
      '5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e',
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
    ],
  ],
]

/** MTH of RFC 9162, section 2.1.1, as it is written there. */
function naiveRoot(hashes: readonly Uint8Array[]): Uint8Array {
  if (hashes.length === 0) return createHash('sha256').digest()
  if (hashes.length === 1) return hashes[0] as Uint8Array
  const middle = 2 ** Math.floor(Math.log2(hashes.length - 1))
  return createHash('sha256')
    .update(Buffer.from([1]))
    .update(naiveRoot(hashes.slice(0, middle)))
    .update(naiveRoot(hashes.slice(middle)))
    .digest()
}

describe('the Merkle tree', () => {
  it('has the reference roots of Certificate Transparency', () => {
    const hashes = leaves.map(leafHash)
    for (const [size, root] of roots.entries())
      expect(hex(rootOf(extendTree(emptyTree, hashes.slice(0, size))))).toBe(root)
  })

  it('has the reference proofs of Certificate Transparency', () => {
    const hashes = leaves.map(leafHash)
    const proofOf = (ranges: readonly { from: number; to: number }[]): string[] =>
      ranges.map(({ from, to }) => hex(naiveRoot(hashes.slice(from, to))))
    const rootAt = (size: number): Uint8Array => unhex(roots[size] as string)
    for (const [index, size, proof] of inclusionVectors) {
      expect(proofOf(inclusionRanges(index, size))).toEqual(proof)
      expect(isIncluded(hashes[index] as Uint8Array, index, size, proof.map(unhex), rootAt(size))).toBe(true)
    }
    for (const [first, second, proof] of consistencyVectors) {
      expect(proofOf(consistencyRanges(first, second))).toEqual(proof)
      expect(isConsistent(first, second, rootAt(first), rootAt(second), proof.map(unhex))).toBe(true)
    }
  })

  it('proves every entry and every prefix of all trees up to 70 entries, and refuses every other statement', () => {
    const hashes = Array.from({ length: 70 }, (_, index) => leafHash(Buffer.from(`entry ${index}`)))
    const hashAt = (index: number): Uint8Array => hashes[index] as Uint8Array
    const proofOf = (ranges: readonly { from: number; to: number }[]): Uint8Array[] =>
      ranges.map((range) => naiveRoot(hashes.slice(range.from, range.to)))
    for (let size = 1; size <= hashes.length; size += 1) {
      const root = naiveRoot(hashes.slice(0, size))
      expect(hex(rootOf(extendTree(emptyTree, hashes.slice(0, size))))).toBe(hex(root))
      for (let index = 0; index < size; index += 1) {
        const proof = proofOf(inclusionRanges(index, size))
        const isProven = (leaf: Uint8Array, at: number, of: number, by: readonly Uint8Array[]): boolean =>
          isIncluded(leaf, at, of, by, root)
        expect(isProven(hashAt(index), index, size, proof)).toBe(true)
        expect(isProven(leafHash(Buffer.from('other')), index, size, proof)).toBe(false)
        expect(isProven(hashAt(index), index, size, [...proof, root])).toBe(false)
        if (size > 1) expect(isProven(hashAt(index), index, size, proof.slice(1))).toBe(false)
        if (size > 1) expect(isProven(hashAt(index), (index + 1) % size, size, proof)).toBe(false)
        expect(isProven(hashAt(index), size, size, proof)).toBe(false)
      }
      for (let first = 1; first <= size; first += 1) {
        const old = naiveRoot(hashes.slice(0, first))
        const proof = proofOf(consistencyRanges(first, size))
        expect(isConsistent(first, size, old, root, proof)).toBe(true)
        expect(isConsistent(first, size, hashAt(0), root, proof)).toBe(first === 1)
        expect(isConsistent(first, size, old, hashAt(0), proof)).toBe(size === 1)
        expect(isConsistent(first, size, old, root, [...proof, root])).toBe(false)
        if (first < size) expect(isConsistent(first, size, old, root, proof.slice(1))).toBe(false)
        expect(isConsistent(size + 1, size, old, root, proof)).toBe(false)
      }
    }
  })

  it('splits every range of a proof into complete subtrees', () => {
    for (let size = 1; size < 700; size += 13) {
      for (let index = 0; index < size; index += 7) {
        for (const range of [...inclusionRanges(index, size), ...consistencyRanges(index, size)]) {
          let at = range.from
          for (const { level, index: place } of subtreesOf(range)) {
            expect(place * 2 ** level).toBe(at)
            at += 2 ** level
          }
          expect(at).toBe(range.to)
        }
      }
    }
  })
})
