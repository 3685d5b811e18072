// The tool that runs a knowledge query for the holder of the token, like POST /contx-iq/v1/execute.

import { validate } from '../../config/validate.ts'
import { executeQuery } from '../../context-query/execute.ts'
import { pageOf } from '../../context-query/page-range.ts'
import { executeAnswer, executeRequest } from '../../context-query/schema.ts'
import { err, ok } from '../../kernel/result.ts'
import { objectSchema, type Tool } from './tool.ts'

/** Maximum number of names listed in the error for an unknown query. */
const LISTED_NAMES_MAX = 20

function applicationOnly(id: string): string {
  return `the knowledge query \`${id}\` exists only for the application's own key; an administrator can offer it here with \`application_queries\` of the MCP server`
}

/** The tool `ciq_execute`. */
export const queryTool: Tool = {
  name: 'ciq_execute',
  title: 'Run a knowledge query',
  description:
    'Runs a knowledge query and returns its records. A query runs with the rights of the token’s subject, unless its description names the application as its subject. Read the resource svc://knowledge-queries/ first: it lists the queries with their purpose and parameters, and whether they write.',
  get inputSchema() {
    return objectSchema(executeRequest)
  },
  get outputSchema() {
    return objectSchema(executeAnswer)
  },
  // A query may write and delete for each record, and may fetch values from other services.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  permission: 'CIQ',
  async call({ contexts, queries }, agent, origin, args) {
    const request = validate(executeRequest, args)
    if (!request.ok) return err({ kind: 'malformed', issues: request.error })
    const executed = await executeQuery(contexts, agent, request.value, origin)
    if (!executed.ok) {
      if (executed.error.kind !== 'not-found' || executed.error.what !== 'knowledge query') return executed
      const { id } = request.value
      if (queries.isForApplicationOnly(agent.projectId, id))
        return err({ kind: 'forbidden', message: applicationOnly(id) })
      const names = queries.all(agent.projectId).map(({ name }) => name)
      const known =
        names.length === 0 ? 'the project has none' : `the project has ${names.slice(0, LISTED_NAMES_MAX).join(', ')}`
      return err({ kind: 'not-found', message: `${executed.error.message}; ${known}` })
    }
    const { data } = executed.value
    const { size, next } = pageOf(request.value, contexts.pageTokenCounts(agent))
    // A writing query returns all rows in one page.
    const mayBeMore = data.length === size && contexts.queries.find(agent.projectId, request.value.id)?.writes === null
    return ok({
      structured: executed.value,
      ...(mayBeMore && {
        hint: `This page is full. There may be more records: call again with ${next.member} ${next.value}.`,
      }),
    })
  },
}
