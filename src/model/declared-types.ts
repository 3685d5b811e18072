// Compares written elements with the declared types of their project: within the transaction, after its writes, so that an element is
// compared as a whole. A project without declared types has no such object.
import type {
  NodeInput,
  NodeKey,
  PropertyInput,
  RelationshipInput,
  RelationshipKey,
  WriteBatch,
} from '../engine/store.ts'
import { type ComparedNode, nodeFaults, relationshipFaults, withTemporals } from './element-faults.ts'
import type { GraphTypes } from './graph-types.ts'

/** Faults of one request that its answer lists. */
const FAULTS_MAX = 100

/** How what a request writes is compared with the declared types of its project. */
export interface TypeComparison {
  readonly types: DeclaredTypes
  /** Called after the transaction with the number of written elements that open types do not allow. */
  readonly onUnfit?: ((items: number) => void) | undefined
}

/** The declared types of a project, for one request. */
export class DeclaredTypes {
  /** Whether a fault refuses the request. */
  readonly isClosed: boolean
  private readonly types: GraphTypes

  constructor(types: GraphTypes) {
    this.types = types
    this.isClosed = types.mode === 'closed'
  }

  /** A node of a request, with its temporal values. */
  node(input: NodeInput): NodeInput {
    const { properties } = input
    if (properties === undefined) return input
    const owners = this.types.nodes.filter(({ labels }) => labels.has(input.type))
    return { ...input, properties: withTemporals(owners, properties) }
  }

  /** A relationship of a request, with its temporal values. */
  relationship(input: RelationshipInput): RelationshipInput {
    const { properties } = input
    if (properties === undefined) return input
    return { ...input, properties: withTemporals(this.types.relationshipsNamed(input.type), properties) }
  }

  /** The faults of a node of a request, before anything is written: the node may have more labels and properties. */
  nodeRequest({ type, labels, properties }: NodeInput): readonly string[] {
    const isComplete = labels !== undefined
    const node: ComparedNode = {
      labels: [...new Set([type, ...(labels ?? [])])],
      properties: byName(properties),
      isWhole: false,
    }
    const faults = nodeFaults(this.types, node)
    if (faults.length > 0 || !isComplete) return faults
    return nodeFaults(this.types, { ...node, properties: new Map(), isWhole: true }).filter((fault) =>
      fault.startsWith('the model declares'),
    )
  }

  /** The faults of a relationship of a request, before anything is written. */
  relationshipRequest({ source, target, type, properties }: RelationshipInput): readonly string[] {
    return relationshipFaults(this.types, {
      type,
      source: [source.type],
      target: [target.type],
      properties: byName(properties),
      isWhole: false,
    })
  }

  /** The faults of an element as a batch leaves it; none if it does not exist. */
  written(batch: WriteBatch, key: NodeKey | RelationshipKey): readonly string[] {
    return 'source' in key ? this.writtenRelationship(batch, key) : this.writtenNode(batch, key)
  }

  /** The faults of a relationship that is loaded as a whole. `labelsOf`: the labels of its ends. */
  loaded(
    { source, target, type, properties }: RelationshipInput,
    labelsOf: (key: NodeKey) => readonly string[],
  ): readonly string[] {
    return relationshipFaults(this.types, {
      type,
      source: labelsOf(source),
      target: labelsOf(target),
      properties: byName(properties),
      isWhole: true,
    })
  }

  private writtenNode(batch: WriteBatch, key: NodeKey): readonly string[] {
    const node = batch.nodeImage(key)
    if (node === null) return []
    return nodeFaults(this.types, { labels: node.labels, properties: node.properties(), isWhole: true })
  }

  private writtenRelationship(batch: WriteBatch, key: RelationshipKey): readonly string[] {
    const relationship = batch.relationshipImage(key)
    if (relationship === null) return []
    return relationshipFaults(this.types, {
      type: relationship.type,
      source: batch.nodeImage(key.source)?.labels ?? [key.source.type],
      target: batch.nodeImage(key.target)?.labels ?? [key.target.type],
      properties: relationship.properties(),
      isWhole: true,
    })
  }
}

function byName(properties: readonly PropertyInput[] = []): ComparedNode['properties'] {
  return new Map(properties.map(({ name, value }) => [name, { value: value ?? null }]))
}

/** The faults as warnings of an answer: the first ones and a count of the rest. */
export function asWarnings(faults: readonly string[]): readonly string[] {
  const more = faults.length - FAULTS_MAX
  return more > 0 ? [...faults.slice(0, FAULTS_MAX), `and ${more} more`] : faults
}
