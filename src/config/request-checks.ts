// Checks of requests that do not depend on what is stored.

import type { ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { withoutNulls } from './fields.ts'
import { type ConfigKind, type DocumentFields, pluralOf } from './kind.ts'

/** Null: the caller may use an operation, which the kind offers. */
export function permissionError(caller: ServiceAccountCaller, kind: ConfigKind, offered: boolean): ServiceError | null {
  if (!offered) return methodNotAllowedError(kind)
  if (caller.role === 'all_editor') return null
  return { kind: 'forbidden', message: `the role \`${caller.role}\` may not change ${pluralOf(kind)}` }
}

/** The error for an operation that a kind does not offer. */
export function methodNotAllowedError(kind: ConfigKind): ServiceError {
  const { operations } = kind
  const allow = ['GET', ...(operations.update ? ['PUT'] : []), ...(operations.delete ? ['DELETE'] : [])]
  return { kind: 'method-not-allowed', allow }
}

/** A validated body without null members, in the spelling that is stored. */
export function normalisedBody(kind: ConfigKind, read: DocumentFields): DocumentFields {
  const body = withoutNulls(read)
  return kind.normaliseBody?.(body) ?? body
}
