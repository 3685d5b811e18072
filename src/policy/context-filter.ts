// The schema of the filters of context policies and knowledge queries, which may refer to elements of the graph.
// filter-expression.ts compiles them.
import { z } from 'zod'
import { WORD } from '../kernel/text/cypher-names.ts'
import { PATH_PARTS } from './element-path.ts'
import { nullTests } from './policy-filter.ts'
import { adviceTexts, branchOperators, filterOperator } from './policy-filter-schema.ts'

/** A filter tree: a branch with `operands`, or a leaf with `attribute` and `value`. */
export interface ContextFilter {
  readonly operator: string
  readonly operands?: readonly ContextFilter[] | undefined
  readonly attribute?: string | undefined
  readonly value?: unknown
  readonly app?: string | undefined
  readonly advice?: Readonly<Record<string, string>> | undefined
}

const advice = adviceTexts.optional()
const app = z.string().max(256).optional()

/** A single value. Exact numbers contain big integers, which JSON writes as numbers. */
export const scalar = z
  .union([z.string(), z.number(), z.int64().meta({ alias: 'number' }), z.boolean()], {
    error: 'expected a string, a number or a boolean',
  })
  .meta({ id: 'Scalar' })
const datetime = z.strictObject({ type: z.literal('datetime'), value: z.string() }).meta({ id: 'DatetimeValue' })
const value = z.union([scalar, z.array(scalar), datetime], {
  error: 'expected a value, an array of values, or `{"type": "datetime", "value": …}`',
})

/** `car.property.price`, `total` or `$token.sub`, whose path `readReference` parses. The condition determines which variables exist. */
const attribute = z
  .string()
  .max(512)
  .regex(new RegExp(`^(?:\\$${WORD}|${WORD}${PATH_PARTS}$)`, 'u'), {
    error: 'expected a path such as `var.property.name`, an alias, or `$token.<claim>`',
  })

/** Validates a filter tree. */
export const contextFilter: z.ZodType<ContextFilter> = z
  .strictObject({
    operator: filterOperator,
    get operands() {
      return z.array(contextFilter).min(1).max(100).optional()
    },
    attribute: attribute.optional(),
    value: value.optional(),
    app,
    advice,
  })
  .superRefine(({ operator, operands, attribute, value }, context) => {
    const refuse = (member: string, message: string): void =>
      context.addIssue({ code: 'custom', path: [member], message })
    if ((branchOperators as readonly string[]).includes(operator)) {
      if (operands === undefined) refuse('operands', 'expected array, found nothing')
      else if (operator === 'NOT' && operands.length !== 1) refuse('operands', 'expected exactly 1 item')
      if (attribute !== undefined) refuse('attribute', `\`${operator}\` accepts only operands`)
      if (value !== undefined) refuse('value', `\`${operator}\` accepts only operands`)
      return
    }
    if (operands !== undefined) refuse('operands', `\`${operator}\` expects an attribute, not operands`)
    if (attribute === undefined) refuse('attribute', 'expected string, found nothing')
    const isNullTest = (nullTests as readonly string[]).includes(operator)
    if (isNullTest && value !== undefined) refuse('value', `\`${operator}\` does not accept a value`)
    if (!isNullTest && value === undefined) refuse('value', 'expected a value, found nothing')
  })
  .meta({ id: 'ContextFilter' })

/** A path of a row that a filter reads: its text, its position below the filter, and the operator applied to it. */
export interface FilterRead {
  readonly text: string
  readonly at: string
  readonly operator: string
  /**
   * True if it is compared with a claim of the caller's token or with the calling application, which a caller cannot
   * choose per request.
   */
  readonly isBound: boolean
}

/**
 * Returns the row paths that a filter reads, on either side, in document order. Tokens and parameters are not part of a
 * row.
 */
export function readsOf({ operator, operands = [], attribute, value }: ContextFilter): FilterRead[] {
  const own =
    attribute === undefined || attribute.startsWith('$')
      ? []
      : [{ text: attribute, at: '.attribute', operator, isBound: isOfCredentials(value) }]
  const compared = elementsIn(value, '.value').map((element) => ({
    ...element,
    operator,
    isBound: isOfCredentials(attribute),
  }))
  const below = operands.flatMap((operand, i) =>
    readsOf(operand).map((read) => ({ ...read, at: `.operands[${i}]${read.at}` })),
  )
  return [...own, ...compared, ...below]
}

function isOfCredentials(side: unknown): boolean {
  return typeof side === 'string' && /^\$(token|svc_token)\.|^\$_appId$/.test(side)
}

/** Returns references such as `@car.property.price`, also inside lists and datetimes. */
function elementsIn(value: unknown, at: string): { text: string; at: string }[] {
  if (typeof value === 'string') return /^@[\p{L}_]/u.test(value) ? [{ text: value.slice(1), at }] : []
  if (Array.isArray(value)) return value.flatMap((item, i) => elementsIn(item, `${at}[${i}]`))
  if (typeof value === 'object' && value !== null && 'value' in value) return elementsIn(value.value, at)
  return []
}

/** Returns the variables and aliases that a filter refers to. */
export function variablesOf(filter: ContextFilter): string[] {
  return readsOf(filter).map(({ text }) => text.split('.')[0] as string)
}
