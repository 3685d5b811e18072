// A bound expression with its static type, and constructors for the common forms.
import { ANY, type StaticType, staticType } from '../value/static-type.ts'
import type { Value } from '../value/value.ts'
import type { BoundExpression } from './bound.ts'

/** A bound expression, and the static type of its values. */
export interface TypedExpression {
  readonly bound: BoundExpression
  readonly type: StaticType
}

/** A bound constant. */
export type Constant = Extract<BoundExpression, { kind: 'constant' }>

/** The result for an expression that was reported. It is never executed, and it causes no further diagnostics. */
export const INVALID_EXPRESSION: TypedExpression = { bound: { kind: 'constant', value: null }, type: ANY }

const BOOLEAN = staticType('boolean')

/** A constant with its type. */
export function constantExpression(value: Value, type: StaticType): TypedExpression {
  return { bound: { kind: 'constant', value }, type }
}

/** An expression whose values are true, false or null. */
export function booleanExpression(bound: BoundExpression): TypedExpression {
  return { bound, type: BOOLEAN }
}

/** Whether the expression is a constant. */
export function isConstant(bound: BoundExpression): bound is Constant {
  return bound.kind === 'constant'
}
