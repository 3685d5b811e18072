// Runs the condition of a policy, as it is written, over the graph: the pairs, or the rows of a context policy. Filters are not applied.
import { cypherName, parametersIn } from '../../../kernel/text/cypher-names.ts'
import type { FormTexts } from './document-kind.ts'

/** A query over the graph. */
export interface ConditionQuery {
  readonly query: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/** Parameters that follow from the chosen nodes. */
const FROM_NODES = ['subject_external_id', 'subject_type', 'resource_external_id', 'resource_type'] as const

/** Names without `$` that the user gives: those of the text without the ones that follow from the nodes. */
export function rowParameters({ cypher = '' }: FormTexts): readonly string[] {
  return parametersIn(cypher).filter((name) => !(FROM_NODES as readonly string[]).includes(name))
}

/** `subject`, `resource`: external ids; empty: any. */
export function conditionQuery(
  form: FormTexts,
  subject: string,
  resource: string,
  values: Readonly<Record<string, unknown>>,
): ConditionQuery {
  const { cypher = '', version, subject: subjectType = '', resource: resourceType = '' } = form
  const isContext = version === '1.0-ciq'
  const wanted = [
    `subject:${cypherName(subjectType.trim())}`,
    ...(subject === '' ? [] : ['subject.external_id = $console_subject']),
    ...(isContext ? [] : [`resource:${cypherName(resourceType.trim())}`]),
    ...(isContext || resource === '' ? [] : ['resource.external_id = $console_resource']),
  ].join(' AND ')
  const tail = isContext
    ? `WITH * WHERE ${wanted}\nRETURN *`
    : `WITH subject, resource WHERE ${wanted}\nRETURN DISTINCT subject, resource`
  const names = parametersIn(cypher)
  const fromNodes = {
    subject_external_id: subject,
    subject_type: subjectType.trim(),
    resource_external_id: resource,
    resource_type: resourceType.trim(),
  }
  return {
    query: `${cypher.trimEnd()}\n${tail}`,
    parameters: {
      ...values,
      ...Object.fromEntries(Object.entries(fromNodes).filter(([name]) => names.includes(name))),
      ...(subject !== '' && { console_subject: subject }),
      ...(!isContext && resource !== '' && { console_resource: resource }),
    },
  }
}

/** A value in a cell. */
export function cellText(value: unknown): string {
  if (value === null) return 'null'
  if (typeof value !== 'object') return String(value)
  const { kind, type, external_id } = value as Readonly<Record<string, unknown>>
  if (kind === 'node') return `${String(type)}:${String(external_id)}`
  if (kind === 'relationship') return `[:${String(type)}]`
  return JSON.stringify(value)
}
