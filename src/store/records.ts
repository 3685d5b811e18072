// Node and relationship records ↔ bytes. Both begin alike, so that one property is found in the raw bytes of either:
//   0 version · 1 flags · 4 count of references · 8 created · 16 updated · 24 count of properties · 28 type · 32 global id
//   58 length of external id · 60 length of location · 64 references · directory (symbol, offset), ascending · the rest
// The references of a node are its labels, ascending; those of a relationship are its source and its target.
import type { NodeId, PropertyMetadata, StoredProperty, SymbolId } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { assert } from '../kernel/assert.ts'
import { MINTED_LENGTH, mintInto } from '../kernel/ids.ts'
import { parseJson, writeJson } from '../kernel/json.ts'
import type { Sink, Window } from './bytes.ts'
import { readText } from './text.ts'
import { readValue, writeValue } from './values.ts'

export const RECORD_VERSION = 1

const IS_IDENTITY = 1
const HAS_LOCATION = 2

const GID_PREFIX = 'gid:'
const GID_LENGTH = GID_PREFIX.length + MINTED_LENGTH
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
const SCAN_MAX = 8

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
type Frame = Pick<RelationshipRecord, 'type' | 'createdMs' | 'updatedMs' | 'properties'>

/** Writes all but the global id and what is of no fixed length; answers where it begins. */
function writeHead(
  sink: Sink,
  { type, createdMs, updatedMs, properties }: Frame,
  flags: number,
  count: number,
): number {
  const start = sink.take(FIXED_BYTES)
  sink.patch(start, RECORD_VERSION | (flags << 8))
  sink.patch(start + REFERENCE_COUNT * 4, count)
  sink.patchF64(start + CREATED_AT, createdMs)
  sink.patchF64(start + UPDATED_AT, updatedMs)
  sink.patch(start + PROPERTY_COUNT * 4, properties.size)
  sink.patch(start + TYPE * 4, type)
  patchLengths(sink, start, 0, 0)
  return start
}

function writeGid({ bytes }: Sink, start: number, gid: string): void {
  assert(gid.length === GID_LENGTH && gid.startsWith(GID_PREFIX), 'records carry minted ids')
  for (let i = GID_PREFIX.length, at = start + GID_AT; i < GID_LENGTH; i++) bytes[at++] = gid.charCodeAt(i)
}

function patchLengths({ bytes }: Sink, start: number, externalId: number, location: number): void {
  bytes.writeUInt16LE(externalId, start + EXTERNAL_ID_LENGTH_AT)
  bytes.writeUInt32LE(location, start + LOCATION_LENGTH_AT)
}

/** From where the directory has been left room. */
function writeProperties(sink: Sink, start: number, directory: number, properties: StoredProperties): void {
  if (properties.size === 0) return
  let at = directory
  for (const symbol of [...properties.keys()].sort((a, b) => a - b)) {
    sink.patch(at, symbol)
    sink.patch(at + 4, sink.length - start)
    at += 8
    writeProperty(sink, properties.get(symbol)!)
  }
}

export function writeNode(sink: Sink, node: NodeRecord): void {
  const { labels, properties } = node
  const flags = (node.isIdentity ? IS_IDENTITY : 0) | (node.location === null ? 0 : HAS_LOCATION)
  const start = writeHead(sink, node, flags, labels.length)
  writeGid(sink, start, node.gid)
  for (let i = 0; i < labels.length; i++) sink.u32(labels[i]!)
  const directory = sink.gap(properties.size * 8)
  const externalId = sink.bareText(node.externalId)
  const location = node.location === null ? 0 : sink.bareText(node.location)
  patchLengths(sink, start, externalId, location)
  writeProperties(sink, start, directory, properties)
}

export function writeRelationship(sink: Sink, relationship: RelationshipRecord): void {
  const start = writeHead(sink, relationship, 0, 2)
  writeGid(sink, start, relationship.gid)
  writeEnds(sink, start, relationship)
}

/** As it, but its global id is minted in its place. */
export function writeNewRelationship(sink: Sink, relationship: Omit<RelationshipRecord, 'gid'>): void {
  const start = writeHead(sink, relationship, 0, 2)
  mintInto(sink.bytes, start + GID_AT, relationship.updatedMs)
  writeEnds(sink, start, relationship)
}

function writeEnds(sink: Sink, start: number, { source, target, properties }: Omit<RelationshipRecord, 'gid'>): void {
  sink.u32(source)
  sink.u32(target)
  const directory = sink.gap(properties.size * 8)
  writeProperties(sink, start, directory, properties)
}

// -- properties: time of the last change, flags, metadata where there is some, then the value

const EXTERNAL = 1
const METADATA = 2
const TO_METADATA = 9

function writeProperty(sink: Sink, property: StoredProperty): void {
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

function valueAt({ view }: Window, at: number): number {
  const behind = at + TO_METADATA
  return (view.getUint8(at + 8) & METADATA) === 0 ? behind : behind + 4 + view.getUint32(behind, true)
}

function readTextAt({ view, text }: Window, at: number): string {
  return readText(text, at + 4, at + 4 + view.getUint32(at, true))
}

function readProperty(window: Window, at: number): StoredProperty {
  const flags = window.view.getUint8(at + 8)
  const external = (flags & EXTERNAL) !== 0
  const valueStart = valueAt(window, at)
  return {
    value: external ? null : readValue(window, valueStart),
    externalValue: external ? readTextAt(window, valueStart) : null,
    updatedMs: window.view.getFloat64(at, true),
    metadata: (flags & METADATA) === 0 ? null : readMetadata(readTextAt(window, at + TO_METADATA)),
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
export function checkVersion(window: Window): void {
  const version = window.view.getUint8(0)
  if (version !== RECORD_VERSION) throw new Error(`a record has the unknown version ${version}`)
}

/** Where the property stands, or 0. */
function findProperty({ words }: Window, symbol: SymbolId): number {
  const count = words[PROPERTY_COUNT]!
  const start = REFERENCES + words[REFERENCE_COUNT]!
  let low = 0
  let high = count
  if (count > SCAN_MAX) {
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
export function propertyOf(window: Window, symbol: SymbolId): PropertyValue | null {
  const at = findProperty(window, symbol)
  if (at === 0 || (window.view.getUint8(at + 8) & EXTERNAL) !== 0) return null
  return readValue(window, valueAt(window, at))
}

export function storedPropertyOf(window: Window, symbol: SymbolId): StoredProperty | null {
  const at = findProperty(window, symbol)
  return at === 0 ? null : readProperty(window, at)
}

/** Ascending by symbol. */
export function storedPropertiesOf(window: Window): Map<SymbolId, StoredProperty> {
  const { words } = window
  const start = REFERENCES + words[REFERENCE_COUNT]!
  const properties = new Map<SymbolId, StoredProperty>()
  for (let i = 0; i < words[PROPERTY_COUNT]!; i++) {
    properties.set(words[start + i * 2]!, readProperty(window, words[start + i * 2 + 1]!))
  }
  return properties
}

export function typeOf(window: Window): SymbolId {
  return window.words[TYPE]!
}

export function labelsOf({ words }: Window): SymbolId[] {
  const labels: SymbolId[] = []
  for (let i = 0; i < words[REFERENCE_COUNT]!; i++) labels.push(words[REFERENCES + i]!)
  return labels
}

export function sourceOf(window: Window): NodeId {
  return window.words[REFERENCES]!
}

export function targetOf(window: Window): NodeId {
  return window.words[REFERENCES + 1]!
}

export function gidOf(window: Window): string {
  return GID_PREFIX + window.text.toString('latin1', GID_AT, GID_AT + GID_LENGTH - GID_PREFIX.length)
}

export function createdMsOf(window: Window): number {
  return window.view.getFloat64(CREATED_AT, true)
}

export function updatedMsOf(window: Window): number {
  return window.view.getFloat64(UPDATED_AT, true)
}

export function isIdentityOf(window: Window): boolean {
  return (window.view.getUint8(1) & IS_IDENTITY) !== 0
}

function restOf({ words }: Window): number {
  return FIXED_BYTES + words[REFERENCE_COUNT]! * 4 + words[PROPERTY_COUNT]! * 8
}

export function externalIdOf(window: Window): string {
  const start = restOf(window)
  return readText(window.text, start, start + window.view.getUint16(EXTERNAL_ID_LENGTH_AT, true))
}

export function locationOf(window: Window): string | null {
  const { view } = window
  if ((view.getUint8(1) & HAS_LOCATION) === 0) return null
  const start = restOf(window) + view.getUint16(EXTERNAL_ID_LENGTH_AT, true)
  return readText(window.text, start, start + view.getUint32(LOCATION_LENGTH_AT, true))
}

// -- reading whole records

export function readNode(window: Window): NodeRecord {
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

export function readRelationship(window: Window): RelationshipRecord {
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
