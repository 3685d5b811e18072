// The last queries that ran in this browser, by account and project.
import { signIn } from '../api.ts'
import type { ParameterFields } from '../parts/parameter-fields.tsx'

/** A query as it was typed. */
export interface TypedQuery {
  readonly query: string
  readonly parameters: ParameterFields
}

const HISTORY_MAX = 20

/** Another account of the same browser does not see the queries, which contain values. */
function nameOf(projectId: string): string {
  const { value } = signIn
  const account = value.kind === 'signed-in' ? value.session.service_account_id : ''
  return `verdigraph-graph-history-${account}-${projectId}`
}

/** The last queries, the newest first. */
export function readHistory(projectId: string): readonly TypedQuery[] {
  try {
    return JSON.parse(localStorage.getItem(nameOf(projectId)) ?? '[]') as readonly TypedQuery[]
  } catch {
    return []
  }
}

/** Adds a query. Returns the new list. */
export function addToHistory(projectId: string, typed: TypedQuery): readonly TypedQuery[] {
  const others = readHistory(projectId).filter(({ query }) => query !== typed.query)
  const list = [typed, ...others].slice(0, HISTORY_MAX)
  try {
    localStorage.setItem(nameOf(projectId), JSON.stringify(list))
  } catch {
    // The storage of the browser is full or switched off: the page still has the list.
  }
  return list
}

/** Removes all queries. */
export function clearHistory(projectId: string): readonly TypedQuery[] {
  localStorage.removeItem(nameOf(projectId))
  return []
}
