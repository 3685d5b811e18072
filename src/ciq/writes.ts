// What a query writes for each row, compiled: the elements by name, the values by their sources. A call binds the values
// once, for all rows.
import type { PropertyInput, PropertyMetadata } from '../engine/store.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type ElementKind, type ElementPath, parsePath } from '../policy/paths.ts'
import type { Parameters } from './parameters.ts'
import type { QueryDocument } from './query-document.ts'
import {
  asLabels,
  asProperty,
  asText,
  expectedExternalId,
  expectedLabel,
  expectedName,
  expectedValue,
  mergedMetadata,
  metadataEntry,
  parametersOf,
  readSource,
  refusalOf,
  type Source,
  sourceValue,
} from './write-values.ts'

interface PropertyWrite {
  readonly name: string
  readonly at: string
  readonly value: Source | null
  /** A name of the document stays with the property, to be asked at each read; one that a parameter brings is asked now. */
  readonly resolver: Source | null
  readonly metadata: readonly { readonly type: string; readonly source: Source; readonly at: string }[]
}

interface NodeWrite {
  readonly name: string
  readonly at: string
  /** Null: the variable's own node. */
  readonly key: { readonly type: string; readonly externalId: Source } | null
  readonly labels: readonly { readonly source: Source; readonly at: string }[] | null
  readonly properties: readonly PropertyWrite[]
}

interface RelationshipWrite {
  readonly name: string
  readonly at: string
  /** Null: the variable's own relationship. */
  readonly key: { readonly type: string; readonly source: string; readonly target: string } | null
  readonly properties: readonly PropertyWrite[]
}

/** What is deleted of the element that a variable stands for. */
export interface Deletion {
  readonly variable: string
  readonly at: string
  /** `all`: every property; a name: that one. */
  readonly what: 'element' | 'all' | { readonly property: string }
}

/** A property of a call: with a value, or with the name of the resolver that is to be asked for it before it is written. */
export interface BoundProperty {
  readonly input: PropertyInput
  readonly ask: string | null
}

export interface BoundNode {
  readonly name: string
  readonly at: string
  readonly key: { readonly type: string; readonly externalId: string } | null
  readonly labels: readonly string[] | null
  readonly properties: readonly BoundProperty[]
}

export interface BoundRelationship {
  readonly name: string
  readonly at: string
  readonly key: RelationshipWrite['key']
  readonly properties: readonly BoundProperty[]
}

export interface BoundWrites {
  readonly nodes: readonly BoundNode[]
  readonly relationships: readonly BoundRelationship[]
}

export class Writes {
  /** Of upserts and deletions, for each row. */
  readonly size: number
  /** Without `$`. */
  readonly parameters: readonly string[]
  /** Names of elements that the pattern does not have. */
  readonly newNames: ReadonlySet<string>
  readonly deletedNodes: readonly Deletion[]
  readonly deletedRelationships: readonly Deletion[]
  private readonly nodes: readonly NodeWrite[]
  private readonly relationships: readonly RelationshipWrite[]

  constructor(
    nodes: readonly NodeWrite[],
    relationships: readonly RelationshipWrite[],
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

  /** Whether it touches elements of the kind at all. */
  touches(kind: ElementKind): boolean {
    const [upserts, deletions] =
      kind === 'node' ? [this.nodes, this.deletedNodes] : [this.relationships, this.deletedRelationships]
    return upserts.length + deletions.length > 0
  }

  /** Names of the row that it needs. */
  get variables(): readonly string[] {
    return [
      ...this.nodes.map(({ name }) => name),
      ...this.relationships.flatMap(({ name, key }) => (key === null ? [name] : [key.source, key.target])),
      ...[...this.deletedNodes, ...this.deletedRelationships].map(({ variable }) => variable),
    ]
  }

  /** All parameters are there. Issues are for the caller of the query. */
  bind(parameters: Parameters): Result<BoundWrites, readonly string[]> {
    const binder = new Binder(parameters)
    const nodes = this.nodes.map(({ name, at, key, labels, properties }) => ({
      name,
      at,
      key:
        key === null
          ? null
          : { type: key.type, externalId: binder.one(key.externalId, `${at}.external_id`, asText, expectedExternalId) },
      labels:
        labels === null
          ? null
          : [...new Set(labels.flatMap((label) => binder.one(label.source, label.at, asLabels, expectedLabel)))],
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

function parametersOfProperty({ value, resolver, metadata }: PropertyWrite): string[] {
  return [
    ...(value === null ? [] : parametersOf(value)),
    ...(resolver === null ? [] : parametersOf(resolver)),
    ...metadata.flatMap(({ source }) => parametersOf(source)),
  ]
}

class Binder {
  readonly issues: string[] = []
  private readonly parameters: Parameters

  constructor(parameters: Parameters) {
    this.parameters = parameters
  }

  /** After an issue what comes back is never used. */
  one<T>(source: Source, at: string, accept: (value: ReturnType<typeof sourceValue>) => T | null, expected: string): T {
    const accepted = accept(sourceValue(source, this.parameters))
    if (accepted === null) this.issues.push(refusalOf(source, at, expected))
    return accepted as T
  }

  property({ name, at, value, resolver, metadata }: PropertyWrite): BoundProperty {
    const entries: PropertyMetadata[] = []
    for (const { type, source, at: place } of metadata) {
      const entry = metadataEntry(type, sourceValue(source, this.parameters))
      if (entry.ok) entries.push(entry.value)
      else this.issues.push(refusalOf(source, place, entry.error))
    }
    const merged = mergedMetadata(entries)
    const told = { name, ...(merged === null ? {} : { metadata: merged }) }
    if (value !== null) {
      return { input: { ...told, value: this.one(value, `${at}.value`, asProperty, expectedValue) }, ask: null }
    }
    const asked = this.one(resolver as Source, `${at}.external_value`, asText, expectedName)
    return resolver?.kind === 'reference'
      ? { input: told, ask: asked }
      : { input: { ...told, externalValue: asked }, ask: null }
  }
}

/** Null for a query that only reads. Issues are for the author of the document. */
export function compileWrites(document: QueryDocument): Result<Writes | null, readonly string[]> {
  const reader = new DocumentReader()
  const nodes = (document.upsert_nodes ?? []).map((one, i) => reader.node(one, `query.upsert_nodes[${i}]`))
  const relationships = (document.upsert_relationships ?? []).map((one, i) =>
    reader.relationship(one, `query.upsert_relationships[${i}]`),
  )
  const writes = new Writes(
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
type Property = NonNullable<UpsertNode['properties']>[number]

class DocumentReader {
  readonly issues: string[] = []

  node({ name, type, external_id, labels, properties }: UpsertNode, at: string): NodeWrite {
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
          return { source: this.checked(text, place, asLabels, expectedLabel), at: place }
        }) ?? null,
      properties: this.properties(properties, at),
    }
  }

  relationship({ name, source, target, type, properties }: UpsertRelationship, at: string): RelationshipWrite {
    const isNew = type !== undefined && source !== undefined && target !== undefined
    return { name, at, key: isNew ? { type, source, target } : null, properties: this.properties(properties, at) }
  }

  private properties(properties: readonly Property[] = [], at: string): PropertyWrite[] {
    return properties.map(({ type, value, external_value, metadata = [] }, i) => {
      const place = `${at}.properties[${i}]`
      return {
        name: type,
        at: place,
        value: value === undefined ? null : this.checked(value, `${place}.value`, asProperty, expectedValue),
        resolver: external_value === undefined ? null : this.source(external_value, `${place}.external_value`),
        metadata: metadata.map((entry, j) => {
          const spot = `${place}.metadata[${j}].value`
          const source = this.source(entry.value, spot)
          const read =
            parametersOf(source).length > 0 ? ok(null) : metadataEntry(entry.type, sourceValue(source, new Map()))
          if (!read.ok) this.issues.push(`${spot}: ${read.error}`)
          return { type: entry.type, source, at: spot }
        }),
      }
    })
  }

  private source(value: unknown, at: string): Source {
    const source = readSource(value)
    if (source.ok) return source.value
    this.issues.push(`${at}: ${source.error}`)
    return { kind: 'literal', value: null }
  }

  /** What is a literal from end to end can be looked at now. */
  private checked(
    value: unknown,
    at: string,
    accept: (value: ReturnType<typeof sourceValue>) => unknown,
    expected: string,
  ): Source {
    const known = this.issues.length
    const source = this.source(value, at)
    if (known < this.issues.length || parametersOf(source).length > 0) return source
    if (accept(sourceValue(source, new Map())) === null) this.issues.push(`${at}: ${expected}`)
    return source
  }
}

/** Of paths that were looked at before. */
function deletionsOf(paths: readonly string[] = [], kind: ElementKind, member: string): Deletion[] {
  return paths.flatMap((text, i) => {
    const path = parsePath(text, kind)
    return path.ok ? [{ variable: path.value.variable, at: `${member}[${i}]`, what: whatOf(path.value) }] : []
  })
}

function whatOf(path: ElementPath): Deletion['what'] {
  if (path.kind === 'whole') return 'element'
  return path.kind === 'property' ? { property: path.name } : 'all'
}
