// The response schema of the data schema: JSON Graph Format, version 2.
import { z } from 'zod'

const count = z.number().int()
const types = z.array(z.strictObject({ type: z.string(), count }).meta({ id: 'ValueTypeCount' }))
const metadataSchema = z.strictObject({ count, types }).meta({ id: 'PropertyMetadataSchema' })
const property = z
  .strictObject({ count, types, metadata: z.record(z.string(), metadataSchema) })
  .meta({ id: 'PropertySchema' })
const properties = z.record(z.string(), property).meta({ id: 'PropertySchemas' })
/** Types and counts of one property. */
export type PropertySchema = z.infer<typeof property>

const scores = z
  .strictObject({ count, properties: properties.describe('the dimensions, `_final_score` and `formula_version`') })
  .meta({ id: 'TrustScoreSchema' })
const labels = z.array(z.strictObject({ name: z.string(), count }).meta({ id: 'LabelCount' }))
const node = z
  .strictObject({
    metadata: z
      .strictObject({
        node_count: count,
        properties,
        system_labels: labels.describe('`identity`: nodes captured with `is_identity`'),
        user_defined_labels: labels,
        trust_score: scores
          .optional()
          .describe('the nodes of the type that have a trust score; absent: no node has one'),
      })
      .meta({ id: 'NodeSchemaMetadata' }),
  })
  .meta({ id: 'NodeSchema' })
/** One node type. */
export type NodeSchema = z.infer<typeof node>

const edge = z
  .strictObject({
    source: z.string(),
    target: z.string(),
    relation: z.string(),
    directed: z.literal(true),
    metadata: z.strictObject({ count, properties }).meta({ id: 'EdgeSchemaMetadata' }),
  })
  .meta({ id: 'EdgeSchema' })
/** One combination of source type, relationship type and target type. */
export type EdgeSchema = z.infer<typeof edge>

/** The response. */
export const dataSchema = z
  .strictObject({
    graph: z
      .strictObject({
        directed: z.literal(true),
        metadata: z.strictObject({ created_at: z.string(), updated_at: z.string() }).meta({ id: 'GraphSchemaTimes' }),
        nodes: z.record(z.string(), node),
        edges: z.array(edge),
      })
      .meta({ id: 'GraphSchema' }),
  })
  .meta({ id: 'DataSchema' })
/** The response body. */
export type DataSchema = z.infer<typeof dataSchema>
