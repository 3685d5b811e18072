// A batch of nodes or relationships → one transaction, all or nothing (ruling G2), answered when it is on disk (G9).
// What is well-formed but cannot be meant is refused before anything is written (422), every fault with its place.
import type { NodeInput, ProjectGraphs, PropertyInput, PropertyMetadata, RelationshipInput } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type {
  BatchResult,
  CapturedNode,
  CapturedProperty,
  CapturedRelationship,
  NodesRequest,
  RelationshipsRequest,
} from './schema.ts'

export interface CaptureParts {
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
}

/** Own fields of every element; a property of that name could never be told from them (facts 1.6.1). */
const protectedProperties = new Set(['_service', 'create_time', 'external_id', 'id', 'type', 'update_time'])

const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

export async function captureNodes(
  parts: CaptureParts,
  caller: AgentCaller,
  request: NodesRequest,
): Promise<Result<BatchResult, ServiceError>> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const issues = request.nodes.flatMap(faultsOfNode)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const inputs = request.nodes.map(nodeInput)
  const written = await graphs.default.write((batch) => inputs.map((input) => ({ id: batch.upsertNode(input).gid })))
  return ok({ results: written })
}

export async function captureRelationships(
  parts: CaptureParts,
  caller: AgentCaller,
  request: RelationshipsRequest,
): Promise<Result<BatchResult, ServiceError>> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const issues = request.relationships.flatMap(faultsOfRelationship)
  if (request.use_global_db === true) issues.push('use_global_db: the project has no composite database')
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const inputs = request.relationships.map(relationshipInput)
  try {
    const written = await graphs.default.write((batch) => {
      const missing: string[] = []
      const results = inputs.map((input, index) => {
        const relationship = batch.upsertRelationship(input)
        if (relationship !== null) return { id: relationship.gid }
        for (const end of ['source', 'target'] as const) {
          const { type, externalId } = input[end]
          if (batch.findNode(input[end]) === 0) {
            missing.push(`relationships[${index}].${end}: the node \`${type}\` \`${externalId}\` does not exist`)
          }
        }
        return { id: '' }
      })
      if (missing.length > 0) throw new MissingNodes(missing)
      return results
    })
    return ok({ results: written })
  } catch (fault) {
    if (fault instanceof MissingNodes) return err({ kind: 'invalid', issues: fault.issues })
    throw fault
  }
}

/** Thrown inside the transaction, so that nothing of the batch is written. */
class MissingNodes extends Error {
  override readonly name = 'MissingNodes'
  readonly issues: readonly string[]
  constructor(issues: readonly string[]) {
    super('end nodes are missing')
    this.issues = issues
  }
}

function faultsOfNode(node: CapturedNode, index: number): string[] {
  const path = `nodes[${index}]`
  const faults: string[] = []
  if (isReserved(node.type)) faults.push(`${path}.type: \`${node.type}\` is reserved for the service`)
  node.labels?.forEach((label, i) => {
    if (isReserved(label)) faults.push(`${path}.labels[${i}]: \`${label}\` is reserved for the service`)
  })
  if (node.location !== undefined) faults.push(unknownLocation(`${path}.location`, node.location))
  return faults.concat(faultsOfProperties(path, node.properties))
}

/** End nodes may be of a reserved type: that is how an application is joined to business data (interface). */
function faultsOfRelationship(relationship: CapturedRelationship, index: number): string[] {
  const path = `relationships[${index}]`
  const faults: string[] = []
  if (isReserved(relationship.type)) {
    faults.push(`${path}.type: \`${relationship.type}\` is reserved for the service`)
  }
  for (const end of ['source', 'target'] as const) {
    const { location } = relationship[end]
    if (location !== undefined) faults.push(unknownLocation(`${path}.${end}.location`, location))
  }
  return faults.concat(faultsOfProperties(path, relationship.properties))
}

function faultsOfProperties(path: string, properties: readonly CapturedProperty[] | undefined): string[] {
  const faults: string[] = []
  properties?.forEach((property, i) => {
    if (protectedProperties.has(property.type)) {
      faults.push(`${path}.properties[${i}].type: \`${property.type}\` is a protected name`)
    }
  })
  return faults
}

/** `_Application`, `_AppAgent`, `_TrustScore`, `_HAS` and their like are written by the service alone. */
function isReserved(name: string): boolean {
  return name.startsWith('_')
}

function unknownLocation(path: string, location: string): string {
  return `${path}: unknown location \`${location}\`, the project has no composite database`
}

function nodeInput(node: CapturedNode): NodeInput {
  return {
    type: node.type,
    externalId: node.external_id,
    ...(node.labels === undefined ? {} : { labels: node.labels }),
    ...(node.is_identity === undefined ? {} : { isIdentity: node.is_identity }),
    ...(node.properties === undefined ? {} : { properties: node.properties.map(propertyInput) }),
  }
}

function relationshipInput({ source, target, type, properties }: CapturedRelationship): RelationshipInput {
  return {
    source: { type: source.type, externalId: source.external_id },
    target: { type: target.type, externalId: target.external_id },
    type,
    ...(properties === undefined ? {} : { properties: properties.map(propertyInput) }),
  }
}

function propertyInput(property: CapturedProperty): PropertyInput {
  return {
    name: property.type,
    ...(property.value === undefined ? {} : { value: fromJson(property.value) as PropertyValue }),
    ...(property.external_value === undefined ? {} : { externalValue: property.external_value }),
    ...(property.metadata === undefined ? {} : { metadata: metadataInput(property.metadata) }),
  }
}

function metadataInput(metadata: NonNullable<CapturedProperty['metadata']>): PropertyMetadata {
  return {
    ...(metadata.source === undefined ? {} : { source: metadata.source }),
    ...(metadata.assurance_level === undefined ? {} : { assuranceLevel: metadata.assurance_level }),
    ...(metadata.verified_time === undefined ? {} : { verifiedTime: metadata.verified_time }),
    ...(metadata.custom_metadata === undefined ? {} : { custom: metadata.custom_metadata }),
  }
}
