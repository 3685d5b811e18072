// The relationships of a converted model as nodes and relationships to capture, and the values of a request as parameters.
import { isoDuration } from './condition-text.ts'
import type { ConditionType, RelationModel, RelationTuple } from './relation-model.ts'
import type { ConvertedModel } from './write-model.ts'

/** A node to capture. */
export interface MigratedNode {
  readonly type: string
  readonly externalId: string
}

/** A relationship to capture. */
export interface MigratedRelationship {
  readonly source: MigratedNode
  readonly type: string
  readonly target: MigratedNode
  readonly properties: readonly { readonly type: string; readonly value: unknown }[]
}

/** The node of a subject. */
export function subjectNode({ subject }: Pick<RelationTuple, 'subject'>, converted: ConvertedModel): MigratedNode {
  return { type: converted.subjectLabel(subject), externalId: subject.id }
}

/** The relationship from the node of a userset to its object; empty for other subjects. */
export function usersetRelationships(
  { subject }: Pick<RelationTuple, 'subject'>,
  converted: ConvertedModel,
): readonly MigratedRelationship[] {
  const { type, id, relation } = subject
  if (relation === null || !converted.subjects.hasNode(type, relation)) return []
  const target = { type: converted.names.label(type), externalId: id }
  return [{ source: subjectNode({ subject }, converted), type: converted.names.ofObject, target, properties: [] }]
}

/** The relationship by which a userset belongs to itself, for questions that have it as subject; empty for an object. */
export function ownMembership(
  { subject }: Pick<RelationTuple, 'subject'>,
  converted: ConvertedModel,
): readonly MigratedRelationship[] {
  if (subject.relation === null) return []
  const target = { type: converted.names.label(subject.type), externalId: subject.id }
  const type = converted.names.storedType(subject.relation)
  return [{ source: subjectNode({ subject }, converted), type, target, properties: [] }]
}

/** The relationships to capture for a tuple: its own, and for a userset with a node of its own the relationship to its object. */
export function capturedRelationships(
  tuple: RelationTuple,
  model: RelationModel,
  converted: ConvertedModel,
): readonly MigratedRelationship[] {
  const { subject, object, relation, condition, expiration } = tuple
  const properties: { readonly type: string; readonly value: unknown }[] = []
  if (condition !== null) {
    properties.push({ type: 'condition', value: condition.name })
    const types = model.conditions.get(condition.name)?.parameters
    for (const [name, value] of Object.entries(condition.context)) {
      properties.push(...flattened([name], value, types?.get(name)))
    }
  }
  if (expiration !== null) properties.push({ type: 'expires', value: expiration })
  const target = { type: converted.names.label(object.type), externalId: object.id }
  const own = { source: subjectNode(tuple, converted), type: converted.names.storedType(relation), target, properties }
  return [own, ...usersetRelationships({ subject }, converted)]
}

/** The parameters of a request: each parameter of a condition, null if the request does not have it. */
export function requestParameters(
  context: Readonly<Record<string, unknown>>,
  model: RelationModel,
): Readonly<Record<string, unknown>> {
  const types = [...model.conditions.values()].flatMap(({ parameters }) => [...parameters])
  return Object.fromEntries(types.map(([name, type]) => [name, convertedValue(context[name] ?? null, type)]))
}

/** Values of maps become properties with the path as name. Null means that the value is absent. */
function flattened(
  path: readonly string[],
  value: unknown,
  type: ConditionType | undefined,
): readonly { readonly type: string; readonly value: unknown }[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object' || Array.isArray(value)) {
    return [{ type: path.join('.'), value: convertedValue(value, type) }]
  }
  const inner = typeof type === 'object' && 'map' in type ? type.map : undefined
  return Object.entries(value).flatMap(([name, member]) => flattened([...path, name], member, inner))
}

/** A value in the notation of this product: durations as ISO 8601, and numbers that are written as strings as numbers. */
function convertedValue(value: unknown, type: ConditionType | undefined): unknown {
  if (typeof type === 'object' && 'list' in type && Array.isArray(value)) {
    return value.map((item) => convertedValue(item, type.list))
  }
  if (typeof value !== 'string') return value
  if (type === 'duration' && /^-?[\d.]/.test(value)) return isoDuration(value)
  if ((type === 'int' || type === 'uint') && /^-?\d+$/.test(value)) return Number(value)
  return type === 'double' && value !== '' && Number.isFinite(Number(value)) ? Number(value) : value
}
