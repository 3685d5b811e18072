// The schema of a knowledge query document: what is returned of the policy's pattern, and what each row writes.
import { z } from 'zod'
import { label, propertyName, relationshipType, textOf } from '../config/element-schemas.ts'
import { validate } from '../config/validate.ts'
import { externalIdLength, externalValueLength, protectedNames } from '../kernel/element-rules.ts'
import type { Result } from '../kernel/result.ts'
import { aggregateNames, nodePaths, relationshipPaths, variable } from '../policy/context-document.ts'
import { contextFilter, scalar } from '../policy/context-filter.ts'
import { parseDocument } from '../policy/document-json.ts'

const ENTRIES_MAX = 250

const value = z
  .union([scalar, z.array(scalar)], { error: 'expected a string, a number, a boolean or an array of these' })
  .meta({ id: 'ScalarOrList' })

const propertyMetadata = z
  .strictObject({ type: z.string().min(1).max(128), value })
  .meta({ id: 'UpsertedPropertyMetadata' })

const property = z
  .strictObject({
    type: propertyName
      .refine((name) => !name.startsWith('$'), { error: 'a property is named literally, not by a parameter' })
      .refine((name) => !protectedNames.has(name), { error: 'is a protected name' }),
    value: value.optional(),
    external_value: textOf(externalValueLength).optional(),
    metadata: z
      .array(propertyMetadata)
      .max(ENTRIES_MAX)
      .refine((all) => new Set(all.map(({ type }) => type)).size === all.length, { error: 'a name is given twice' })
      .optional(),
  })
  .refine(({ value, external_value }) => (value === undefined) !== (external_value === undefined), {
    error: 'expected exactly one of `value` and `external_value`',
  })
  .meta({ id: 'UpsertedProperty' })

/** A string that begins with `$` is a reference; write-plan.ts parses it. */
const labelOrReference = z.union([z.string().max(256).startsWith('$'), label], {
  error: 'expected a label or `$param`',
})

const properties = z
  .array(property)
  .max(ENTRIES_MAX)
  .refine((all) => new Set(all.map(({ type }) => type)).size === all.length, { error: 'a property is given twice' })

const upsertedNode = z
  .strictObject({
    name: variable,
    type: label.optional(),
    external_id: textOf(externalIdLength).optional(),
    labels: z.array(labelOrReference).max(100).optional(),
    properties: properties.optional(),
  })
  .meta({ id: 'UpsertedNode' })

const upsertedRelationship = z
  .strictObject({
    name: variable,
    source: variable.optional(),
    target: variable.optional(),
    type: relationshipType.optional(),
    properties: properties.optional(),
  })
  .meta({ id: 'UpsertedRelationship' })

/** Validates a parsed knowledge query document. */
export const queryDocument = z
  .strictObject({
    nodes: nodePaths.optional(),
    relationships: relationshipPaths.optional(),
    aggregate_values: aggregateNames.optional(),
    filter: contextFilter.optional(),
    batch_read: z.boolean().optional(),
    upsert_nodes: z.array(upsertedNode).max(ENTRIES_MAX).optional(),
    upsert_relationships: z.array(upsertedRelationship).max(ENTRIES_MAX).optional(),
    delete_nodes: nodePaths.optional(),
    delete_relationships: relationshipPaths.optional(),
  })
  .meta({ id: 'KnowledgeQueryDocument' })

/** A validated knowledge query document. */
export type QueryDocument = z.infer<typeof queryDocument>

/** Parses and validates a document. Issues begin with a path from `query`. */
export function readQueryDocument(text: string): Result<QueryDocument, readonly string[]> {
  const json = parseDocument(text, 'query')
  return json.ok ? validate(queryDocument, json.value, 'query') : json
}
