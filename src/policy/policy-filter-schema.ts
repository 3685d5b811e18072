// The schema of the filters of decision policies and of token filters, for the OpenAPI document only: read-policy-filter.ts parses
// them, because it reports where in the tree an error is. A test compares both.
import { z } from 'zod'
import { comparisons, nullTests, textOperators } from './policy-filter.ts'

/** The operators with operands. */
export const branchOperators = ['AND', 'OR', 'NOT'] as const

/** The operators of filters: of decision policies, and of context policies and queries. */
export const filterOperator = z
  .enum([...branchOperators, ...comparisons, 'IN', ...textOperators, ...nullTests])
  .meta({ id: 'FilterOperator' })

/** Texts by name that a caller gets if the part of the filter fails. */
export const adviceTexts = z.record(z.string(), z.string()).meta({ id: 'Advice' })

/** A filter tree: a branch has `operands`, a leaf `attribute` and `value`. */
export const policyFilterSchema = z
  .strictObject({
    operator: filterOperator.optional().describe('absent only in an empty object, which is no filter'),
    get operands() {
      return z.array(policyFilterSchema).min(1).optional()
    },
    attribute: z.string().optional().describe('such as `$token.sub`, `$region` or `subject.property.level`'),
    value: z.unknown().optional().describe('a value, an array of values, or `{"type": "datetime", "value": …}`'),
    app: z.string().optional(),
    advice: adviceTexts.nullish(),
  })
  .meta({ id: 'PolicyFilter' })
