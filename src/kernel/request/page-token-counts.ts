// The unit of the `page_token` of an execution: a member of projects and application agents
// (docs/decisions/0010-context-query-reads.md).

/** The values of `page_token_counts`. */
export const pageTokenCounts = ['rows', 'pages'] as const
/** The unit of `page_token`: rows to skip, or pages from 1. */
export type PageTokenCounts = (typeof pageTokenCounts)[number]
