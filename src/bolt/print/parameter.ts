// Parameters of printed queries: expressions that the engine evaluates before each run.
import type { BoundExpression } from '../../engine/bind/bound.ts'
import { DurationValue, isTemporal } from '../../engine/value/temporal/temporal.ts'
import type { Value } from '../../engine/value/value.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'

/**
 * The values that a parameter may have in the text. With another value the server would not behave as the engine, so the engine
 * executes the query. Each kind but `count` and `names` allows null. `scalar`: no list, no map and no duration, which has no
 * order on the server. `count`: a safe integer that
 * is not negative. `names`: a text, or a list of texts.
 */
export type ParameterKind = 'any' | 'list' | 'boolean' | 'number' | 'scalar' | 'integer' | 'count' | 'names'

/** A parameter of the text: the value of an expression that reads neither rows nor the graph. */
export interface PrintedParameter {
  readonly expression: BoundExpression
  readonly takes: ParameterKind
}

/** Whether a parameter may have this value. */
export function acceptsValue(takes: ParameterKind, value: Value): boolean {
  if (takes === 'any') return true
  if (value === null) return takes !== 'count' && takes !== 'names'
  const isInteger = typeof value === 'number' || typeof value === 'bigint'
  switch (takes) {
    case 'list':
      return Array.isArray(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'number':
      return isInteger || value instanceof Float
    case 'scalar':
      return isInteger || value instanceof Float || ['string', 'boolean'].includes(typeof value) || isInstant(value)
    case 'integer':
      return isInteger
    case 'count':
      return typeof value === 'number' && value >= 0
    case 'names':
      return [value].flat().every((name) => typeof name === 'string')
    default:
      return assertNever(takes)
  }
}

function isInstant(value: Value): boolean {
  return isTemporal(value) && !(value instanceof DurationValue)
}
