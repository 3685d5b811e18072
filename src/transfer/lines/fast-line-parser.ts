// Parses the most frequent lines of an import directly from their bytes: an element without properties, with its members in
// the order of an export and without characters that JSON escapes. This avoids a string and a JSON document per line.
// All other lines, valid or not, are left to parse-line.ts.
import type { NodeKey } from '../../engine/store.ts'
import {
  ELEMENT_NAME,
  externalIdLength,
  type LengthRange,
  labelLength,
  relationshipTypeLength,
} from '../../kernel/element-rules.ts'
import { isGid } from '../../kernel/ids.ts'
import { parseTime } from './line-fields.ts'
import type { ExportLine } from './line-format.ts'

const NODE = Buffer.from('{"node":{"type":"')
const RELATIONSHIP = Buffer.from('{"relationship":{"source":{"type":"')
const EXTERNAL_ID = Buffer.from('","external_id":"')
const TYPE = Buffer.from('"},"type":"')
const TARGET = Buffer.from('","target":{"type":"')
const BRACE = Buffer.from('}')
const COMMA = Buffer.from(',')
const ID = Buffer.from('"id":"')
const CREATE_TIME = Buffer.from('","create_time":"')
const UPDATE_TIME = Buffer.from('","update_time":"')
const END = Buffer.from('}}')

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Names reserved for the service begin with it. */
const UNDERSCORE = 0x5f
const GID_LENGTH = 30
const TIME_LENGTH_MAX = 64
/** Power of two. */
const CACHED_NAMES = 256

interface FastLineFields {
  gid?: string
  createdMs?: number
  updatedMs?: number
}

const NO_FIELDS: FastLineFields = {}

/** A valid name that was seen before. An import has few distinct names. */
interface CachedName {
  readonly bytes: Uint8Array
  readonly text: string
}

/** A parser with a cursor; it parses one line at a time. */
export class FastLineParser {
  private bytes: Buffer = END
  /** Index of the next byte. */
  private at = 0
  /** Index after the last byte of the line. */
  private end = 0
  private isExport = false
  private readonly names: (CachedName | undefined)[] = new Array(CACHED_NAMES).fill(undefined)

  /**
   * Parses the line in `bytes` from `start` to `end`, exclusive. Returns null for a line that `parseLine` must parse.
   * `isExport`: the file starts with the header of an export.
   */
  parse(bytes: Buffer, start: number, end: number, isExport: boolean): ExportLine | null {
    this.bytes = bytes
    this.at = start
    this.end = end
    this.isExport = isExport
    if (this.skip(RELATIONSHIP)) return this.relationship()
    return this.skip(NODE) ? this.node() : null
  }

  private node(): ExportLine | null {
    if (this.isReserved()) return null
    const key = this.nodeKey()
    if (key === null || !this.skipQuote()) return null
    const fields = this.fields()
    return fields === null ? null : { kind: 'node', node: { ...key, ...fields } }
  }

  private relationship(): ExportLine | null {
    const source = this.nodeKey()
    if (source === null || !this.skip(TYPE) || this.isReserved()) return null
    const type = this.name(relationshipTypeLength)
    if (type === null || !this.skip(TARGET)) return null
    const target = this.nodeKey()
    if (target === null || !this.skipQuote() || !this.skip(BRACE)) return null
    const fields = this.fields()
    return fields === null ? null : { kind: 'relationship', relationship: { source, type, target, ...fields } }
  }

  private nodeKey(): NodeKey | null {
    const type = this.name(labelLength)
    if (type === null || !this.skip(EXTERNAL_ID)) return null
    const externalId = this.text(externalIdLength.min, externalIdLength.max)
    return externalId === null ? null : { type, externalId }
  }

  /** The members up to the end of the line. */
  private fields(): FastLineFields | null {
    if (this.skip(END)) return this.at === this.end ? NO_FIELDS : null
    if (!this.skip(COMMA) || !this.skip(ID)) return null
    const gid = this.text(GID_LENGTH, GID_LENGTH)
    if (gid === null || !isGid(gid)) return null
    const createdMs = this.skip(CREATE_TIME) ? this.time() : null
    if (createdMs === null) return null
    const fields: FastLineFields = { gid, createdMs }
    if (this.skip(UPDATE_TIME)) {
      const updatedMs = this.time()
      if (updatedMs === null) return null
      fields.updatedMs = updatedMs
    }
    return this.skipQuote() && this.skip(END) && this.at === this.end ? fields : null
  }

  private time(): number | null {
    const text = this.text(1, TIME_LENGTH_MAX)
    return text === null ? null : parseTime(text)
  }

  /** Returns whether the name at the cursor is reserved and not allowed. */
  private isReserved(): boolean {
    return !this.isExport && this.bytes[this.at] === UNDERSCORE
  }

  private skipQuote(): boolean {
    if (this.bytes[this.at] !== QUOTE) return false
    this.at += 1
    return true
  }

  /** Moves the cursor over a constant; false: the line does not continue with it. */
  private skip(constant: Buffer): boolean {
    const { bytes, at } = this
    const { length } = constant
    if (at + length > this.end) return false
    for (let i = 0; i < length; i++) if (bytes[at + i] !== constant[i]) return false
    this.at = at + length
    return true
  }

  private text(min: number, max: number): string | null {
    const from = this.at
    return this.skipText(min, max) ? this.bytes.toString('latin1', from, this.at) : null
  }

  /** Moves the cursor to the next quote; false: the text has another length, or characters that are escaped or not ASCII. */
  private skipText(min: number, max: number): boolean {
    const { bytes, at, end } = this
    let to = at
    const last = Math.min(end, at + max)
    for (; to < last; to++) {
      const byte = bytes[to]!
      if (byte === QUOTE) break
      if (byte < 0x20 || byte >= 0x80 || byte === BACKSLASH) return false
    }
    this.at = to
    return to - at >= min && to < end && bytes[to] === QUOTE
  }

  private name({ min, max }: LengthRange): string | null {
    const from = this.at
    if (!this.skipText(min, max)) return null
    const { bytes, at, names } = this
    const length = at - from
    const slot = (length * 31 + bytes[from]! * 7 + bytes[at - 1]!) & (CACHED_NAMES - 1)
    const cached = names[slot]
    if (cached !== undefined && cached.bytes.length === length && isEqualAt(bytes, from, cached.bytes)) {
      return cached.text
    }
    const text = bytes.toString('latin1', from, at)
    if (!ELEMENT_NAME.test(text)) return null
    names[slot] = { bytes: Uint8Array.from(bytes.subarray(from, at)), text }
    return text
  }
}

function isEqualAt(bytes: Buffer, from: number, other: Uint8Array): boolean {
  for (let i = 0; i < other.length; i++) if (bytes[from + i] !== other[i]) return false
  return true
}
