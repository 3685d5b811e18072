// The name of a value's kind, for the messages of faults.
import { Float } from '../../kernel/float.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from './value.ts'

export function kindName(value: Value): string {
  if (value === null) return 'null'
  if (typeof value === 'string') return 'a string'
  if (typeof value === 'boolean') return 'a boolean'
  if (typeof value === 'number' || typeof value === 'bigint') return 'an integer'
  if (value instanceof Float) return 'a float'
  if (value instanceof NodeValue) return 'a node'
  if (value instanceof RelationshipValue) return 'a relationship'
  if (value instanceof PathValue) return 'a path'
  return Array.isArray(value) ? 'a list' : 'a map'
}
