// The answer of the data schema (facts 1.8): JSON Graph Format, version 2.
import { z } from 'zod'

const count = z.number().int()
const types = z.array(z.strictObject({ type: z.string(), count }))
const property = z.strictObject({
  count,
  types,
  metadata: z.record(z.string(), z.strictObject({ count, types })),
})
export type PropertySchema = z.infer<typeof property>

const labels = z.array(z.strictObject({ name: z.string(), count }))
const node = z.strictObject({
  metadata: z.strictObject({
    node_count: count,
    properties: z.record(z.string(), property),
    /** `identity`: nodes that were captured with `is_identity`. */
    system_labels: labels,
    user_defined_labels: labels,
  }),
})
export type NodeSchema = z.infer<typeof node>

const edge = z.strictObject({
  source: z.string(),
  target: z.string(),
  relation: z.string(),
  directed: z.literal(true),
  metadata: z.strictObject({ count, properties: z.record(z.string(), property) }),
})
export type EdgeSchema = z.infer<typeof edge>

export const dataSchema = z.strictObject({
  graph: z.strictObject({
    directed: z.literal(true),
    metadata: z.strictObject({ created_at: z.string(), updated_at: z.string() }),
    nodes: z.record(z.string(), node),
    edges: z.array(edge),
  }),
})
export type DataSchema = z.infer<typeof dataSchema>
