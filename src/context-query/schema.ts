// What an execution takes and gives (interface, execute; facts 1.6.2).
import { z } from 'zod'
import { isJsonObject } from '../kernel/json-kind.ts'

export const PAGE_SIZE_MAX = 10_000

const object = z
  .custom<Readonly<Record<string, unknown>>>(isJsonObject, { error: 'expected object' })
  .meta({ type: 'object' })

/** Unknown members are refused: a misspelt `page_size` would read another page than was meant. */
export const executeRequest = z.strictObject({
  id: z.string().min(1).max(256).describe('the id or the name of the knowledge query'),
  input_params: object.optional().describe('a value for each parameter of the query, by its name without `$`'),
  /** A row offset: below 1 is the first page (ruling C1). */
  page_token: z.number().int().optional().describe('how many records to skip: for the next page, those that have come'),
  page_size: z.number().int().min(1).max(PAGE_SIZE_MAX).optional().describe('records in an answer; 100 by default'),
})
export type ExecuteRequest = z.infer<typeof executeRequest>

const cells = z.record(z.string(), z.unknown()).describe('values by the paths that the query asks for')

export const executeAnswer = z.strictObject({
  data: z.array(
    z.strictObject({
      nodes: cells.optional(),
      relationships: cells.optional(),
      aggregate_values: cells.optional(),
    }),
  ),
  /** Absent when there is nothing to tell. */
  warnings: z
    .array(z.string())
    .optional()
    .describe('what could not be supplied, each with its reason; the values are null'),
})
export type ExecuteAnswer = z.infer<typeof executeAnswer>
export type RecordData = ExecuteAnswer['data'][number]
