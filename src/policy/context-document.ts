// The schema of a context policy document (`1.0-ciq`): what a subject may read, write and delete around a pattern.
import { z } from 'zod'
import { label, relationshipType } from '../config/element-schemas.ts'
import { VARIABLE_NAME } from '../kernel/element-rules.ts'
import { contextFilter } from './context-filter.ts'
import { decisionDocument, policyEntity } from './decision-document.ts'
import { type PathElementKind, parsePath } from './element-path.ts'
import { policyFilterSchema } from './policy-filter-schema.ts'

/** The version of context policies. */
export const contextVersion = '1.0-ciq'

const ENTRIES_MAX = 1000

/** A variable name in a policy or query document. */
export const variable = z.string().max(256).regex(VARIABLE_NAME, { error: 'expected a variable' })

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

const allowedNodeUpserts = z
  .strictObject({
    existing_nodes: variables.optional(),
    node_types: labels.optional(),
    node_labels: labels.optional().meta({ alias: 'node_types' }),
  })
  .meta({ id: 'AllowedNodeUpserts' })

const allowedRelationshipType = z
  .strictObject({ type: relationshipType, source_node_label: label, target_node_label: label })
  .meta({ id: 'AllowedRelationshipType' })

const allowedRelationshipUpserts = z
  .strictObject({
    existing_relationships: variables.optional(),
    relationship_types: z.array(allowedRelationshipType).max(ENTRIES_MAX).optional(),
  })
  .meta({ id: 'AllowedRelationshipUpserts' })

/** Validates a parsed context policy document. */
export const contextDocument = z
  .strictObject({
    meta: z.strictObject({ policy_version: z.literal(contextVersion) }).meta({ id: 'ContextPolicyMeta' }),
    subject: policyEntity,
    condition: z
      .strictObject({
        cypher: z.string().min(1),
        filter: z.array(contextFilter).max(100).optional(),
        // read-policy-filter.ts parses it: like the filter of a decision policy, it does not read the graph.
        token_filter: z.unknown().meta({ documentedAs: policyFilterSchema }).optional(),
      })
      .meta({ id: 'ContextPolicyCondition' }),
    allowed_reads: z
      .strictObject({
        nodes: nodePaths.optional(),
        relationships: relationshipPaths.optional(),
        aggregate_values: aggregateNames.optional(),
      })
      .meta({ id: 'AllowedReads' })
      .optional(),
    allowed_upserts: z
      .strictObject({
        nodes: allowedNodeUpserts.optional(),
        relationships: allowedRelationshipUpserts.optional(),
      })
      .meta({ id: 'AllowedUpserts' })
      .optional(),
    allowed_deletes: z
      .strictObject({ nodes: nodePaths.optional(), relationships: relationshipPaths.optional() })
      .meta({ id: 'AllowedDeletes' })
      .optional(),
  })
  .meta({ id: 'ContextPolicyDocument' })

/** The document in the `policy` member of a policy, for the OpenAPI document. */
export const policyDocument = z.union([decisionDocument, contextDocument]).meta({
  id: 'PolicyDocument',
  description: 'The document of a policy. `meta.policy_version` selects the alternative.',
})

/** A validated context policy document. */
export type ContextDocument = z.infer<typeof contextDocument>
