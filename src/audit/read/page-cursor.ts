// The cursors of pages: the place of the last item, and the list to which it belongs, so that a cursor of another list is refused.
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { RecordPosition } from './search-records.ts'

const invalid: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['cursor: expected `next_cursor` of an answer of the same list'],
})

/** The cursor after an item. `kind`: the list. */
export function encodeCursor(kind: string, number: number): string {
  return encode([kind, number])
}

/** The number in a cursor; null: there is no cursor. Error: `malformed`. */
export function decodeCursor(text: string | null, kind: string): Result<number | null, ServiceError> {
  if (text === null) return ok(null)
  const [number, ...rest] = decode(text, kind) ?? []
  return number === undefined || rest.length > 0 ? invalid : ok(number)
}

/** The cursor at a record. */
export function encodeRecordCursor({ generation, index }: RecordPosition, isNewestFirst: boolean): string {
  return encode([kindOf(isNewestFirst), generation, index])
}

/** The place in a cursor; null: there is no cursor. Error: `malformed`. */
export function decodeRecordCursor(
  text: string | null,
  isNewestFirst: boolean,
): Result<RecordPosition | null, ServiceError> {
  if (text === null) return ok(null)
  const [generation, index, ...rest] = decode(text, kindOf(isNewestFirst)) ?? []
  return generation === undefined || index === undefined || rest.length > 0 ? invalid : ok({ generation, index })
}

function kindOf(isNewestFirst: boolean): string {
  return isNewestFirst ? 'newest' : 'oldest'
}

function encode(parts: readonly (string | number)[]): string {
  return Buffer.from(parts.join(' ')).toString('base64url')
}

/** The numbers of a cursor; null: it is not of this list. */
function decode(text: string, kind: string): readonly number[] | null {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [name, ...rest] = plain.split(' ')
  if (name !== kind || encode([name, ...rest]) !== text) return null
  return rest.every((part) => /^(?:0|[1-9]\d{0,15})$/.test(part)) ? rest.map(Number) : null
}
