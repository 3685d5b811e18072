// Converts a row to a response record: the requested paths of a knowledge query and their values. Paths of an optional
// match without a result are null. Of an element that the query writes under a name of its own, a record leaves out what
// the call has not written and the policy does not allow to read (written-elements.ts).
import type { ElementField } from '../engine/store.ts'
import { metadataField } from '../engine/value/functions/graph.ts'
import { toJson } from '../engine/value/json-conversion.ts'
import { NodeValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import { assertNever } from '../kernel/assert.ts'
import type { ContextPolicy } from '../policy/compile-context.ts'
import { covers, type ElementPath, type PathElementKind, parsePath } from '../policy/element-path.ts'
import { type PropertyReading, readProperty } from './deferred-properties.ts'
import { readWhole, scoresOf, wholeElement } from './element-data.ts'
import { fieldsAndProperties } from './element-fields.ts'
import type { RecordRow } from './materialize-rows.ts'
import type { QueryDocument } from './query-document.ts'
import type { RecordContext } from './record-context.ts'
import type { RecordData } from './schema.ts'
import type { WritePlan } from './write-plan.ts'
import { ElementAccess } from './written-elements.ts'

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

  /** The document must keep within the policy. */
  constructor(document: QueryDocument, { document: { allowed_reads } }: ContextPolicy, writes: WritePlan | null) {
    this.writes = writes
    const columns = (member: 'nodes' | 'relationships', kind: PathElementKind): RecordColumn[] => {
      const allowed = parsedPaths(allowed_reads?.[member], kind)
      return (document[member] ?? []).flatMap((text) => {
        const path = parsePath(text, kind)
        if (!path.ok) return []
        const { variable } = path.value
        const readable = allowed.filter((one) => one.variable === variable)
        const isRestricted = writes?.newNames.has(variable) === true && !readable.some((one) => covers(one, path.value))
        return [{ path: text, variable, read: readerOf(path.value, isRestricted ? readable : null) }]
      })
    }
    this.nodes = columns('nodes', 'node')
    this.relationships = columns('relationships', 'relationship')
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

/** Reads a value; the reader charges the response budget. The variable of a variable-length relationship is a list: each item is read, in order. */
function readValue(value: Value, read: ColumnReader, context: RecordContext, into: RecordValues, key: string): void {
  if (value instanceof NodeValue || value instanceof RelationshipValue) {
    read(value, context, into, key)
    return
  }
  context.budget.charge(null)
  if (Array.isArray(value)) {
    const items: unknown[] = []
    into[key] = items
    value.forEach((item, i) => {
      items.push(null)
      readValue(item, read, context, items as unknown as RecordValues, String(i))
    })
  } else into[key] = null
}

const READ_ALL: PropertyReading = { shared: null, access: null }

function parsedPaths(texts: readonly string[] = [], kind: PathElementKind): ElementPath[] {
  return texts.flatMap((text) => {
    const path = parsePath(text, kind)
    return path.ok ? [path.value] : []
  })
}

/**
 * Returns the reader of a path. `readable`: for an element that may be returned only in part, the paths that the policy
 * allows; otherwise null.
 */
function readerOf(path: ElementPath, readable: readonly ElementPath[] | null): ColumnReader {
  const accessIn = ({ written }: RecordContext): ElementAccess | null =>
    readable === null ? null : new ElementAccess(written, readable)
  switch (path.kind) {
    case 'whole':
      if (readable === null) {
        return (element, context, into, key) => {
          into[key] = wholeElement(element, context)
        }
      }
      return (element, context, into, key) => {
        const access = accessIn(context)
        into[key] = context.shared(readable, element, (shared) => readWhole(element, context, { shared, access }))
      }
    case 'field': {
      const field = path.name as ElementField
      return (element, { snapshot, budget }, into, key) => {
        const value =
          element instanceof NodeValue
            ? snapshot.nodeField(element.id, field)
            : snapshot.relationshipField(element.id, field)
        budget.charge(value)
        into[key] = value
      }
    }
    case 'property':
      return (element, context, into, key) => {
        const access = accessIn(context)
        if (access?.property(element, path.name) === 'hidden') return
        const { snapshot, budget } = context
        const symbol = snapshot.symbol('property', path.name)
        const stored =
          element instanceof NodeValue
            ? snapshot.nodeStoredProperty(element.id, symbol)
            : snapshot.relationshipStoredProperty(element.id, symbol)
        budget.charge(stored?.value ?? null)
        const reading = access === null ? READ_ALL : { shared: null, access }
        readProperty(element, path.name, stored, context, reading, into, key)
      }
    case 'properties':
    case 'all': {
      const column = {}
      return (element, context, into, key) => {
        into[key] = context.shared(column, element, (shared) => {
          const { fields, properties } = fieldsAndProperties(element, context.snapshot)
          const own = path.kind === 'all' ? fields : []
          const names = new Set(own.map(([name]) => name as string))
          const entries: RecordValues[] = own.map(([type, value]) => ({ type, value }))
          const access = accessIn(context)
          for (const [type, property] of properties) {
            // Own fields take precedence (docs/decisions/0004-element-fields-and-values.md).
            if (names.has(type) || access?.property(element, type) === 'hidden') continue
            const entry: RecordValues = { type, value: null }
            entries.push(entry)
            readProperty(element, type, property, context, { shared, access }, entry, 'value')
          }
          return entries
        })
      }
    }
    case 'metadata':
      return (element, context, into, key) => {
        const access = accessIn(context)
        if (access !== null && !context.written.hasProperty(element, path.name)) return
        const { snapshot, budget } = context
        const symbol = snapshot.symbol('property', path.name)
        const stored = element instanceof NodeValue ? snapshot.nodeStoredProperty(element.id, symbol) : null
        into[key] = toJson(metadataField(stored, path.field), () => null)
        budget.charge(into[key])
      }
    case 'score':
      return (element, { snapshot, budget }, into, key) => {
        if (readable !== null) return
        into[key] = element instanceof NodeValue ? (scoresOf(element.id, snapshot)?.get(path.name) ?? null) : null
        budget.charge(into[key])
      }
    case 'scores':
      return (element, { snapshot, budget }, into, key) => {
        if (readable !== null) return
        const scores = element instanceof NodeValue ? scoresOf(element.id, snapshot) : null
        into[key] = [...(scores ?? [])].map(([type, value]) => ({ type, value }))
        budget.charge(into[key])
      }
    default:
      return assertNever(path)
  }
}
