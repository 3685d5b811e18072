// The tool that runs a knowledge query for the holder of the token, as POST /contx-iq/v1/execute does.

import { validate } from '../../config/validate.ts'
import { executeQuery, pageOf } from '../../context-query/execute.ts'
import { executeAnswer, executeRequest } from '../../context-query/schema.ts'
import { err, ok } from '../../kernel/result.ts'
import { objectSchema, type Tool } from './tool.ts'

/** Names in the refusal of one that is not among them. */
const LISTED_NAMES_MAX = 20

export const queryTool: Tool = {
  name: 'ciq_execute',
  title: 'Run a knowledge query',
  description:
    'Runs a knowledge query with the rights of the token’s subject and answers its records. Read the resource svc://knowledge-queries/ first: it tells which queries there are, what each is for, its parameters, and whether it writes.',
  inputSchema: objectSchema(executeRequest),
  outputSchema: objectSchema(executeAnswer),
  // A query may write and delete, once for each record and each call, and values may be fetched from elsewhere.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  permission: 'CIQ',
  async call({ contexts, queries }, agent, _requestId, given) {
    const request = validate(executeRequest, given)
    if (!request.ok) return err({ kind: 'malformed', issues: request.error })
    const executed = await executeQuery(contexts, agent, request.value)
    if (!executed.ok) {
      if (executed.error.kind !== 'not-found' || executed.error.what !== 'knowledge query') return executed
      const names = queries.all(agent.projectId).map(({ name }) => name)
      const known = names.length === 0 ? 'there are none' : `there are: ${names.slice(0, LISTED_NAMES_MAX).join(', ')}`
      return err({ kind: 'not-found', message: `${executed.error.message}; ${known}` })
    }
    const { data } = executed.value
    const { skip, size } = pageOf(request.value)
    // One that writes has answered all of its rows, or none.
    const mayBeMore = data.length === size && contexts.queries.find(agent.projectId, request.value.id)?.writes === null
    return ok({
      structured: executed.value,
      ...(mayBeMore && {
        hint: `This page is full: there may be more records, from page_token ${skip + size} on.`,
      }),
    })
  },
}
