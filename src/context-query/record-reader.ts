// Converts a row to a response record: the requested paths of a knowledge query and their values. Paths of an optional
// match without a result are null.
import type { ElementField } from '../engine/store.ts'
import { metadataField } from '../engine/value/functions/graph.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { NodeValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import { type ElementPath, type PathElementKind, parsePath } from '../policy/element-path.ts'
import { type RecordContext, readProperty } from './deferred-properties.ts'
import { scoresOf, wholeElement } from './element-data.ts'
import type { RecordRow } from './materialize-rows.ts'
import { nodeFields } from './node-fields.ts'
import type { QueryDocument } from './query-document.ts'
import type { RecordData } from './schema.ts'
import type { WritePlan } from './write-plan.ts'

type RecordValues = Record<string, unknown>
type ColumnReader = (
  element: NodeValue | RelationshipValue,
  context: RecordContext,
  into: RecordValues,
  key: string,
) => void

interface RecordColumn {
  readonly path: string
  readonly variable: string
  readonly read: ColumnReader
}

/** Reads the requested paths of each row; compiled once per query. */
export class RecordReader {
  private readonly nodes: readonly RecordColumn[]
  private readonly relationships: readonly RecordColumn[]
  private readonly aggregates: readonly string[]

  private readonly writes: WritePlan | null

  constructor(document: QueryDocument, writes: WritePlan | null) {
    this.writes = writes
    const columns = (paths: readonly string[] = [], kind: PathElementKind): RecordColumn[] =>
      paths.flatMap((text) => {
        const path = parsePath(text, kind)
        return path.ok ? [{ path: text, variable: path.value.variable, read: readerOf(path.value) }] : []
      })
    this.nodes = columns(document.nodes, 'node')
    this.relationships = columns(document.relationships, 'relationship')
    this.aggregates = document.aggregate_values ?? []
  }

  /** Variables of a row that are read. */
  get names(): readonly string[] {
    return [
      ...this.nodes.map(({ variable }) => variable),
      ...this.relationships.map(({ variable }) => variable),
      ...this.aggregates,
    ]
  }

  /**
   * Reads one record. A query that writes nodes or relationships has a map of them in its records, even if it requests
   * none. Throws ExecutionError if the response budget is exceeded.
   */
  read(row: RecordRow, context: RecordContext): RecordData {
    const { nodes, relationships, writes } = this
    const record: RecordData = {}
    if (nodes.length > 0 || writes?.touches('node')) record.nodes = valuesOf(nodes, row, context)
    if (relationships.length > 0 || writes?.touches('relationship')) {
      record.relationships = valuesOf(relationships, row, context)
    }
    if (this.aggregates.length > 0) {
      const values: RecordValues = Object.create(null)
      for (const name of this.aggregates) {
        values[name] = toJson(row.value(name), (element) => wholeElement(element, context))
        context.budget.charge(values[name])
      }
      record.aggregate_values = values
    }
    return record
  }
}

function valuesOf(columns: readonly RecordColumn[], row: RecordRow, context: RecordContext): RecordValues {
  const values: RecordValues = Object.create(null)
  for (const { path, variable, read } of columns) readValue(row.value(variable), read, context, values, path)
  return values
}

/** Reads a value. The variable of a variable-length relationship is a list: each item is read, in order. */
function readValue(value: Value, read: ColumnReader, context: RecordContext, into: RecordValues, key: string): void {
  context.budget.charge(null)
  if (value instanceof NodeValue || value instanceof RelationshipValue) read(value, context, into, key)
  else if (Array.isArray(value)) {
    const items: unknown[] = []
    into[key] = items
    value.forEach((item, i) => {
      items.push(null)
      readValue(item, read, context, items as unknown as RecordValues, String(i))
    })
  } else into[key] = null
}

function readerOf(path: ElementPath): ColumnReader {
  switch (path.kind) {
    case 'whole':
      return (element, context, into, key) => {
        into[key] = wholeElement(element, context)
      }
    case 'field':
      return (element, { snapshot }, into, key) => {
        into[key] = element instanceof NodeValue ? snapshot.nodeField(element.id, path.name as ElementField) : null
      }
    case 'property':
      return (element, context, into, key) => {
        const { snapshot } = context
        const symbol = snapshot.symbol('property', path.name)
        const stored =
          element instanceof NodeValue
            ? snapshot.nodeStoredProperty(element.id, symbol)
            : snapshot.relationshipStoredProperty(element.id, symbol)
        readProperty(element, path.name, stored, context, into, key)
      }
    case 'properties':
    case 'all':
      return (element, context, into, key) => {
        const { snapshot } = context
        const isNode = element instanceof NodeValue
        const own = isNode && path.kind === 'all' ? nodeFields(element.id, snapshot) : []
        const entries: RecordValues[] = own.map(([type, value]) => ({ type, value }))
        into[key] = entries
        const stored = isNode
          ? snapshot.nodeStoredProperties(element.id)
          : snapshot.relationshipStoredProperties(element.id)
        for (const [type, property] of stored) {
          const entry: RecordValues = { type, value: null }
          entries.push(entry)
          readProperty(element, type, property, context, entry, 'value')
        }
      }
    case 'metadata':
      return (element, { snapshot, budget }, into, key) => {
        const symbol = snapshot.symbol('property', path.name)
        const value = metadataField(snapshot.nodeStoredProperty(element.id, symbol), path.field)
        into[key] = toJson(value, () => null)
        budget.charge(into[key])
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
