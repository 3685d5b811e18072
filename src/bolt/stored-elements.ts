// How nodes and relationships are stored in a database server, so that other tools can read them: the node type and the tags are
// labels, `external_id` and captured properties are plain properties, and everything else is in properties whose names begin with
// `_verdigraph_` (docs/decisions/0067-graphs-in-a-database-server.md).
import type { PropertyMetadata, StoredProperty, SymbolId, SymbolKind } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { parseJson, writeJson } from '../kernel/json/json.ts'
import { timestamp } from '../kernel/time/clock.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../store/format/records.ts'
import { type BoltDriver, propertyOfDriver, propertyToDriver } from './driver-values.ts'
import { hidden, isHiddenName } from './print/names.ts'

/** The key of a node in its database. */
export const EXTERNAL_ID = 'external_id'

/** The time of an element that another tool has written, and that has none. */
const NO_TIME = Number.NaN

/** Assigns symbol ids to names. */
export interface Symbols {
  intern(kind: SymbolKind, name: string): SymbolId
  name(kind: SymbolKind, id: SymbolId): string
}

/** A node of the driver. */
export interface DriverNode {
  readonly identity: bigint
  readonly labels: readonly string[]
  readonly properties: Readonly<Record<string, unknown>>
}

/** A relationship of the driver. */
export interface DriverRelationship {
  readonly identity: bigint
  readonly start: bigint
  readonly end: bigint
  readonly type: string
  readonly properties: Readonly<Record<string, unknown>>
}

/** Ids are stored in 32 bits. */
const ID_MAX = 2n ** 32n - 1n

/** The engine's id of an element: 0 is no element. */
export function engineId(identity: bigint): number {
  if (identity >= ID_MAX)
    throw new Error(`the graph database has an element with the id ${identity}, which is too large`)
  return Number(identity) + 1
}

/** The id of the element in its database. */
export function databaseId(id: number): bigint {
  return BigInt(id - 1)
}

/** What is stored of a property in addition to its value. Short names: it is stored for each property. */
interface PropertyDetail {
  /** Time of the last change, if it is not that of the element. */
  readonly at?: number
  /** The name of the resolver that supplies the value. */
  readonly ext?: string
  readonly meta?: PropertyMetadata
}

type Details = Readonly<Record<string, PropertyDetail>>

function timeOf(value: unknown): number {
  return typeof value === 'string' ? Date.parse(value) : NO_TIME
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function detailsOf(value: unknown): Details {
  if (typeof value !== 'string') return {}
  const parsed = parseJson(value)
  return parsed.ok && typeof parsed.value === 'object' && parsed.value !== null ? (parsed.value as Details) : {}
}

function propertiesOf(
  driver: BoltDriver,
  stored: Readonly<Record<string, unknown>>,
  updatedMs: number,
  symbols: Symbols,
): StoredProperties {
  const details = detailsOf(stored[hidden.details])
  const properties = new Map<SymbolId, StoredProperty>()
  for (const [name, value] of Object.entries(stored)) {
    if (name === EXTERNAL_ID || isHiddenName(name)) continue
    const read = propertyOfDriver(driver, value)
    if (read === null) continue
    const detail = Object.hasOwn(details, name) ? details[name]! : {}
    properties.set(symbols.intern('property', name), {
      value: read,
      externalValue: null,
      updatedMs: detail.at ?? updatedMs,
      metadata: detail.meta ?? null,
    })
  }
  for (const [name, { ext, at, meta }] of Object.entries(details)) {
    if (ext === undefined || name in stored) continue
    const property = { value: null, externalValue: ext, updatedMs: at ?? updatedMs, metadata: meta ?? null }
    properties.set(symbols.intern('property', name), property)
  }
  return properties
}

/** The type of the node `n` in a text: that of a captured node, else the first of its labels by name. */
export const TYPE_TEXT = `coalesce(n.${hidden.type}, reduce(first = null, label IN labels(n) | CASE WHEN first IS NULL OR label < first THEN label ELSE first END))`

/** The node type: that of a captured node, else the first label by name. */
export function nodeTypeOf(labels: readonly string[], stored: unknown): string | null {
  if (typeof stored === 'string') return stored
  return [...labels].sort()[0] ?? null
}

/** A node as the features read it. */
export function nodeOfDriver(driver: BoltDriver, node: DriverNode, symbols: Symbols): NodeRecord {
  const { labels, properties } = node
  const externalId = textOf(properties[EXTERNAL_ID])
  const type = externalId === null ? null : nodeTypeOf(labels, properties[hidden.type])
  const updatedMs = timeOf(properties[hidden.updated])
  return {
    type: type === null ? 0 : symbols.intern('label', type),
    externalId: externalId ?? '',
    labels: labels.map((label) => symbols.intern('label', label)).sort((a, b) => a - b),
    isIdentity: properties[hidden.identity] === true,
    location: textOf(properties[hidden.location]),
    gid: textOf(properties[hidden.id]) ?? '',
    createdMs: timeOf(properties[hidden.created]),
    updatedMs,
    properties: propertiesOf(driver, properties, updatedMs, symbols),
  }
}

/** A relationship as the features read it. */
export function relationshipOfDriver(
  driver: BoltDriver,
  relationship: DriverRelationship,
  symbols: Symbols,
): RelationshipRecord {
  const { type, start, end, properties } = relationship
  const updatedMs = timeOf(properties[hidden.updated])
  return {
    type: symbols.intern('type', type),
    source: engineId(start),
    target: engineId(end),
    gid: textOf(properties[hidden.id]) ?? '',
    createdMs: timeOf(properties[hidden.created]),
    updatedMs,
    properties: propertiesOf(driver, properties, updatedMs, symbols),
  }
}

function timeText(ms: number): string | null {
  return Number.isNaN(ms) ? null : timestamp(ms)
}

function storedProperties(
  driver: BoltDriver,
  { properties, updatedMs }: Pick<NodeRecord, 'properties' | 'updatedMs'>,
  symbols: Symbols,
): [string, unknown][] {
  const plain: [string, unknown][] = []
  const details: [string, PropertyDetail][] = []
  for (const [symbol, { value, externalValue, updatedMs: at, metadata }] of properties) {
    const name = symbols.name('property', symbol)
    if (value !== null) plain.push([name, propertyToDriver(driver, value as PropertyValue)])
    const detail: PropertyDetail = {
      ...(at === updatedMs || Number.isNaN(at) ? {} : { at }),
      ...(externalValue === null ? {} : { ext: externalValue }),
      ...(metadata === null ? {} : { meta: metadata }),
    }
    if (Object.keys(detail).length > 0) details.push([name, detail])
  }
  if (details.length > 0) plain.push([hidden.details, writeJson(Object.fromEntries(details))])
  return plain
}

/** All properties of a node in its database, by name. */
export function nodeToDriver(driver: BoltDriver, node: NodeRecord, symbols: Symbols): Record<string, unknown> {
  const { type, externalId, gid, createdMs, updatedMs, isIdentity, location } = node
  return {
    ...Object.fromEntries(storedProperties(driver, node, symbols)),
    ...(type === 0 ? {} : { [EXTERNAL_ID]: externalId, [hidden.type]: symbols.name('label', type) }),
    ...(gid === '' ? {} : { [hidden.id]: gid }),
    [hidden.created]: timeText(createdMs),
    [hidden.updated]: timeText(updatedMs),
    ...(isIdentity ? { [hidden.identity]: true } : {}),
    ...(location === null ? {} : { [hidden.location]: location }),
  }
}

/** All properties of a relationship in its database, by name. */
export function relationshipToDriver(
  driver: BoltDriver,
  relationship: RelationshipRecord,
  symbols: Symbols,
): Record<string, unknown> {
  const { gid, createdMs, updatedMs } = relationship
  return {
    ...Object.fromEntries(storedProperties(driver, relationship, symbols)),
    ...(gid === '' ? {} : { [hidden.id]: gid }),
    [hidden.created]: timeText(createdMs),
    [hidden.updated]: timeText(updatedMs),
  }
}
