// The cursors of pages: the place of the last item, and the list and the log to which it belongs, so that a cursor of another one is
// refused: it would silently leave out items.
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { AuditLog } from '../../store/audit/audit-types.ts'
import { TILE_WIDTH } from '../log/tile-path.ts'
import type { RecordPosition } from './search-records.ts'

const invalid: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['cursor: expected `next_cursor` of an answer of the same list'],
})

/** The cursor after an item. `kind`: the list. `log`: the id of the log. */
export function encodeCursor(kind: string, log: string, number: number): string {
  return encode([kind, log, number])
}

/** The number in a cursor; null: there is no cursor. `last`: the number of the last item. Error: `malformed`. */
export function decodeCursor(
  text: string | null,
  kind: string,
  log: string,
  last: number,
): Result<number | null, ServiceError> {
  if (text === null) return ok(null)
  const [number = 0, ...rest] = decode(text, kind, log) ?? []
  return number < 1 || number > last || rest.length > 0 ? invalid : ok(number)
}

/** The cursor at a record of the log with this id. */
export function encodeRecordCursor(log: string, { generation, index }: RecordPosition, isNewestFirst: boolean): string {
  return encode([kindOf(isNewestFirst), log, generation, index])
}

/** The place in a cursor; null: there is no cursor. Error: `malformed`. */
export function decodeRecordCursor(
  text: string | null,
  { id, generations }: Pick<AuditLog, 'id' | 'generations'>,
  isNewestFirst: boolean,
): Result<RecordPosition | null, ServiceError> {
  if (text === null) return ok(null)
  const [generation, index, ...rest] = decode(text, kindOf(isNewestFirst), id) ?? []
  const found = generations.find(({ number }) => number === generation)
  if (found === undefined || index === undefined || rest.length > 0) return invalid
  // The place after the last bundle is in a bundle that does not exist yet.
  return index < found.size + TILE_WIDTH ? ok({ generation: found.number, index }) : invalid
}

function kindOf(isNewestFirst: boolean): string {
  return isNewestFirst ? 'newest' : 'oldest'
}

function encode(parts: readonly (string | number)[]): string {
  return Buffer.from(parts.join(' ')).toString('base64url')
}

/** The numbers of a cursor; null: it is not of this list of this log. */
function decode(text: string, kind: string, log: string): readonly number[] | null {
  const plain = Buffer.from(text, 'base64url').toString('latin1')
  const [name, id, ...rest] = plain.split(' ')
  if (name !== kind || id !== log || encode([name, id, ...rest]) !== text) return null
  return rest.every((part) => /^(?:0|[1-9]\d{0,15})$/.test(part)) ? rest.map(Number) : null
}
