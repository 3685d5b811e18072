// Short forms of subjects, resources and parameters in calls of the client.
import type { RequestEntity } from '../authorizer/authorizer.ts'

/** An entity as in a request, `{ TYPE: ID }`, such as `{ Person: 'ann' }`, or `'TYPE:ID'`. */
export type EntityReference = RequestEntity | Readonly<Record<string, string>> | string

/** The entity that a reference names. `place`: for the message of the `TypeError` if it names none. */
export function entityOf(reference: EntityReference, place: string): RequestEntity {
  if (typeof reference === 'string') {
    const colon = reference.indexOf(':')
    if (colon > 0) return { type: reference.slice(0, colon), id: reference.slice(colon + 1) }
    throw new TypeError(`${place}: expected 'TYPE:ID', found ${JSON.stringify(reference)}`)
  }
  const members = Object.entries(reference)
  const [first] = members
  if (members.length === 1 && first !== undefined && typeof first[1] === 'string')
    return { type: first[0], id: first[1] }
  const { type, id } = reference as Partial<RequestEntity>
  if (typeof type === 'string' && typeof id === 'string') return reference as RequestEntity
  throw new TypeError(`${place}: expected { TYPE: ID } or { type, id }, found ${JSON.stringify(reference)}`)
}
