// Reads the lines that most lines are from their bytes: an element without properties, its members in the order of an
// export, nothing in its text that JSON would escape. Null for all others, be they wrong or not: those are read field by field.
import type { NodeKey } from '../engine/store.ts'
import {
  ELEMENT_NAME,
  externalIdLength,
  type LengthRange,
  labelLength,
  relationshipTypeLength,
} from '../kernel/element-rules.ts'
import { isGid } from '../kernel/ids.ts'
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
/** What names begin with that are reserved for the service. */
const UNDERSCORE = 0x5f
const GID_LENGTH = 30

/** Of the line that is read: one at a time. */
let bytes: Buffer = END
let at = 0
let end = 0
let isExport = false

export function parseFastLine(source: Buffer, start: number, stop: number, ofExport: boolean): ExportLine | null {
  bytes = source
  at = start
  end = stop
  isExport = ofExport
  if (takes(RELATIONSHIP)) return relationship()
  return takes(NODE) ? node() : null
}

function node(): ExportLine | null {
  if (isReservedHere()) return null
  const key = nodeKey()
  if (key === null || !takesQuote()) return null
  const given = common()
  return given === null ? null : { kind: 'node', node: { ...key, ...given } }
}

function relationship(): ExportLine | null {
  const source = nodeKey()
  if (source === null || !takes(TYPE) || isReservedHere()) return null
  const type = name(relationshipTypeLength)
  if (type === null || !takes(TARGET)) return null
  const target = nodeKey()
  if (target === null || !takesQuote() || !takes(BRACE)) return null
  const given = common()
  return given === null ? null : { kind: 'relationship', relationship: { source, type, target, ...given } }
}

function nodeKey(): NodeKey | null {
  const type = name(labelLength)
  if (type === null || !takes(EXTERNAL_ID)) return null
  const from = at
  if (!passText(externalIdLength.min, externalIdLength.max)) return null
  return { type, externalId: bytes.toString('latin1', from, at) }
}

interface FastLineFields {
  gid?: string
  createdMs?: number
  updatedMs?: number
}

const NO_FIELDS: FastLineFields = {}

/** What follows up to the end of the line. */
function common(): FastLineFields | null {
  if (takes(END)) return at === end ? NO_FIELDS : null
  if (!takes(COMMA) || !takes(ID)) return null
  const from = at
  if (!passText(GID_LENGTH, GID_LENGTH)) return null
  const gid = bytes.toString('latin1', from, at)
  if (!isGid(gid)) return null
  const createdMs = takes(CREATE_TIME) ? time() : null
  if (createdMs === null) return null
  const given: FastLineFields = { gid, createdMs }
  if (takes(UPDATE_TIME)) {
    const updatedMs = time()
    if (updatedMs === null) return null
    given.updatedMs = updatedMs
  }
  return takesQuote() && takes(END) && at === end ? given : null
}

function time(): number | null {
  const from = at
  return passText(1, 64) ? parseTime(bytes.toString('latin1', from, at)) : null
}

function isReservedHere(): boolean {
  return !isExport && bytes[at] === UNDERSCORE
}

function takesQuote(): boolean {
  if (bytes[at] !== QUOTE) return false
  at += 1
  return true
}

function takes(word: Buffer): boolean {
  const { length } = word
  if (at + length > end) return false
  for (let i = 0; i < length; i++) if (bytes[at + i] !== word[i]) return false
  at += length
  return true
}

/** Up to the quote behind it, over plain characters alone. */
function passText(min: number, max: number): boolean {
  let to = at
  const last = Math.min(end, at + max)
  for (; to < last; to++) {
    const byte = bytes[to]!
    if (byte === QUOTE) break
    if (byte < 0x20 || byte >= 0x80 || byte === BACKSLASH) return false
  }
  const length = to - at
  at = to
  return length >= min && to < end && bytes[to] === QUOTE
}

// -- names: there are few of them, and they come again

interface CachedName {
  readonly bytes: Uint8Array
  readonly text: string
}

const names: (CachedName | undefined)[] = new Array(256).fill(undefined)

function name({ min, max }: LengthRange): string | null {
  const from = at
  if (!passText(min, max)) return null
  const length = at - from
  const place = (length * 31 + bytes[from]! * 7 + bytes[at - 1]!) & 255
  const known = names[place]
  if (known !== undefined && known.bytes.length === length && isAt(known.bytes, from)) return known.text
  const text = bytes.toString('latin1', from, at)
  if (!ELEMENT_NAME.test(text)) return null
  names[place] = { bytes: Uint8Array.from(bytes.subarray(from, at)), text }
  return text
}

function isAt(word: Uint8Array, from: number): boolean {
  for (let i = 0; i < word.length; i++) if (bytes[from + i] !== word[i]) return false
  return true
}
