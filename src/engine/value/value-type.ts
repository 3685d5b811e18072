// The types of values as `IS :: TYPE` tests them and `valueType()` names them, in the normal form of Neo4j.
import type { ValueType, ValueTypeName } from '../../../grammar/value-types.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import type { Budget } from '../budget.ts'
import { isTemporal, type TemporalKind } from './temporal/temporal.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from './value.ts'

/** Types in the order in which a union lists them. */
const TYPE_ORDER: readonly ValueTypeName[] = [
  ...(['NOTHING', 'NULL', 'BOOLEAN', 'STRING', 'INTEGER', 'FLOAT', 'DATE', 'LOCAL TIME', 'ZONED TIME'] as const),
  ...(['LOCAL DATETIME', 'ZONED DATETIME', 'DURATION', 'POINT', 'NODE', 'RELATIONSHIP', 'MAP', 'LIST'] as const),
  ...(['PATH', 'PROPERTY VALUE', 'ANY'] as const),
]

const temporalTypes: Readonly<Record<TemporalKind, ValueTypeName>> = {
  date: 'DATE',
  localtime: 'LOCAL TIME',
  time: 'ZONED TIME',
  localdatetime: 'LOCAL DATETIME',
  datetime: 'ZONED DATETIME',
  duration: 'DURATION',
}

/** Whether the value has one of the types. Null has every type that is nullable, and never an unknown result. */
export function hasType(budget: Budget, value: Value, types: readonly ValueType[]): boolean {
  budget.chargeSteps(1)
  return types.some((type) => hasOneType(budget, value, type))
}

function hasOneType(budget: Budget, value: Value, { name, items, nullable }: ValueType): boolean {
  if (value === null) return nullable && name !== 'NOTHING'
  switch (name) {
    case 'ANY':
      return true
    case 'NOTHING':
    case 'NULL':
      return false
    case 'LIST':
      return Array.isArray(value) && value.every((item: Value) => hasType(budget, item, items ?? []))
    case 'PROPERTY VALUE':
      return isPropertyValue(budget, value)
    case 'BOOLEAN':
    case 'STRING':
    case 'INTEGER':
    case 'FLOAT':
    case 'DATE':
    case 'LOCAL TIME':
    case 'ZONED TIME':
    case 'LOCAL DATETIME':
    case 'ZONED DATETIME':
    case 'DURATION':
    case 'POINT':
    case 'NODE':
    case 'RELATIONSHIP':
    case 'MAP':
    case 'PATH':
      return valueTypeNameOf(value) === name
    default:
      return assertNever(name)
  }
}

/** A scalar, or a list without nulls whose items have one type. */
function isPropertyValue(budget: Budget, value: Value): boolean {
  if (!Array.isArray(value)) return isStorable(value)
  budget.chargeSteps(value.length)
  return value.every((item: Value) => isStorable(item) && valueTypeNameOf(item) === valueTypeNameOf(value[0] as Value))
}

const structures: ReadonlySet<ValueTypeName> = new Set(['NULL', 'NODE', 'RELATIONSHIP', 'MAP', 'LIST', 'PATH'])

function isStorable(value: Value): boolean {
  return !structures.has(valueTypeNameOf(value))
}

/** The name of the type of a value. */
export function valueTypeNameOf(value: Value): ValueTypeName {
  if (value === null) return 'NULL'
  if (typeof value === 'boolean') return 'BOOLEAN'
  if (typeof value === 'string') return 'STRING'
  if (typeof value === 'number' || typeof value === 'bigint') return 'INTEGER'
  if (value instanceof Float) return 'FLOAT'
  if (isTemporal(value)) return temporalTypes[value.kind]
  if (value instanceof NodeValue) return 'NODE'
  if (value instanceof RelationshipValue) return 'RELATIONSHIP'
  if (value instanceof PathValue) return 'PATH'
  return Array.isArray(value) ? 'LIST' : 'MAP'
}

/** The most precise type of a value: `LIST<INTEGER NOT NULL> NOT NULL`. */
export function valueTypeText(budget: Budget, value: Value): string {
  return valueTypesText([typeOf(budget, value)])
}

/** The text of a type or a union of types. */
export function valueTypesText(types: readonly ValueType[]): string {
  return types
    .map(({ name, items, nullable }) => {
      const inner = items === null ? '' : `<${valueTypesText(items)}>`
      return `${name}${inner}${nullable || name === 'NULL' || name === 'NOTHING' ? '' : ' NOT NULL'}`
    })
    .join(' | ')
}

function typeOf(budget: Budget, value: Value): ValueType {
  budget.chargeSteps(1)
  const name = valueTypeNameOf(value)
  if (!Array.isArray(value)) return { name, items: null, nullable: value === null }
  const found = new Map<string, ValueType>()
  for (const item of value as readonly Value[]) {
    const type = typeOf(budget, item)
    const text = valueTypesText([type])
    budget.chargeText(text.length)
    found.set(text, type)
  }
  return { name, items: unionOf(budget, [...found.values()]), nullable: false }
}

/**
 * With null among them, every type of a union is nullable; a list of nulls alone holds the type `NULL`. A type whose values all
 * have another type of the union is omitted.
 */
function unionOf(budget: Budget, types: readonly ValueType[]): readonly ValueType[] {
  if (types.length === 0) return [{ name: 'NOTHING', items: null, nullable: false }]
  const known = types.filter(({ name }) => name !== 'NULL')
  if (known.length === 0) return types
  const all = known.map((type) => ({ ...type, nullable: known.length < types.length }))
  return all.filter((type) => !all.some((other) => other !== type && includes(budget, other, type))).sort(byName)
}

/** Whether each value of the second type has the first. Two types of one union are never the same. */
function includes(budget: Budget, wide: ValueType, narrow: ValueType): boolean {
  budget.chargeSteps(1)
  if (narrow.name === 'NOTHING') return true
  if (narrow.name === 'NULL') return wide.nullable
  if (wide.name !== narrow.name || (narrow.nullable && !wide.nullable)) return false
  return (narrow.items ?? []).every((item) => wide.items?.some((other) => includes(budget, other, item)))
}

/** Lists by the types of their items. */
function byName(a: ValueType, b: ValueType): number {
  const names = TYPE_ORDER.indexOf(a.name) - TYPE_ORDER.indexOf(b.name)
  if (names !== 0) return names
  const [items, others] = [a.items ?? [], b.items ?? []]
  for (const [index, item] of items.entries()) {
    const other = others[index]
    const order = other === undefined ? 1 : byName(item, other)
    if (order !== 0) return order
  }
  return items.length - others.length || Number(a.nullable) - Number(b.nullable)
}
