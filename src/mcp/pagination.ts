// Lists in pages: entries have a stable order by their keys, and a cursor says after which key to go on, opaquely.
import { ok, type Result } from '../kernel/result.ts'
import { invalidParams, type RpcError, type RpcObject } from './json-rpc.ts'

const CURSOR_FORM = /^[A-Za-z0-9_-]{1,1024}$/

export interface ListPage<T> {
  readonly entries: readonly T[]
  readonly next: { readonly nextCursor?: string }
}

/** `all` ascends by `keyOf`. `list` keeps the cursors of different lists apart. */
export function paginate<T>(
  list: string,
  all: readonly T[],
  keyOf: (entry: T) => string,
  { cursor }: RpcObject,
  max: number,
): Result<ListPage<T>, RpcError> {
  const after = cursor === undefined ? '' : readCursor(list, cursor)
  if (after === null) return invalidCursor
  const rest = all.filter((entry) => keyOf(entry) > after)
  const entries = rest.slice(0, max)
  const last = entries.at(-1)
  return ok({
    entries,
    next: rest.length > max && last !== undefined ? { nextCursor: writeCursor(list, keyOf(last)) } : {},
  })
}

const invalidCursor = invalidParams('cursor: expected the nextCursor of an earlier answer to this method')

function writeCursor(list: string, key: string): string {
  return Buffer.from(`${list} ${key}`, 'utf8').toString('base64url')
}

function readCursor(list: string, cursor: unknown): string | null {
  if (typeof cursor !== 'string' || !CURSOR_FORM.test(cursor)) return null
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  return text.startsWith(`${list} `) && text.length > list.length + 1 ? text.slice(list.length + 1) : null
}
