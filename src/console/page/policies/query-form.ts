// A knowledge query as fields: its policy, and its document as JSON.
import { blockLines, type DocumentKindView, type PageStatusDocument, sharedLines } from './document-kind.ts'

/** A stored knowledge query. */
export interface PageKnowledgeQuery extends PageStatusDocument {
  readonly policy_id: string
  /** JSON text; a DRAFT may hold any text. */
  readonly query: string
}

/** The kind. */
export const queryKind: DocumentKindView<PageKnowledgeQuery> = {
  path: 'knowledge-queries',
  noun: 'knowledge query',
  parameter: 'query',
  list: 'queries',
  empty: {
    name: '',
    display_name: '',
    description: '',
    status: 'DRAFT',
    policy_id: '',
    query: '{\n  "nodes": ["subject.external_id"]\n}',
  },
  formOf: ({ name, display_name, description, status, policy_id, query }) => ({
    name,
    display_name,
    description,
    status,
    policy_id,
    query: indented(query),
  }),
  bodyOf({ display_name, description, status, policy_id, query = '' }) {
    const body = { display_name, description, status, policy_id, query }
    if (!policy_id) return { problems: ['Policy: choose the context policy that allows what the query reads.'] }
    try {
      JSON.parse(query)
      return { body }
    } catch (failure) {
      return status === 'DRAFT' ? { body } : { problems: [`Query: this is not JSON: ${(failure as Error).message}`] }
    }
  },
  textOf: (form) => [...sharedLines(form), `policy: ${form.policy_id}`, ...blockLines('query', form.query)].join('\n'),
}

/** Numbers of many digits would change. */
function indented(text: string): string {
  try {
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
