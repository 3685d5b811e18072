// The rows that one execution returns, from the page members of its request
// (docs/decisions/0010-context-query-reads.md).
import type { PageTokenCounts } from '../kernel/request/page-token-counts.ts'
import type { ExecuteRequest } from './schema.ts'

const PAGE_SIZE = 100

/** The rows of one page. */
export interface PageRange {
  /** Rows before the page. */
  readonly skip: number
  /** Maximum rows of the page. */
  readonly size: number
  /** The member of the request, and its value, that gives the next page. */
  readonly next: { readonly member: 'page' | 'page_token'; readonly value: number }
}

/**
 * Returns the rows of the page that a request asks for; `counts` is the meaning of its `page_token`. As a number of rows,
 * 1 means the first page if a page has more than one row: some clients that count pages fetch only the first.
 */
export function pageOf({ page, page_token = 0, page_size = 0 }: ExecuteRequest, counts: PageTokenCounts): PageRange {
  const size = page_size === 0 ? PAGE_SIZE : page_size
  if (page === undefined && counts === 'rows') {
    const skip = page_token < 1 || (page_token === 1 && size > 1) ? 0 : page_token
    return { skip, size, next: { member: 'page_token', value: skip + size } }
  }
  const number = Math.max(1, page ?? page_token)
  const member = page === undefined ? 'page_token' : 'page'
  return { skip: (number - 1) * size, size, next: { member, value: number + 1 } }
}
