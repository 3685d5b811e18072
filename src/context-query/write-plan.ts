// The compiled writes of a query: elements by name, values by their sources. A call binds the values once, for all
// rows.
import type { PropertyInput, PropertyMetadata } from '../engine/store.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type ElementPath, type PathElementKind, parsePath } from '../policy/element-path.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { QueryDocument } from './query-document.ts'
import {
  expectedExternalId,
  expectedLabel,
  expectedName,
  expectedValue,
  mergedMetadata,
  metadataEntry,
  parametersOf,
  readValueSource,
  sourceValue,
  toExternalId,
  toLabels,
  toPropertyValue,
  type ValueSource,
  valueIssue,
} from './write-values.ts'

interface PropertyWritePlan {
  readonly name: string
  readonly at: string
  readonly value: ValueSource | null
  /**
   * A literal name is stored with the property and resolved at each read; a name from a parameter is resolved before
   * the write.
   */
  readonly resolver: ValueSource | null
  readonly metadata: readonly { readonly type: string; readonly source: ValueSource; readonly at: string }[]
}

interface NodeWritePlan {
  readonly name: string
  readonly at: string
  /** Null: update the node that the variable is bound to. */
  readonly key: { readonly type: string; readonly externalId: ValueSource } | null
  readonly labels: readonly { readonly source: ValueSource; readonly at: string }[] | null
  readonly properties: readonly PropertyWritePlan[]
}

interface RelationshipWritePlan {
  readonly name: string
  readonly at: string
  /** Null: update the relationship that the variable is bound to. */
  readonly key: { readonly type: string; readonly source: string; readonly target: string } | null
  readonly properties: readonly PropertyWritePlan[]
}

/** A deletion of the element that a variable is bound to, or of its properties. */
export interface Deletion {
  readonly variable: string
  readonly at: string
  /** `all`: all properties; a name: that property. */
  readonly what: 'element' | 'all' | { readonly property: string }
}

/** A property of one call: with a value, or with the resolver to call before it is written. */
export interface BoundPropertyWrite {
  readonly input: PropertyInput
  readonly resolver: string | null
}

/** A node to write, with its values. */
export interface BoundNodeWrite {
  readonly name: string
  readonly at: string
  readonly key: { readonly type: string; readonly externalId: string } | null
  readonly labels: readonly string[] | null
  readonly properties: readonly BoundPropertyWrite[]
}

/** A relationship to write, with its values. */
export interface BoundRelationshipWrite {
  readonly name: string
  readonly at: string
  readonly key: RelationshipWritePlan['key']
  readonly properties: readonly BoundPropertyWrite[]
}

/** All elements that one call writes for each row. */
export interface BoundWrites {
  readonly nodes: readonly BoundNodeWrite[]
  readonly relationships: readonly BoundRelationshipWrite[]
}

/** The writes of a query. Immutable. */
export class WritePlan {
  /** Number of upserts and deletions for each row. */
  readonly size: number
  /** Parameters that the values need, without `$`. */
  readonly parameters: readonly string[]
  /** Names of written elements that the pattern does not bind. */
  readonly newNames: ReadonlySet<string>
  readonly deletedNodes: readonly Deletion[]
  readonly deletedRelationships: readonly Deletion[]
  private readonly nodes: readonly NodeWritePlan[]
  private readonly relationships: readonly RelationshipWritePlan[]

  constructor(
    nodes: readonly NodeWritePlan[],
    relationships: readonly RelationshipWritePlan[],
    deletedNodes: readonly Deletion[],
    deletedRelationships: readonly Deletion[],
  ) {
    this.nodes = nodes
    this.relationships = relationships
    this.deletedNodes = deletedNodes
    this.deletedRelationships = deletedRelationships
    const upserts = [...nodes, ...relationships]
    this.size = upserts.length + deletedNodes.length + deletedRelationships.length
    this.newNames = new Set(upserts.filter(({ key }) => key !== null).map(({ name }) => name))
    this.parameters = [
      ...new Set([
        ...nodes.flatMap(({ key, labels }) => [
          ...(key === null ? [] : parametersOf(key.externalId)),
          ...(labels ?? []).flatMap(({ source }) => parametersOf(source)),
        ]),
        ...upserts.flatMap(({ properties }) => properties.flatMap(parametersOfProperty)),
      ]),
    ]
  }

  /** Returns whether elements of the kind are written or deleted. */
  touches(kind: PathElementKind): boolean {
    const [upserts, deletions] =
      kind === 'node' ? [this.nodes, this.deletedNodes] : [this.relationships, this.deletedRelationships]
    return upserts.length + deletions.length > 0
  }

  /** Variables that each row must provide. */
  get variables(): readonly string[] {
    return [
      ...this.nodes.map(({ name }) => name),
      ...this.relationships.flatMap(({ name, key }) => (key === null ? [name] : [key.source, key.target])),
      ...[...this.deletedNodes, ...this.deletedRelationships].map(({ variable }) => variable),
    ]
  }

  /** Binds the values of one call; all parameters must be present. Issues are for the caller of the query. */
  bind(parameters: BoundParameters): Result<BoundWrites, readonly string[]> {
    const binder = new WriteBinder(parameters)
    const nodes = this.nodes.map(({ name, at, key, labels, properties }) => ({
      name,
      at,
      key:
        key === null
          ? null
          : {
              type: key.type,
              externalId: binder.bindValue(key.externalId, `${at}.external_id`, toExternalId, expectedExternalId),
            },
      labels:
        labels === null
          ? null
          : [...new Set(labels.flatMap((label) => binder.bindValue(label.source, label.at, toLabels, expectedLabel)))],
      properties: properties.map((property) => binder.property(property)),
    }))
    const relationships = this.relationships.map(({ name, at, key, properties }) => ({
      name,
      at,
      key,
      properties: properties.map((property) => binder.property(property)),
    }))
    return binder.issues.length > 0 ? err(binder.issues) : ok({ nodes, relationships })
  }
}

function parametersOfProperty({ value, resolver, metadata }: PropertyWritePlan): string[] {
  return [
    ...(value === null ? [] : parametersOf(value)),
    ...(resolver === null ? [] : parametersOf(resolver)),
    ...metadata.flatMap(({ source }) => parametersOf(source)),
  ]
}

class WriteBinder {
  readonly issues: string[] = []
  private readonly parameters: BoundParameters

  constructor(parameters: BoundParameters) {
    this.parameters = parameters
  }

  /** After an issue the result is not used. */
  bindValue<T>(
    source: ValueSource,
    at: string,
    accept: (value: ReturnType<typeof sourceValue>) => T | null,
    expected: string,
  ): T {
    const accepted = accept(sourceValue(source, this.parameters))
    if (accepted === null) this.issues.push(valueIssue(source, at, expected))
    return accepted as T
  }

  property({ name, at, value, resolver, metadata }: PropertyWritePlan): BoundPropertyWrite {
    const entries: PropertyMetadata[] = []
    for (const { type, source, at: place } of metadata) {
      const entry = metadataEntry(type, sourceValue(source, this.parameters))
      if (entry.ok) entries.push(entry.value)
      else this.issues.push(valueIssue(source, place, entry.error))
    }
    const merged = mergedMetadata(entries)
    const base = { name, ...(merged === null ? {} : { metadata: merged }) }
    if (value !== null) {
      return {
        input: { ...base, value: this.bindValue(value, `${at}.value`, toPropertyValue, expectedValue) },
        resolver: null,
      }
    }
    const requested = this.bindValue(resolver as ValueSource, `${at}.external_value`, toExternalId, expectedName)
    return resolver?.kind === 'reference'
      ? { input: base, resolver: requested }
      : { input: { ...base, externalValue: requested }, resolver: null }
  }
}

/** Compiles the writes of a document; null if it only reads. Issues are for the author of the document. */
export function compileWrites(document: QueryDocument): Result<WritePlan | null, readonly string[]> {
  const reader = new WriteReader()
  const nodes = (document.upsert_nodes ?? []).map((bindValue, i) => reader.node(bindValue, `query.upsert_nodes[${i}]`))
  const relationships = (document.upsert_relationships ?? []).map((bindValue, i) =>
    reader.relationship(bindValue, `query.upsert_relationships[${i}]`),
  )
  const writes = new WritePlan(
    nodes,
    relationships,
    deletionsOf(document.delete_nodes, 'node', 'query.delete_nodes'),
    deletionsOf(document.delete_relationships, 'relationship', 'query.delete_relationships'),
  )
  if (reader.issues.length > 0) return err(reader.issues)
  return ok(writes.size === 0 ? null : writes)
}

type UpsertNode = NonNullable<QueryDocument['upsert_nodes']>[number]
type UpsertRelationship = NonNullable<QueryDocument['upsert_relationships']>[number]
type UpsertProperty = NonNullable<UpsertNode['properties']>[number]

class WriteReader {
  readonly issues: string[] = []

  node({ name, type, external_id, labels, properties }: UpsertNode, at: string): NodeWritePlan {
    return {
      name,
      at,
      key:
        type === undefined || external_id === undefined
          ? null
          : { type, externalId: this.source(external_id, `${at}.external_id`) },
      labels:
        labels?.map((text, i) => {
          const place = `${at}.labels[${i}]`
          return { source: this.checked(text, place, toLabels, expectedLabel), at: place }
        }) ?? null,
      properties: this.properties(properties, at),
    }
  }

  relationship({ name, source, target, type, properties }: UpsertRelationship, at: string): RelationshipWritePlan {
    const isNew = type !== undefined && source !== undefined && target !== undefined
    return { name, at, key: isNew ? { type, source, target } : null, properties: this.properties(properties, at) }
  }

  private properties(properties: readonly UpsertProperty[] = [], at: string): PropertyWritePlan[] {
    return properties.map(({ type, value, external_value, metadata = [] }, i) => {
      const place = `${at}.properties[${i}]`
      return {
        name: type,
        at: place,
        value: value === undefined ? null : this.checked(value, `${place}.value`, toPropertyValue, expectedValue),
        resolver: external_value === undefined ? null : this.source(external_value, `${place}.external_value`),
        metadata: metadata.map((entry, j) => {
          const valueAt = `${place}.metadata[${j}].value`
          const source = this.source(entry.value, valueAt)
          const read =
            parametersOf(source).length > 0 ? ok(null) : metadataEntry(entry.type, sourceValue(source, new Map()))
          if (!read.ok) this.issues.push(`${valueAt}: ${read.error}`)
          return { type: entry.type, source, at: valueAt }
        }),
      }
    })
  }

  private source(value: unknown, at: string): ValueSource {
    const source = readValueSource(value)
    if (source.ok) return source.value
    this.issues.push(`${at}: ${source.error}`)
    return { kind: 'literal', value: null }
  }

  /** A value without references is checked now. */
  private checked(
    value: unknown,
    at: string,
    accept: (value: ReturnType<typeof sourceValue>) => unknown,
    expected: string,
  ): ValueSource {
    const known = this.issues.length
    const source = this.source(value, at)
    if (known < this.issues.length || parametersOf(source).length > 0) return source
    if (accept(sourceValue(source, new Map())) === null) this.issues.push(`${at}: ${expected}`)
    return source
  }
}

/** The paths were validated before. */
function deletionsOf(paths: readonly string[] = [], kind: PathElementKind, member: string): Deletion[] {
  return paths.flatMap((text, i) => {
    const path = parsePath(text, kind)
    return path.ok ? [{ variable: path.value.variable, at: `${member}[${i}]`, what: whatOf(path.value) }] : []
  })
}

function whatOf(path: ElementPath): Deletion['what'] {
  if (path.kind === 'whole') return 'element'
  return path.kind === 'property' ? { property: path.name } : 'all'
}
