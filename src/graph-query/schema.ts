// The request and the answer of a query over the graph of a project.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import { Float } from '../kernel/float.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'

/** Rows of an answer if the request has no `limit`. */
export const ROWS_DEFAULT = 1000
/** Maximum rows of one answer. */
const ROWS_MAX = 10_000

/** Maximum characters of the text. The audit log has the whole text. */
export const QUERY_LENGTH_MAX = 65_536

const parameters = z
  .custom<Readonly<Record<string, unknown>>>(isJsonObject, { error: 'expected object' })
  .meta({ documentedAs: jsonObject })

const rowLimit = z.int().min(0).max(ROWS_MAX).describe(`rows in the answer. Default: ${ROWS_DEFAULT}`)

/** The request. */
export const graphQuery = z
  .strictObject({
    query: z
      .string()
      .min(1)
      .max(QUERY_LENGTH_MAX)
      .describe('Cypher that ends with RETURN; clauses that write are refused'),
    parameters: parameters.optional().describe('a value for each parameter of the query, by its name without `$`'),
    limit: z
      .preprocess((value) => (value instanceof Float ? value.value : value), rowLimit)
      .meta({ documentedAs: rowLimit })
      .optional(),
    mode: z
      .enum(['rows', 'plan', 'profile'])
      .optional()
      .describe(
        '`plan`: the plan, and no rows are read; `profile`: the rows, and the plan with rows, reads and time of each operator. Default: `rows`',
      ),
  })
  .meta({ id: 'GraphQuery' })
/** A query over a graph. */
export type GraphQuery = z.infer<typeof graphQuery>

/** One operator of the plan, with its inputs. `rows`, `reads` and `time_ms` are those of this operator alone, only in a profile. */
export interface QueryStep {
  readonly operator: string
  readonly detail: string
  readonly rows?: number | undefined
  readonly reads?: number | undefined
  readonly time_ms?: number | undefined
  /** Absent for the root. */
  readonly role?: 'input' | 'inner' | 'branch' | undefined
  readonly children: readonly QueryStep[]
}

const measure = z.number().optional().describe('only in a profile')

/** An operator of a plan. */
export const queryStep = z
  .object({
    operator: z.string(),
    detail: z.string(),
    rows: measure,
    reads: measure,
    time_ms: measure,
    role: z.string().optional().describe('of a child: `input`, `inner` or `branch`; absent for the root'),
    get children(): z.ZodArray<z.ZodType> {
      return z.array(queryStep)
    },
  })
  .meta({ id: 'GraphQueryStep' })

const nodeKey = z
  .object({ type: z.string().nullable(), external_id: z.string().nullable() })
  .meta({ id: 'GraphQueryNodeKey', description: 'The key of a node; null for a node that was never captured.' })

const properties = jsonObject.describe('values by name')
const external = jsonObject
  .optional()
  .describe('the resolver of each property that an external data resolver supplies; its value is not read')

/** A node in an answer. */
const queriedNode = z
  .object({
    kind: z.literal('node'),
    id: z.string().describe('the global id; empty for a node that was never captured'),
    ...nodeKey.shape,
    labels: z.array(z.string()).describe('includes the type'),
    is_identity: z.boolean(),
    location: z.string().optional().describe('of a node in a composite project'),
    properties,
    external,
  })
  .meta({ id: 'GraphQueryNode' })

/** A relationship in an answer. */
const queriedRelationship = z
  .object({
    kind: z.literal('relationship'),
    id: z.string().describe('the global id'),
    type: z.string(),
    source: nodeKey,
    target: nodeKey,
    properties,
    external,
  })
  .meta({ id: 'GraphQueryRelationship' })

/** A path in an answer. */
const queriedPath = z
  .object({
    kind: z.literal('path'),
    nodes: z.array(queriedNode),
    relationships: z.array(queriedRelationship),
  })
  .meta({ id: 'GraphQueryPath' })

const warning = z
  .object({ code: z.string(), message: z.string(), line: z.int(), column: z.int() })
  .meta({ id: 'GraphQueryWarning' })

/** Each form of a value is listed, because an alternative without a condition would make the others meaningless. */
const queriedValue: z.ZodType<unknown> = z.union([
  queriedNode,
  queriedRelationship,
  queriedPath,
  z.string(),
  z.number(),
  z.boolean(),
  z.array(z.unknown()),
  jsonObject,
  z.null(),
])

/** The answer. */
export const graphQueryAnswer = z
  .object({
    columns: z.array(z.string()),
    rows: z
      .array(z.array(queriedValue))
      .describe('one value for each column, in their order. A temporal value is ISO 8601 text'),
    truncated: z.boolean().describe('the query has more rows than the answer'),
    truncated_by: z
      .enum(['limit', 'size'])
      .optional()
      .describe('`size`: the setting `execute_answer_max`; only if the answer is truncated'),
    warnings: z
      .array(warning)
      .optional()
      .describe('the labels, relationship types and properties that the graph has never seen'),
    plan: queryStep.optional().describe('only if `mode` requests it'),
    duration_ms: z.number(),
  })
  .meta({ id: 'GraphQueryAnswer' })
/** The rows of a query, or its plan. */
export type GraphQueryAnswer = Omit<z.infer<typeof graphQueryAnswer>, 'plan'> & {
  readonly plan?: QueryStep | undefined
}
