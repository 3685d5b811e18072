// A bound expression and what is known of its value before there is one, with the forms that many kinds come down to.
import { ANY, type StaticType, staticType } from '../value/static-type.ts'
import type { Value } from '../value/value.ts'
import type { BoundExpression } from './bound.ts'

export interface TypedExpression {
  readonly bound: BoundExpression
  readonly type: StaticType
}

export type Constant = Extract<BoundExpression, { kind: 'constant' }>

/** What stands where an issue was reported: it is not to be run, and nothing more is found wrong with it. */
export const INVALID_EXPRESSION: TypedExpression = { bound: { kind: 'constant', value: null }, type: ANY }

const BOOLEAN = staticType('boolean')

export function constantExpression(value: Value, type: StaticType): TypedExpression {
  return { bound: { kind: 'constant', value }, type }
}

export function booleanExpression(bound: BoundExpression): TypedExpression {
  return { bound, type: BOOLEAN }
}

export function isConstant(bound: BoundExpression): bound is Constant {
  return bound.kind === 'constant'
}
