// Compares nodes and relationships with the declared types of a project: those that are written, and those that are stored.
import { nearestName, suggestion } from '../../grammar/suggest.ts'
import type { ValueType, ValueTypeName } from '../../grammar/value-types.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { PropertyInput } from '../engine/store.ts'
import { construct } from '../engine/value/temporal/construct.ts'
import type { TemporalKind } from '../engine/value/temporal/temporal.ts'
import type { PropertyScalar, PropertyValue } from '../engine/value/value.ts'
import { valueTypeNameOf } from '../engine/value/value-type.ts'
import { isReservedName } from '../kernel/element-rules.ts'
import type { GraphTypes, NodeTypeDeclaration, PropertyTypes, RelationshipTypeDeclaration } from './graph-types.ts'

/** The properties of an element by name. A null value is supplied by a resolver, and has any type. */
type PropertyValues = ReadonlyMap<string, { readonly value?: PropertyValue | null | undefined }>

/** A node to compare. */
export interface ComparedNode {
  /** With the type. */
  readonly labels: readonly string[]
  readonly properties: PropertyValues
  /** False: what a request says of the node, which may have more labels and properties. */
  readonly isWhole: boolean
}

/** A relationship to compare. */
interface ComparedRelationship {
  readonly type: string
  /** Labels of the source, with its type. */
  readonly source: readonly string[]
  readonly target: readonly string[]
  readonly properties: PropertyValues
  /** False: what a request says of the relationship, which may have more properties, and whose ends may have more labels. */
  readonly isWhole: boolean
}

/** What of a node the declared types do not allow, each as a message; empty: the node fits. The service's own nodes fit. */
export function nodeFaults(types: GraphTypes, { labels, properties, isWhole }: ComparedNode): readonly string[] {
  if (labels.some(isReservedName)) return []
  const set = new Set(labels)
  const exact = types.nodeType(set)
  const candidates = isWhole
    ? exact === null
      ? []
      : [exact]
    : types.nodes.filter((type) => labels.every((label) => type.labels.has(label)))
  if (candidates.length > 0) return propertyFaults(candidates, properties, isWhole)
  const known = types.symbolNames('label')
  const unknown = labels.find((label) => !known.has(label))
  if (unknown !== undefined) return [`the model declares no node type \`${unknown}\`${suggestion(unknown, known)}`]
  return [`the model declares no node type with exactly the labels ${labels.map((one) => `\`${one}\``).join(', ')}`]
}

/** What of a relationship the declared types do not allow; as `nodeFaults`. */
export function relationshipFaults(
  types: GraphTypes,
  { type, source, target, properties, isWhole }: ComparedRelationship,
): readonly string[] {
  if (isReservedName(type)) return []
  const declared = types.relationships.filter(({ name }) => name === type)
  if (declared.length === 0) {
    return [
      `the model declares no relationship type \`${type}\`${suggestion(type, new Set(types.relationships.map(({ name }) => name)))}`,
    ]
  }
  const fitting = declared.filter(
    ({ sources, targets }) => mayEnd(sources, source, isWhole) && mayEnd(targets, target, isWhole),
  )
  if (fitting.length > 0) return propertyFaults(fitting, properties, isWhole)
  const shown = declared.slice(0, 3).map(({ text }) => `\`${text}\``)
  const rest = declared.length > shown.length ? ', …' : ''
  return [
    `\`${type}\` cannot connect \`(:${source.join('&')})\` to \`(:${target.join('&')})\`; the model declares ${shown.join(', ')}${rest}`,
  ]
}

/** Whether a node with these labels may be at the end. An end of the service's own is not compared. */
function mayEnd(ends: ReadonlySet<NodeTypeDeclaration>, labels: readonly string[], isWhole: boolean): boolean {
  if (labels.some(isReservedName)) return true
  for (const end of ends) {
    if (labels.every((label) => end.labels.has(label)) && (!isWhole || labels.length >= end.labels.size)) return true
  }
  return false
}

function propertyFaults(
  candidates: readonly (NodeTypeDeclaration | RelationshipTypeDeclaration)[],
  properties: PropertyValues,
  isWhole: boolean,
): readonly string[] {
  const faults: string[] = []
  const owner = candidates.length === 1 ? `\`${candidates[0]!.text}\` has` : 'its types have'
  for (const [name, { value }] of properties) {
    const declared = candidates.flatMap((type) => type.properties.get(name) ?? [])
    if (declared.length === 0) {
      const names = new Set(candidates.flatMap((type) => [...type.properties.keys()]))
      const near = nearestName(name, names)
      faults.push(`${owner} no property \`${name}\`${near === null ? '' : `; did you mean \`${near}\`?`}`)
    } else if (value != null && !declared.some(({ types }) => hasType(value, types))) {
      const expected = [...new Set(declared.map(({ text }) => `\`${text}\``))].join(' or ')
      faults.push(`\`${name}\`: expected ${expected}, found \`${typeText(value)}\``)
    }
  }
  if (!isWhole) return faults
  const required = candidates.map((type) => missingIn(type.properties, properties))
  if (required.every((missing) => missing.length > 0)) {
    const names = required[0]!.map((name) => `\`${name}\``).join(', ')
    faults.push(`${names}: expected a value, because the model says NOT NULL`)
  }
  return faults
}

function missingIn(types: PropertyTypes, properties: PropertyValues): readonly string[] {
  return [...types.values()]
    .filter(({ name, isRequired }) => isRequired && !properties.has(name))
    .map(({ name }) => name)
}

/** JSON writes `5` also for a float, so an integer has the type FLOAT too. */
function hasType(value: PropertyValue, types: readonly ValueType[]): boolean {
  return types.some(({ name, items }) => {
    if (name === 'ANY' || name === 'PROPERTY VALUE') return true
    if (!Array.isArray(value)) return scalarHasType(value as PropertyScalar, name)
    return name === 'LIST' && value.every((item: PropertyScalar) => hasType(item, items ?? []))
  })
}

function scalarHasType(value: PropertyScalar, name: ValueTypeName): boolean {
  const own = valueTypeNameOf(value)
  return own === name || (name === 'FLOAT' && own === 'INTEGER')
}

function typeText(value: PropertyValue): string {
  if (!Array.isArray(value)) return valueTypeNameOf(value)
  const items = new Set(value.map((item: PropertyScalar) => valueTypeNameOf(item)))
  return `LIST<${[...items].join(' | ')}>`
}

const temporalKinds: Partial<Readonly<Record<ValueTypeName, TemporalKind>>> = {
  DATE: 'date',
  'LOCAL TIME': 'localtime',
  'ZONED TIME': 'time',
  'LOCAL DATETIME': 'localdatetime',
  'ZONED DATETIME': 'datetime',
  DURATION: 'duration',
}

/**
 * The properties of a request with texts of declared temporal types as temporal values: JSON has none. A text that is no such value stays
 * a text, which is a fault. `owners`: the types that the element may have.
 */
export function withTemporals(
  owners: readonly (NodeTypeDeclaration | RelationshipTypeDeclaration)[],
  properties: readonly PropertyInput[],
): readonly PropertyInput[] {
  return properties.map((property) => {
    const { name, value } = property
    const declared = owners.flatMap((type) => type.properties.get(name)?.types ?? [])
    if (value === undefined || declared.length === 0) return property
    return { ...property, value: temporal(value, declared) }
  })
}

function temporal(value: PropertyValue, types: readonly ValueType[]): PropertyValue {
  if (types.some(({ name }) => name === 'STRING' || name === 'ANY' || name === 'PROPERTY VALUE')) return value
  if (Array.isArray(value)) {
    const items = types.flatMap(({ name, items }) => (name === 'LIST' ? (items ?? []) : []))
    return value.map((item: PropertyScalar) => temporal(item, items) as PropertyScalar)
  }
  if (typeof value !== 'string') return value
  for (const { name } of types) {
    const kind = temporalKinds[name]
    if (kind === undefined) continue
    try {
      return construct(kind, value) as PropertyValue
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
    }
  }
  return value
}
