// One row as the caller gets it: the requested paths of a knowledge query and their values (interface, execute rule 1).
// What an optional match did not find is there with null (ruling C2).
import type { OwnField } from '../engine/store.ts'
import { toJson } from '../engine/value/convert.ts'
import { metadataField } from '../engine/value/functions/graph.ts'
import { NodeValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import { type ElementKind, type ElementPath, parsePath } from '../policy/paths.ts'
import { giveProperty, type Site } from './awaited.ts'
import { scoresOf, wholeElement } from './element-data.ts'
import { nodeFields } from './node-fields.ts'
import type { QueryDocument } from './query-document.ts'
import type { Row } from './rows.ts'
import type { RecordData } from './schema.ts'
import type { Writes } from './writes.ts'

type Values = Record<string, unknown>
type Read = (element: NodeValue | RelationshipValue, site: Site, into: Values, key: string) => void

interface Column {
  readonly path: string
  readonly variable: string
  readonly read: Read
}

/** What a query returns of each row: made once for each query. */
export class RecordReader {
  private readonly nodes: readonly Column[]
  private readonly relationships: readonly Column[]
  private readonly aggregates: readonly string[]

  private readonly writes: Writes | null

  constructor(document: QueryDocument, writes: Writes | null) {
    this.writes = writes
    const columns = (paths: readonly string[] = [], kind: ElementKind): Column[] =>
      paths.flatMap((text) => {
        const path = parsePath(text, kind)
        return path.ok ? [{ path: text, variable: path.value.variable, read: readerOf(path.value) }] : []
      })
    this.nodes = columns(document.nodes, 'node')
    this.relationships = columns(document.relationships, 'relationship')
    this.aggregates = document.aggregate_values ?? []
  }

  /** Names of a row that are read. */
  get names(): readonly string[] {
    return [
      ...this.nodes.map(({ variable }) => variable),
      ...this.relationships.map(({ variable }) => variable),
      ...this.aggregates,
    ]
  }

  /** A query that writes nodes or relationships has a map of them in its records, though it may ask for none back. */
  read(row: Row, site: Site): RecordData {
    const { nodes, relationships, writes } = this
    const record: RecordData = {}
    if (nodes.length > 0 || writes?.touches('node')) record.nodes = valuesOf(nodes, row, site)
    if (relationships.length > 0 || writes?.touches('relationship')) {
      record.relationships = valuesOf(relationships, row, site)
    }
    if (this.aggregates.length > 0) {
      const values: Values = Object.create(null)
      for (const name of this.aggregates) {
        values[name] = toJson(row.value(name), (element) => wholeElement(element, site))
        site.size.take(values[name])
      }
      record.aggregate_values = values
    }
    return record
  }
}

function valuesOf(columns: readonly Column[], row: Row, site: Site): Values {
  const values: Values = Object.create(null)
  for (const { path, variable, read } of columns) put(row.value(variable), read, site, values, path)
  return values
}

/** A variable of a variable-length step stands for many relationships: each is read, in their order. */
function put(value: Value, read: Read, site: Site, into: Values, key: string): void {
  site.size.take(null)
  if (value instanceof NodeValue || value instanceof RelationshipValue) read(value, site, into, key)
  else if (Array.isArray(value)) {
    const items: unknown[] = []
    into[key] = items
    value.forEach((item, i) => {
      items.push(null)
      put(item, read, site, items as unknown as Values, String(i))
    })
  } else into[key] = null
}

function readerOf(path: ElementPath): Read {
  switch (path.kind) {
    case 'whole':
      return (element, site, into, key) => {
        into[key] = wholeElement(element, site)
      }
    case 'own':
      return (element, { snapshot }, into, key) => {
        into[key] = element instanceof NodeValue ? snapshot.nodeOwn(element.id, path.name as OwnField) : null
      }
    case 'property':
      return (element, site, into, key) => {
        const { snapshot } = site
        const symbol = snapshot.symbol('property', path.name)
        const stored =
          element instanceof NodeValue
            ? snapshot.nodeStoredProperty(element.id, symbol)
            : snapshot.relationshipStoredProperty(element.id, symbol)
        giveProperty(element, path.name, stored, site, into, key)
      }
    case 'properties':
    case 'all':
      return (element, site, into, key) => {
        const { snapshot } = site
        const isNode = element instanceof NodeValue
        const own = isNode && path.kind === 'all' ? nodeFields(element.id, snapshot) : []
        const listed: Values[] = own.map(([type, value]) => ({ type, value }))
        into[key] = listed
        const stored = isNode
          ? snapshot.nodeStoredProperties(element.id)
          : snapshot.relationshipStoredProperties(element.id)
        for (const [type, property] of stored) {
          const entry: Values = { type, value: null }
          listed.push(entry)
          giveProperty(element, type, property, site, entry, 'value')
        }
      }
    case 'metadata':
      return (element, { snapshot, size }, into, key) => {
        const symbol = snapshot.symbol('property', path.name)
        const value = metadataField(snapshot.nodeStoredProperty(element.id, symbol), path.field)
        into[key] = toJson(value, () => null)
        size.take(into[key])
      }
    case 'score':
      return (element, { snapshot }, into, key) => {
        into[key] = scoresOf(element.id, snapshot)?.get(path.name) ?? null
      }
    case 'scores':
      return (element, { snapshot }, into, key) => {
        into[key] = [...(scoresOf(element.id, snapshot) ?? [])].map(([type, value]) => ({ type, value }))
      }
  }
}
