// Request and response schemas of query execution.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import { Float } from '../kernel/float.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'

/** Maximum records of one response. */
export const PAGE_SIZE_MAX = 10_000

const object = z
  .custom<Readonly<Record<string, unknown>>>(isJsonObject, { error: 'expected object' })
  .meta({ documentedAs: jsonObject })

/** An integer, also one that is written as `2.0` or `1e1`: JSON Schema (2020-12 Validation, section 6.1.1) counts both as integers. */
function integer(schema: z.ZodNumber) {
  return z.preprocess((value) => (value instanceof Float ? value.value : value), schema).meta({ documentedAs: schema })
}

/** The request. Unknown members are rejected: a misspelt `page_size` would silently read another page. */
export const executeRequest = z
  .strictObject({
    id: z.string().min(1).max(256).describe('the id or the name of the knowledge query'),
    input_params: object.optional().describe('a value for each parameter of the query, by its name without `$`'),
    page_token: integer(z.number().int())
      .optional()
      .describe(
        'number of records to skip: for the next page, the number received so far; below 1 is the first page. ' +
          'Counts pages, as `page` does, where `page_token_counts` of the project or the agent is `pages`',
      ),
    page: integer(z.number().int().min(1))
      .optional()
      .describe('number of the page, from 1: for the next page, one more. Not together with `page_token`'),
    page_size: integer(z.number().int().min(0).max(PAGE_SIZE_MAX))
      .optional()
      .describe('records in an answer; 0 is the default, 100'),
  })
  .superRefine(({ page, page_token }, context) => {
    if (page === undefined || page_token === undefined) return
    const message = '`page_token` is given too; give `page`, which counts pages, or `page_token`'
    context.addIssue({ code: 'custom', path: ['page'], message })
  })
  .meta({ id: 'KnowledgeQueryCall' })
/** The body of an execution request. */
export type ExecuteRequest = z.infer<typeof executeRequest>

const cells = jsonObject.describe('values by requested path')

/** The response. */
export const executeAnswer = z
  .strictObject({
    data: z.array(
      z
        .strictObject({
          nodes: cells.optional(),
          relationships: cells.optional(),
          aggregate_values: cells.optional(),
        })
        .meta({ id: 'KnowledgeQueryRecord' }),
    ),
    /** Absent if none exist. */
    warnings: z
      .array(z.string())
      .optional()
      .describe('values that could not be resolved, each with its reason; the values are null'),
  })
  .meta({ id: 'KnowledgeQueryAnswer' })
/** The body of an execution response. */
export type ExecuteAnswer = z.infer<typeof executeAnswer>
/** One record of the response. */
export type RecordData = ExecuteAnswer['data'][number]
