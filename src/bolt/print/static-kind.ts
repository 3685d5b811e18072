// The kind of the value of an expression, as far as the bound query shows it.

import type { BoundExpression } from '../../engine/bind/bound.ts'
import { findFunction } from '../../engine/value/functions/function-table.ts'
import type { StaticKind } from '../../engine/value/static-type.ts'
import { NodeValue, RelationshipValue, type Value } from '../../engine/value/value.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'

const SLOT_KINDS = {
  node: 'node',
  relationship: 'relationship',
  relationships: 'list',
  path: 'path',
} as const

/** The kind of the value, or null, of an expression; `any` if it is unknown. */
export function kindOf(expression: BoundExpression): StaticKind {
  switch (expression.kind) {
    case 'constant':
      return kindOfValue(expression.value)
    case 'slot': {
      const { slot } = expression
      return slot.kind === 'value' ? (slot.type?.kind ?? 'any') : SLOT_KINDS[slot.kind]
    }
    case 'and':
    case 'or':
    case 'xor':
    case 'not':
    case 'comparison':
    case 'null-test':
    case 'value-test':
    case 'label-test':
    case 'quantifier':
    case 'exists':
      return 'boolean'
    case 'binary':
      return ['IN', 'STARTS WITH', 'ENDS WITH', 'CONTAINS', '=~'].includes(expression.operator) ? 'boolean' : 'any'
    case 'list':
    case 'list-comprehension':
    case 'slice':
      return 'list'
    case 'map':
    case 'element-properties':
      return 'map'
    case 'subquery':
      return ({ exists: 'boolean', count: 'integer', collect: 'list' } as const)[expression.form]
    case 'function':
      return findFunction(expression.name)?.resultType.kind ?? 'any'
    case 'element-property':
      return expression.own === 'is_identity' ? 'boolean' : 'any'
    case 'parameter':
    case 'property':
    case 'index':
    case 'negate':
    case 'case':
    case 'reduce':
      return 'any'
    default:
      return assertNever(expression)
  }
}

function kindOfValue(value: Value): StaticKind {
  if (value === null) return 'null'
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'number' || typeof value === 'bigint') return 'integer'
  if (typeof value === 'string') return 'string'
  if (value instanceof Float) return 'float'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Map) return 'map'
  if (value instanceof NodeValue) return 'node'
  return value instanceof RelationshipValue ? 'relationship' : 'any'
}
