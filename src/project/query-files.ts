// The kind of files of knowledge queries.
import { z } from 'zod'
import type { ConfigKind } from '../config/kind.ts'
import { type DocumentFields, queriesKind } from '../config/kind.ts'
import { knowledgeQueries } from '../context-query/knowledge-query.ts'
import { queryDocument } from '../context-query/query-document.ts'
import { parseJson, writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import {
  documentName,
  envelopeOf,
  type FileKind,
  isFileOf,
  type NamingMember,
  ownMembers,
  QUERIES,
  renamed,
  status,
  without,
  withoutDefaults,
} from './file-kinds.ts'

const queries = knowledgeQueries(Number.MAX_SAFE_INTEGER)

/** The kind of a project's queries. It is loaded with their files. `textMax`: maximum characters of a query's document. */
export function queryKind(textMax: number): ConfigKind {
  return knowledgeQueries(textMax)
}

const queryNames: readonly NamingMember[] = [{ member: 'policy', bodyMember: 'policy_id', kind: policiesKind }]
const queryEnvelope = {
  ...ownMembers(queries, ['policy_id', 'query', 'status']),
  status: status.optional().describe('default: ACTIVE'),
}
const queryEnvelopeMembers = new Set(Object.keys(queryEnvelope))
const queryFile = z
  .strictObject({
    ...queryEnvelope,
    policy: documentName.describe('the name of a policy of version 1.0-ciq'),
    ...queryDocument.shape,
  })
  .meta({ id: 'KnowledgeQueryFile' })
const queryTextFile = z
  .strictObject({
    ...queryEnvelope,
    policy: documentName,
    text: z.string().describe('the text of the query as it is stored, for drafts that are not valid'),
  })
  .meta({ id: 'KnowledgeQueryTextFile' })

/** Knowledge queries. */
export const queryFiles: FileKind = {
  ...QUERIES,
  kind: queriesKind,
  label: queries.label,
  schema: z.union([queryFile, queryTextFile]),
  schemaFor: ({ text }) => (text === undefined ? queryFile : queryTextFile),
  references: queryNames,
  secrets: [],
  bodyOf: (data, exact) => ({
    ...envelopeOf(data, queryEnvelopeMembers),
    query:
      typeof data.text === 'string'
        ? data.text
        : writeJson(without(exact, new Set([...queryEnvelopeMembers, 'policy']))),
  }),
  dataOf({ query, ...members }) {
    return { ...withoutDefaults(members, { status: 'ACTIVE' }), ...queryData(query as string) }
  },
  pathInFile: (path) => renamed(path.replace(/^query\.?/, ''), queryNames),
}

/** The members of a query file for a stored text; the text itself if no members give it. */
function queryData(text: string): DocumentFields {
  const parsed = parseJson(text)
  if (!parsed.ok || !isJsonObject(parsed.value)) return { text }
  // The name of the policy is not part of the text.
  return isFileOf(queryFiles, { policy: 'policy', ...parsed.value }, 'query', parsed.value) ? parsed.value : { text }
}
