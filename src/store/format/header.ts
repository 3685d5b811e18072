// The header of one environment: counters and version in one small value, which every snapshot reads first.
import type { GraphVersion } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { ByteWriter, ValueView } from './bytes.ts'

export type { GraphVersion } from '../../engine/store.ts'

/** Number of symbols of each kind, in the order of SYMBOL_KINDS. */
export type SymbolCounts = readonly [number, number, number]

/** The header of a graph environment, stored in `meta`. All fields are 32 bits. */
export interface EnvironmentHeader {
  /** The environment that wrote the last batch, and the number of that batch among its batches. */
  writer: number
  commit: number
  symbols: [number, number, number]
  /** The ids to assign next. */
  nextNode: number
  nextRelationship: number
  nextChunk: number
  nodes: number
  relationships: number
}

/** Ids have 32 bits. The greatest value is reserved as the end of a range. */
const ID_MAX = 0xfffffffe

/** Word offset of `writer`. A snapshot reads only the symbol counts and the version. */
export const WRITER_WORD = 8
/** Word offset of `commit`. */
export const COMMIT_WORD = 9

/** The header of an empty graph. Id 0 is never assigned. */
export function emptyHeader(): EnvironmentHeader {
  return {
    symbols: [0, 0, 0],
    nextNode: 1,
    nextRelationship: 1,
    nextChunk: 1,
    nodes: 0,
    relationships: 0,
    writer: 0,
    commit: 0,
  }
}

/** Returns the next id of the counter and increments it. Fails an assertion when all 32-bit ids are used. */
export function allocateId(header: EnvironmentHeader, counter: 'nextNode' | 'nextRelationship' | 'nextChunk'): number {
  const id = header[counter]
  assert(id <= ID_MAX, `the ids of an environment are not used up: ${counter}`)
  header[counter] = id + 1
  return id
}

/** Decodes a header. */
export function readHeader({ words }: ValueView): EnvironmentHeader {
  return {
    symbols: [words[0]!, words[1]!, words[2]!],
    nextNode: words[3]!,
    nextRelationship: words[4]!,
    nextChunk: words[5]!,
    nodes: words[6]!,
    relationships: words[7]!,
    writer: words[WRITER_WORD]!,
    commit: words[COMMIT_WORD]!,
  }
}

/** Decodes only the symbol counts of a header. */
export function readSymbolCounts({ words }: ValueView): SymbolCounts {
  return [words[0]!, words[1]!, words[2]!]
}

/** Encodes a header, without checksum. */
export function writeHeader(writer: ByteWriter, header: EnvironmentHeader): void {
  for (const count of header.symbols) writer.u32(count)
  writer.u32(header.nextNode)
  writer.u32(header.nextRelationship)
  writer.u32(header.nextChunk)
  writer.u32(header.nodes)
  writer.u32(header.relationships)
  writer.u32(header.writer)
  writer.u32(header.commit)
}

/** Reads the version from the bytes of a stored header at any alignment. Returns null if the bytes are too short. */
export function readVersion(bytes: Uint8Array): GraphVersion | null {
  if (bytes.length < (COMMIT_WORD + 1) * 4) return null
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  return { writer: view.getUint32(WRITER_WORD * 4, true), commit: view.getUint32(COMMIT_WORD * 4, true) }
}
