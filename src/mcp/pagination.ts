// Keyset pagination of lists: entries are ordered by key, and an opaque cursor holds the last key of a page.
import { ok, type Result } from '../kernel/result.ts'
import { invalidParams, type RpcError, type RpcObject } from './json-rpc.ts'

const CURSOR_FORM = /^[A-Za-z0-9_-]{1,1024}$/

/** One page of a list. `next` is empty on the last page. */
export interface ListPage<T> {
  readonly entries: readonly T[]
  readonly next: { readonly nextCursor?: string }
}

/**
 * Returns one page of a list. Error: `invalidParams` if the cursor is not one of this list.
 * @param list The name of the list, stored in its cursors.
 * @param all All entries in ascending order of `keyOf`.
 * @param max Maximum number of entries in the page.
 */
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

const invalidCursor = invalidParams('cursor: expected the `nextCursor` of an earlier result of this method')

function writeCursor(list: string, key: string): string {
  return Buffer.from(`${list} ${key}`, 'utf8').toString('base64url')
}

function readCursor(list: string, cursor: unknown): string | null {
  if (typeof cursor !== 'string' || !CURSOR_FORM.test(cursor)) return null
  const text = Buffer.from(cursor, 'base64url').toString('utf8')
  return text.startsWith(`${list} `) && text.length > list.length + 1 ? text.slice(list.length + 1) : null
}
