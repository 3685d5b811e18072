// The member `app` of a filter: a label that no decision reads. Stored filters may have it, because earlier releases accepted it; a
// filter that is stored now must not, because its author could expect that it restricts the filter to one application.
import { isJsonObject } from '../kernel/json/json-kind.ts'

/** The errors of members `app` in a filter or a list of filters, each with its place below `path`. Other faults are not reported. */
export function filterLabelIssues(filter: unknown, path: string): string[] {
  if (Array.isArray(filter)) return filter.flatMap((one, at) => filterLabelIssues(one, `${path}[${at}]`))
  if (!isJsonObject(filter)) return []
  const own =
    filter.app === undefined
      ? []
      : [`${path}.app: has no effect and does not restrict the filter to an application; remove it`]
  return [...own, ...filterLabelIssues(filter.operands, `${path}.operands`)]
}

/** The errors of all filters of a policy document. */
export function policyLabelIssues(document: unknown): string[] {
  if (!isJsonObject(document) || !isJsonObject(document.condition)) return []
  const { condition } = document
  return ['filter', 'token_filter'].flatMap((name) => filterLabelIssues(condition[name], `policy.condition.${name}`))
}
