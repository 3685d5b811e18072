// Node and relationship records ↔ bytes. Both begin alike, so that one property is found in the raw bytes of either:
//   0 version · 1 flags · 4 count of references · 8 created · 16 updated · 24 count of properties · 28 type · 32 global id
//   58 length of external id · 60 length of location · 64 references · directory (symbol, offset), ascending · the rest
// The references of a node are its labels, ascending; those of a relationship are its source and its target.
import type { NodeId, PropertyMetadata, StoredProperty, SymbolId } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { GID_SUFFIX_LENGTH, writeGidSuffix } from '../../kernel/ids.ts'
import { parseJson, writeJson } from '../../kernel/json.ts'
import type { ByteWriter, ValueView } from './bytes.ts'
import { readValue, writeValue } from './property-values.ts'
import { readText } from './text.ts'

export const RECORD_VERSION = 1

const IS_IDENTITY = 1
const HAS_LOCATION = 2

const GID_PREFIX = 'gid:'
const GID_LENGTH = GID_PREFIX.length + GID_SUFFIX_LENGTH
const CREATED_AT = 8
const UPDATED_AT = 16
const GID_AT = 32
const EXTERNAL_ID_LENGTH_AT = 58
const LOCATION_LENGTH_AT = 60
const FIXED_BYTES = 64
/** The same places counted in words. */
const REFERENCE_COUNT = 1
const PROPERTY_COUNT = 6
const TYPE = 7
const REFERENCES = 16

/** Above this many properties the directory is searched by halves. */
const LINEAR_SCAN_MAX = 8

export type StoredProperties = ReadonlyMap<SymbolId, StoredProperty>

export interface NodeRecord {
  /** 0 for a node without upsert key. */
  readonly type: SymbolId
  readonly externalId: string
  /** Ascending, the type among them. */
  readonly labels: readonly SymbolId[]
  readonly isIdentity: boolean
  readonly location: string | null
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: StoredProperties
}

export interface RelationshipRecord {
  readonly type: SymbolId
  readonly source: NodeId
  readonly target: NodeId
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: StoredProperties
}

// -- writing

/** What both kinds have in common. */
type CommonFields = Pick<RelationshipRecord, 'type' | 'createdMs' | 'updatedMs' | 'properties'>

/** Writes all but the global id and what is of no fixed length; answers where it begins. */
function writeFixedPart(
  sink: ByteWriter,
  { type, createdMs, updatedMs, properties }: CommonFields,
  flags: number,
  count: number,
): number {
  const start = sink.reserve(FIXED_BYTES)
  sink.patch(start, RECORD_VERSION | (flags << 8))
  sink.patch(start + REFERENCE_COUNT * 4, count)
  sink.patchF64(start + CREATED_AT, createdMs)
  sink.patchF64(start + UPDATED_AT, updatedMs)
  sink.patch(start + PROPERTY_COUNT * 4, properties.size)
  sink.patch(start + TYPE * 4, type)
  patchLengths(sink, start, 0, 0)
  return start
}

function writeGid({ bytes }: ByteWriter, start: number, gid: string): void {
  assert(gid.length === GID_LENGTH && gid.startsWith(GID_PREFIX), 'records carry minted ids')
  for (let i = GID_PREFIX.length, at = start + GID_AT; i < GID_LENGTH; i++) bytes[at++] = gid.charCodeAt(i)
}

function patchLengths({ bytes }: ByteWriter, start: number, externalId: number, location: number): void {
  bytes.writeUInt16LE(externalId, start + EXTERNAL_ID_LENGTH_AT)
  bytes.writeUInt32LE(location, start + LOCATION_LENGTH_AT)
}

/** From where the directory has been left room. */
function writeProperties(sink: ByteWriter, start: number, directory: number, properties: StoredProperties): void {
  if (properties.size === 0) return
  let at = directory
  for (const symbol of [...properties.keys()].sort((a, b) => a - b)) {
    sink.patch(at, symbol)
    sink.patch(at + 4, sink.length - start)
    at += 8
    writeProperty(sink, properties.get(symbol)!)
  }
}

export function writeNode(sink: ByteWriter, node: NodeRecord): void {
  const { labels, properties } = node
  const flags = (node.isIdentity ? IS_IDENTITY : 0) | (node.location === null ? 0 : HAS_LOCATION)
  const start = writeFixedPart(sink, node, flags, labels.length)
  writeGid(sink, start, node.gid)
  for (let i = 0; i < labels.length; i++) sink.u32(labels[i]!)
  const directory = sink.zeros(properties.size * 8)
  const externalId = sink.textWithoutLength(node.externalId)
  const location = node.location === null ? 0 : sink.textWithoutLength(node.location)
  patchLengths(sink, start, externalId, location)
  writeProperties(sink, start, directory, properties)
}

export function writeRelationship(sink: ByteWriter, relationship: RelationshipRecord): void {
  const start = writeFixedPart(sink, relationship, 0, 2)
  writeGid(sink, start, relationship.gid)
  writeEndpoints(sink, start, relationship)
}

/** As it, but its global id is minted in its place. */
export function writeNewRelationship(sink: ByteWriter, relationship: Omit<RelationshipRecord, 'gid'>): void {
  const start = writeFixedPart(sink, relationship, 0, 2)
  writeGidSuffix(sink.bytes, start + GID_AT, relationship.updatedMs)
  writeEndpoints(sink, start, relationship)
}

function writeEndpoints(
  sink: ByteWriter,
  start: number,
  { source, target, properties }: Omit<RelationshipRecord, 'gid'>,
): void {
  sink.u32(source)
  sink.u32(target)
  const directory = sink.zeros(properties.size * 8)
  writeProperties(sink, start, directory, properties)
}

// -- properties: time of the last change, flags, metadata where there is some, then the value

const EXTERNAL = 1
const METADATA = 2
const METADATA_AT = 9

function writeProperty(sink: ByteWriter, property: StoredProperty): void {
  sink.f64(property.updatedMs)
  sink.u8((property.externalValue === null ? 0 : EXTERNAL) | (property.metadata === null ? 0 : METADATA))
  if (property.metadata !== null) sink.text(writeJson(property.metadata))
  if (property.externalValue !== null) {
    sink.text(property.externalValue)
  } else {
    assert(property.value !== null, 'a property has a value or a resolver')
    writeValue(sink, property.value)
  }
}

function valueOffset({ view }: ValueView, at: number): number {
  const behind = at + METADATA_AT
  return (view.getUint8(at + 8) & METADATA) === 0 ? behind : behind + 4 + view.getUint32(behind, true)
}

function readTextAt({ view, text }: ValueView, at: number): string {
  return readText(text, at + 4, at + 4 + view.getUint32(at, true))
}

function readProperty(window: ValueView, at: number): StoredProperty {
  const flags = window.view.getUint8(at + 8)
  const external = (flags & EXTERNAL) !== 0
  const valueStart = valueOffset(window, at)
  return {
    value: external ? null : readValue(window, valueStart),
    externalValue: external ? readTextAt(window, valueStart) : null,
    updatedMs: window.view.getFloat64(at, true),
    metadata: (flags & METADATA) === 0 ? null : readMetadata(readTextAt(window, at + METADATA_AT)),
  }
}

/** Free JSON is part of it, in which 1 and 1.0 stay apart as in the captured text. */
function readMetadata(text: string): PropertyMetadata {
  const read = parseJson(text)
  // What is nested deeper than a request may be came from a caller in this process.
  return (read.ok ? read.value : JSON.parse(text)) as PropertyMetadata
}

// -- reading single fields from the raw bytes

/** To be called before any other reading of a record. */
export function checkVersion(window: ValueView): void {
  const version = window.view.getUint8(0)
  if (version !== RECORD_VERSION) throw new Error(`a record has the unknown version ${version}`)
}

/** Where the property stands, or 0. */
function findProperty({ words }: ValueView, symbol: SymbolId): number {
  const count = words[PROPERTY_COUNT]!
  const start = REFERENCES + words[REFERENCE_COUNT]!
  let low = 0
  let high = count
  if (count > LINEAR_SCAN_MAX) {
    while (low < high) {
      const middle = (low + high) >>> 1
      if (words[start + middle * 2]! < symbol) low = middle + 1
      else high = middle
    }
    return low < count && words[start + low * 2] === symbol ? words[start + low * 2 + 1]! : 0
  }
  for (; low < count; low++) if (words[start + low * 2] === symbol) return words[start + low * 2 + 1]!
  return 0
}

/** Null when absent, and when a resolver supplies it. */
export function propertyOf(window: ValueView, symbol: SymbolId): PropertyValue | null {
  const at = findProperty(window, symbol)
  if (at === 0 || (window.view.getUint8(at + 8) & EXTERNAL) !== 0) return null
  return readValue(window, valueOffset(window, at))
}

export function storedPropertyOf(window: ValueView, symbol: SymbolId): StoredProperty | null {
  const at = findProperty(window, symbol)
  return at === 0 ? null : readProperty(window, at)
}

/** Ascending by symbol. */
export function storedPropertiesOf(window: ValueView): Map<SymbolId, StoredProperty> {
  const { words } = window
  const start = REFERENCES + words[REFERENCE_COUNT]!
  const properties = new Map<SymbolId, StoredProperty>()
  for (let i = 0; i < words[PROPERTY_COUNT]!; i++) {
    properties.set(words[start + i * 2]!, readProperty(window, words[start + i * 2 + 1]!))
  }
  return properties
}

export function typeOf(window: ValueView): SymbolId {
  return window.words[TYPE]!
}

export function labelsOf({ words }: ValueView): SymbolId[] {
  const labels: SymbolId[] = []
  for (let i = 0; i < words[REFERENCE_COUNT]!; i++) labels.push(words[REFERENCES + i]!)
  return labels
}

export function sourceOf(window: ValueView): NodeId {
  return window.words[REFERENCES]!
}

export function targetOf(window: ValueView): NodeId {
  return window.words[REFERENCES + 1]!
}

export function gidOf(window: ValueView): string {
  return GID_PREFIX + window.text.toString('latin1', GID_AT, GID_AT + GID_LENGTH - GID_PREFIX.length)
}

export function createdMsOf(window: ValueView): number {
  return window.view.getFloat64(CREATED_AT, true)
}

export function updatedMsOf(window: ValueView): number {
  return window.view.getFloat64(UPDATED_AT, true)
}

export function isIdentityOf(window: ValueView): boolean {
  return (window.view.getUint8(1) & IS_IDENTITY) !== 0
}

function variablePartAt({ words }: ValueView): number {
  return FIXED_BYTES + words[REFERENCE_COUNT]! * 4 + words[PROPERTY_COUNT]! * 8
}

export function externalIdOf(window: ValueView): string {
  const start = variablePartAt(window)
  return readText(window.text, start, start + window.view.getUint16(EXTERNAL_ID_LENGTH_AT, true))
}

export function locationOf(window: ValueView): string | null {
  const { view } = window
  if ((view.getUint8(1) & HAS_LOCATION) === 0) return null
  const start = variablePartAt(window) + view.getUint16(EXTERNAL_ID_LENGTH_AT, true)
  return readText(window.text, start, start + view.getUint32(LOCATION_LENGTH_AT, true))
}

// -- reading whole records

export function readNode(window: ValueView): NodeRecord {
  checkVersion(window)
  return {
    type: typeOf(window),
    externalId: externalIdOf(window),
    labels: labelsOf(window),
    isIdentity: isIdentityOf(window),
    location: locationOf(window),
    gid: gidOf(window),
    createdMs: createdMsOf(window),
    updatedMs: updatedMsOf(window),
    properties: storedPropertiesOf(window),
  }
}

export function readRelationship(window: ValueView): RelationshipRecord {
  checkVersion(window)
  return {
    type: typeOf(window),
    source: sourceOf(window),
    target: targetOf(window),
    gid: gidOf(window),
    createdMs: createdMsOf(window),
    updatedMs: updatedMsOf(window),
    properties: storedPropertiesOf(window),
  }
}
