// Reads relationships (tuples) and subjects in the notation of OpenFGA.
import { MigrationError, type RelationTuple } from '../relation-model.ts'

/** A tuple as in files and requests of OpenFGA. */
export interface OpenFgaTuple {
  readonly user: string
  readonly relation: string
  readonly object: string
  readonly condition?: { readonly name: string; readonly context?: Readonly<Record<string, unknown>> } | null
}

/** Reads a tuple. Throws a MigrationError for a user or object without a type. */
export function readOpenFgaTuple({ user, relation, object, condition }: OpenFgaTuple): RelationTuple {
  return {
    subject: readOpenFgaSubject(user),
    relation,
    object: readOpenFgaObject(object),
    condition: condition?.name ? { name: condition.name, context: condition.context ?? {} } : null,
    expiration: null,
  }
}

/** Reads `type:id`. */
export function readOpenFgaObject(text: string): { readonly type: string; readonly id: string } {
  const colon = text.indexOf(':')
  if (colon <= 0) throw new MigrationError(`\`${text}\` is not an object: write \`type:id\``)
  return { type: text.slice(0, colon), id: text.slice(colon + 1) }
}

/** Reads `type:id`, `type:*` or `type:id#relation`. */
export function readOpenFgaSubject(text: string): RelationTuple['subject'] {
  const hash = text.indexOf('#')
  if (hash < 0) return { ...readOpenFgaObject(text), relation: null }
  return { ...readOpenFgaObject(text.slice(0, hash)), relation: text.slice(hash + 1) }
}
