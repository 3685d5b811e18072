// Schemas of the names in nodes and relationships. Captures, policies, queries, profiles, pipelines and introspection share them: what
// can be captured can be named everywhere, and the reverse. The rules are in kernel/element-rules.ts.
import { z } from 'zod'
import {
  ELEMENT_NAME,
  elementNameRule,
  isReservedName,
  type LengthRange,
  labelLength,
  propertyNameLength,
  relationshipTypeLength,
  serviceNodeTypes,
} from '../kernel/element-rules.ts'

/** A text with a length in characters. */
export function textOf({ min, max }: LengthRange): z.ZodString {
  return z.string().min(min).max(max)
}

/** A node type or another label. */
export const label = textOf(labelLength).regex(ELEMENT_NAME, { error: `expected a label: ${elementNameRule}` })

/** The type of nodes that are captured: none of the service's own. */
export const capturedType = label.refine((name) => !isReservedName(name), {
  error: ({ input }) => `\`${String(input).slice(0, 64)}\` is reserved for the service`,
})

/** The type of nodes that a policy is about: one that is captured, or one of the service's own nodes. */
export const policyType = label.refine((name) => !isReservedName(name) || serviceNodeTypes.has(name), {
  error: ({ input }) =>
    `\`${String(input).slice(0, 64)}\` cannot be captured: names that begin with \`_\` are reserved for the service. Its own types are ${[...serviceNodeTypes].map((type) => `\`${type}\``).join(', ')}`,
})

/** The type of a relationship. */
export const relationshipType = textOf(relationshipTypeLength).regex(ELEMENT_NAME, {
  error: `expected a relationship type: ${elementNameRule}`,
})

/** The name of a property: any text. */
export const propertyName = textOf(propertyNameLength)
