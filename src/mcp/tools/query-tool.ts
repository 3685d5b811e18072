// The tool that runs a knowledge query for the holder of the token, as POST /contx-iq/v1/execute does.
import { execute, pageOf } from '../../ciq/execute.ts'
import { executeRequest, PAGE_SIZE_MAX } from '../../ciq/schema.ts'
import { validate } from '../../config/validate.ts'
import { err, ok } from '../../kernel/result.ts'
import type { Tool } from './tool.ts'

/** Names in the refusal of one that is not among them. */
const NAMES_MAX = 20

const cells = { type: 'object', description: 'values by the paths that the query asks for' }

export const queryTool: Tool = {
  name: 'ciq_execute',
  title: 'Run a knowledge query',
  description:
    'Runs a knowledge query with the rights of the token’s subject and answers its records. Read the resource svc://knowledge-queries/ first: it tells which queries there are, what each is for, its parameters, and whether it writes.',
  inputSchema: {
    type: 'object',
    properties: {
      id: { type: 'string', minLength: 1, maxLength: 256, description: 'the id or the name of the knowledge query' },
      input_params: { type: 'object', description: 'a value for each parameter of the query, by its name without `$`' },
      page_token: { type: 'integer', description: 'how many records to skip: for the next page, those that have come' },
      page_size: {
        type: 'integer',
        minimum: 1,
        maximum: PAGE_SIZE_MAX,
        description: 'records in an answer; 100 by default',
      },
    },
    required: ['id'],
    additionalProperties: false,
  },
  outputSchema: {
    type: 'object',
    properties: {
      data: {
        type: 'array',
        items: { type: 'object', properties: { nodes: cells, relationships: cells, aggregate_values: cells } },
      },
      warnings: { type: 'array', items: { type: 'string' }, description: 'what could not be supplied' },
    },
    required: ['data'],
  },
  // A query may write and delete, once for each record and each call, and values may be fetched from elsewhere.
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  permission: 'CIQ',
  async call({ contexts, queries }, agent, _requestId, given) {
    const request = validate(executeRequest, given)
    if (!request.ok) return err({ kind: 'malformed', issues: request.error })
    const executed = await execute(contexts, agent, request.value)
    if (!executed.ok) {
      if (executed.error.kind !== 'not-found' || executed.error.what !== 'knowledge query') return executed
      const names = queries.all(agent.projectId).map(({ name }) => name)
      const known = names.length === 0 ? 'there are none' : `there are: ${names.slice(0, NAMES_MAX).join(', ')}`
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
