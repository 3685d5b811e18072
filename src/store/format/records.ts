// Encodes node and relationship records. Both begin with the same fields, so that one property can be read without decoding
// the rest. Byte offsets: 0 version · 1 flags · 4 reference count · 8 created · 16 updated · 24 property count · 28 type ·
// 32 global id · 58 length of external id · 60 length of location · 64 references · directory (symbol, offset), ascending ·
// external id, location, properties. References of a node are its labels, ascending; of a relationship its source and target.
import type { NodeId, PropertyMetadata, StoredProperty, SymbolId } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { GID_SUFFIX_LENGTH, writeGidSuffix } from '../../kernel/ids.ts'
import { parseJson, writeJson } from '../../kernel/json/json.ts'
import type { ByteWriter, ValueView } from './bytes.ts'
import { hasWideInteger, readValue, writeValue } from './property-values.ts'
import { readText } from './text.ts'
import type { TextMemo } from './text-memo.ts'

/** The version byte of every record. */
const RECORD_VERSION = 1

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
/** Word offsets of the same fields. */
const REFERENCE_COUNT = 1
const PROPERTY_COUNT = 6
const TYPE = 7
const REFERENCES = 16

/** Up to this many properties the directory is searched linearly, above it by binary search. */
const LINEAR_SCAN_MAX = 8

/** The properties of an element by property symbol. */
export type StoredProperties = ReadonlyMap<SymbolId, StoredProperty>

/** A decoded node record. */
export interface NodeRecord {
  /** 0: a node without upsert key. */
  readonly type: SymbolId
  readonly externalId: string
  /** Ascending; includes the type. */
  readonly labels: readonly SymbolId[]
  readonly isIdentity: boolean
  readonly location: string | null
  readonly gid: string
  readonly createdMs: number
  readonly updatedMs: number
  readonly properties: StoredProperties
}

/** A decoded relationship record. */
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

/** The fields that nodes and relationships share. */
type CommonFields = Pick<RelationshipRecord, 'type' | 'createdMs' | 'updatedMs' | 'properties'>

/** Writes the fixed fields except the global id. Returns the offset of the record. */
function writeFixedPart(
  writer: ByteWriter,
  { type, createdMs, updatedMs, properties }: CommonFields,
  flags: number,
  count: number,
): number {
  const start = writer.reserve(FIXED_BYTES)
  writer.patch(start, RECORD_VERSION | (flags << 8))
  writer.patch(start + REFERENCE_COUNT * 4, count)
  writer.patchF64(start + CREATED_AT, createdMs)
  writer.patchF64(start + UPDATED_AT, updatedMs)
  writer.patch(start + PROPERTY_COUNT * 4, properties.size)
  writer.patch(start + TYPE * 4, type)
  patchLengths(writer, start, 0, 0)
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

/** Writes the properties and fills the directory, which was reserved at offset `directory`. */
function writeProperties(writer: ByteWriter, start: number, directory: number, properties: StoredProperties): void {
  if (properties.size === 0) return
  let at = directory
  for (const symbol of [...properties.keys()].sort((a, b) => a - b)) {
    writer.patch(at, symbol)
    writer.patch(at + 4, writer.length - start)
    at += 8
    writeProperty(writer, properties.get(symbol)!)
  }
}

/** Appends a node record. */
export function writeNode(writer: ByteWriter, node: NodeRecord): void {
  const { labels, properties } = node
  const flags = (node.isIdentity ? IS_IDENTITY : 0) | (node.location === null ? 0 : HAS_LOCATION)
  const start = writeFixedPart(writer, node, flags, labels.length)
  writeGid(writer, start, node.gid)
  for (let i = 0; i < labels.length; i++) writer.u32(labels[i]!)
  const directory = writer.zeros(properties.size * 8)
  const externalId = writer.textWithoutLength(node.externalId)
  const location = node.location === null ? 0 : writer.textWithoutLength(node.location)
  patchLengths(writer, start, externalId, location)
  writeProperties(writer, start, directory, properties)
}

/** Appends a relationship record. */
export function writeRelationship(writer: ByteWriter, relationship: RelationshipRecord): void {
  const start = writeFixedPart(writer, relationship, 0, 2)
  writeGid(writer, start, relationship.gid)
  writeEndpoints(writer, start, relationship)
}

/** Appends a relationship record and mints its global id in place. */
export function writeNewRelationship(writer: ByteWriter, relationship: Omit<RelationshipRecord, 'gid'>): void {
  const start = writeFixedPart(writer, relationship, 0, 2)
  writeGidSuffix(writer.bytes, start + GID_AT, relationship.updatedMs)
  writeEndpoints(writer, start, relationship)
}

function writeEndpoints(
  writer: ByteWriter,
  start: number,
  { source, target, properties }: Omit<RelationshipRecord, 'gid'>,
): void {
  writer.u32(source)
  writer.u32(target)
  const directory = writer.zeros(properties.size * 8)
  writeProperties(writer, start, directory, properties)
}

// -- properties: time of the last change, flags, metadata if present, then the value

const EXTERNAL = 1
const METADATA = 2
const METADATA_AT = 9

function writeProperty(writer: ByteWriter, property: StoredProperty): void {
  writer.f64(property.updatedMs)
  writer.u8((property.externalValue === null ? 0 : EXTERNAL) | (property.metadata === null ? 0 : METADATA))
  if (property.metadata !== null) writer.text(writeJson(property.metadata))
  if (property.externalValue !== null) {
    writer.text(property.externalValue)
  } else {
    assert(property.value !== null, 'a property has a value or a resolver')
    writeValue(writer, property.value)
  }
}

function valueOffset({ view }: ValueView, at: number): number {
  const offset = at + METADATA_AT
  return (view.getUint8(at + 8) & METADATA) === 0 ? offset : offset + 4 + view.getUint32(offset, true)
}

function readTextAt({ view, text }: ValueView, at: number): string {
  return readText(text, at + 4, at + 4 + view.getUint32(at, true))
}

function readProperty(valueView: ValueView, at: number): StoredProperty {
  const flags = valueView.view.getUint8(at + 8)
  const external = (flags & EXTERNAL) !== 0
  const valueStart = valueOffset(valueView, at)
  return {
    value: external ? null : readValue(valueView, valueStart),
    externalValue: external ? readTextAt(valueView, valueStart) : null,
    updatedMs: valueView.view.getFloat64(at, true),
    metadata: (flags & METADATA) === 0 ? null : readMetadata(readTextAt(valueView, at + METADATA_AT)),
  }
}

/** Metadata contains free JSON, in which 1 and 1.0 stay distinct. */
function readMetadata(text: string): PropertyMetadata {
  const read = parseJson(text)
  // JSON nested deeper than the parser allows was written by a caller in this process.
  return (read.ok ? read.value : JSON.parse(text)) as PropertyMetadata
}

// -- reading single fields from the raw bytes

/** Throws Error if the record has another version. Call it before any other read of a record. */
export function checkVersion(valueView: ValueView): void {
  const version = valueView.view.getUint8(0)
  if (version !== RECORD_VERSION) throw new Error(`a record has the unknown version ${version}`)
}

/** Offset of the property in the record, or 0 if the element does not have it. */
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

/** The value of a property. Null if the element does not have it, or if an external resolver supplies it. */
export function propertyOf(valueView: ValueView, symbol: SymbolId): PropertyValue | null {
  const at = findProperty(valueView, symbol)
  if (at === 0 || (valueView.view.getUint8(at + 8) & EXTERNAL) !== 0) return null
  return readValue(valueView, valueOffset(valueView, at))
}

/** A property with its metadata, or null. */
export function storedPropertyOf(valueView: ValueView, symbol: SymbolId): StoredProperty | null {
  const at = findProperty(valueView, symbol)
  return at === 0 ? null : readProperty(valueView, at)
}

/** The number of properties. */
export function propertyCountOf({ words }: ValueView): number {
  return words[PROPERTY_COUNT]!
}

/** The symbol of the property with that index, ascending. */
export function propertySymbolAt({ words }: ValueView, index: number): SymbolId {
  return words[REFERENCES + words[REFERENCE_COUNT]! + index * 2]!
}

/** The offset of the property with that index, for the functions below. */
export function propertyOffsetAt({ words }: ValueView, index: number): number {
  return words[REFERENCES + words[REFERENCE_COUNT]! + index * 2 + 1]!
}

/** The time of the last change of the property at an offset, in milliseconds since the epoch. */
export function propertyUpdatedMsAt({ view }: ValueView, at: number): number {
  return view.getFloat64(at, true)
}

/** The value of the property at an offset; null if an external resolver supplies it. */
export function propertyValueAt(valueView: ValueView, at: number): PropertyValue | null {
  return (valueView.view.getUint8(at + 8) & EXTERNAL) === 0 ? readValue(valueView, valueOffset(valueView, at)) : null
}

/** Whether a property has an integer in more bits than it needs: writing the record again mends it. */
export function hasWideIntegers(valueView: ValueView): boolean {
  for (let i = 0; i < propertyCountOf(valueView); i++) {
    const at = propertyOffsetAt(valueView, i)
    if ((valueView.view.getUint8(at + 8) & EXTERNAL) === 0 && hasWideInteger(valueView, valueOffset(valueView, at)))
      return true
  }
  return false
}

/** The name of the resolver of the property at an offset, or null. */
export function externalValueAt(valueView: ValueView, at: number): string | null {
  return (valueView.view.getUint8(at + 8) & EXTERNAL) === 0 ? null : readTextAt(valueView, valueOffset(valueView, at))
}

/** The metadata of the property at an offset, or null. `memo` contains metadata that was decoded before. */
export function metadataAt(
  valueView: ValueView,
  at: number,
  memo: TextMemo<PropertyMetadata>,
): PropertyMetadata | null {
  const { view } = valueView
  if ((view.getUint8(at + 8) & METADATA) === 0) return null
  const start = at + METADATA_AT + 4
  return memo.get(valueView, start, start + view.getUint32(at + METADATA_AT, true), readMetadata)
}

/** All properties, ascending by symbol. */
export function storedPropertiesOf(valueView: ValueView): Map<SymbolId, StoredProperty> {
  const { words } = valueView
  const start = REFERENCES + words[REFERENCE_COUNT]!
  const properties = new Map<SymbolId, StoredProperty>()
  for (let i = 0; i < words[PROPERTY_COUNT]!; i++) {
    properties.set(words[start + i * 2]!, readProperty(valueView, words[start + i * 2 + 1]!))
  }
  return properties
}

/** The names of the properties, ascending. */
export function propertySymbolsOf({ words }: ValueView): SymbolId[] {
  const start = REFERENCES + words[REFERENCE_COUNT]!
  return Array.from({ length: words[PROPERTY_COUNT]! }, (_, i) => words[start + i * 2]!)
}

/** Node type or relationship type. */
export function typeOf(valueView: ValueView): SymbolId {
  return valueView.words[TYPE]!
}

/** The labels of a node record, ascending. */
export function labelsOf({ words }: ValueView): SymbolId[] {
  const labels: SymbolId[] = []
  for (let i = 0; i < words[REFERENCE_COUNT]!; i++) labels.push(words[REFERENCES + i]!)
  return labels
}

/** The source of a relationship record. */
export function sourceOf(valueView: ValueView): NodeId {
  return valueView.words[REFERENCES]!
}

/** The target of a relationship record. */
export function targetOf(valueView: ValueView): NodeId {
  return valueView.words[REFERENCES + 1]!
}

/** The global id, with its prefix `gid:`. */
export function gidOf(valueView: ValueView): string {
  return GID_PREFIX + valueView.text.toString('latin1', GID_AT, GID_AT + GID_LENGTH - GID_PREFIX.length)
}

/** Creation time in milliseconds since the epoch. */
export function createdMsOf(valueView: ValueView): number {
  return valueView.view.getFloat64(CREATED_AT, true)
}

/** Time of the last change in milliseconds since the epoch. */
export function updatedMsOf(valueView: ValueView): number {
  return valueView.view.getFloat64(UPDATED_AT, true)
}

/** Whether a node is an identity (a subject). */
export function isIdentityOf(valueView: ValueView): boolean {
  return (valueView.view.getUint8(1) & IS_IDENTITY) !== 0
}

function variablePartAt({ words }: ValueView): number {
  return FIXED_BYTES + words[REFERENCE_COUNT]! * 4 + words[PROPERTY_COUNT]! * 8
}

/** The external id of a node record. */
export function externalIdOf(valueView: ValueView): string {
  const start = variablePartAt(valueView)
  return readText(valueView.text, start, start + valueView.view.getUint16(EXTERNAL_ID_LENGTH_AT, true))
}

/** The location of a node record, or null. */
export function locationOf(valueView: ValueView): string | null {
  const { view } = valueView
  if ((view.getUint8(1) & HAS_LOCATION) === 0) return null
  const start = variablePartAt(valueView) + view.getUint16(EXTERNAL_ID_LENGTH_AT, true)
  return readText(valueView.text, start, start + view.getUint32(LOCATION_LENGTH_AT, true))
}

// -- reading whole records

/** Decodes a node record. Throws Error for an unknown record version. */
export function readNode(valueView: ValueView): NodeRecord {
  checkVersion(valueView)
  return {
    type: typeOf(valueView),
    externalId: externalIdOf(valueView),
    labels: labelsOf(valueView),
    isIdentity: isIdentityOf(valueView),
    location: locationOf(valueView),
    gid: gidOf(valueView),
    createdMs: createdMsOf(valueView),
    updatedMs: updatedMsOf(valueView),
    properties: storedPropertiesOf(valueView),
  }
}

/** Decodes a relationship record. Throws Error for an unknown record version. */
export function readRelationship(valueView: ValueView): RelationshipRecord {
  checkVersion(valueView)
  return {
    type: typeOf(valueView),
    source: sourceOf(valueView),
    target: targetOf(valueView),
    gid: gidOf(valueView),
    createdMs: createdMsOf(valueView),
    updatedMs: updatedMsOf(valueView),
    properties: storedPropertiesOf(valueView),
  }
}
