// The schema of a context policy document (`1.0-ciq`): what a subject may read, write and delete around a pattern.
import { z } from 'zod'
import { contextFilter } from './context-filter.ts'
import { label } from './decision-document.ts'
import { type PathElementKind, parsePath } from './element-path.ts'

/** The version of context policies. */
export const contextVersion = '1.0-ciq'

const ENTRIES_MAX = 1000

/** A variable name in a policy or query document. */
export const variable = z
  .string()
  .max(256)
  .regex(/^[\p{L}_][\p{L}\p{N}_]*$/u, { error: 'expected a variable' })

function path(kind: PathElementKind) {
  return z.string().superRefine((text, context) => {
    const parsed = parsePath(text, kind)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.error })
  })
}

/** Node paths that a policy allows or a query requests. */
export const nodePaths = z.array(path('node')).max(ENTRIES_MAX)
/** Relationship paths that a policy allows or a query requests. */
export const relationshipPaths = z.array(path('relationship')).max(ENTRIES_MAX)
/** Aliases of aggregate values that a policy allows or a query requests. */
export const aggregateNames = z.array(variable).max(ENTRIES_MAX)

const variables = z.array(variable).max(ENTRIES_MAX)
const labels = z.array(label).max(ENTRIES_MAX)

/** Validates a parsed context policy document. */
export const contextDocument = z.strictObject({
  meta: z.strictObject({ policy_version: z.literal(contextVersion) }),
  subject: z.strictObject({ type: label }),
  condition: z.strictObject({
    cypher: z.string().min(1),
    filter: z.array(contextFilter).max(100).optional(),
    // read-policy-filter.ts parses it: like the filter of a decision policy, it does not read the graph.
    token_filter: z.unknown().optional(),
  }),
  allowed_reads: z
    .strictObject({
      nodes: nodePaths.optional(),
      relationships: relationshipPaths.optional(),
      aggregate_values: aggregateNames.optional(),
    })
    .optional(),
  allowed_upserts: z
    .strictObject({
      nodes: z
        .strictObject({
          existing_nodes: variables.optional(),
          node_types: labels.optional(),
          // The older spelling of `node_types`.
          node_labels: labels.optional(),
        })
        .optional(),
      relationships: z
        .strictObject({
          existing_relationships: variables.optional(),
          relationship_types: z
            .array(
              z.strictObject({ type: z.string().min(1).max(128), source_node_label: label, target_node_label: label }),
            )
            .max(ENTRIES_MAX)
            .optional(),
        })
        .optional(),
    })
    .optional(),
  allowed_deletes: z
    .strictObject({ nodes: nodePaths.optional(), relationships: relationshipPaths.optional() })
    .optional(),
})

/** A validated context policy document. */
export type ContextDocument = z.infer<typeof contextDocument>
