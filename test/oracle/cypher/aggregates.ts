// The aggregates of the reference interpreter, each over the complete list of its values. Nulls are ignored.
import { integer } from './functions.ts'
import {
  equivalenceKey,
  type Identities,
  isNumber,
  NotInReference,
  ReferenceEvaluationError,
  type ReferenceValue,
  totalOrder,
} from './values.ts'

export const AGGREGATES: ReadonlySet<string> = new Set([
  'count',
  'collect',
  'avg',
  'min',
  'max',
  'sum',
  'percentilecont',
  'percentiledisc',
])

/** `all`: the values of the argument, one per row of the group; `parameter`: the second argument. */
export function aggregate(
  name: string,
  all: readonly ReferenceValue[],
  parameter: ReferenceValue,
  distinct: boolean,
  identities: Identities,
): ReferenceValue {
  let values = all.filter((value) => value !== null)
  if (distinct) values = [...new Map(values.map((value) => [equivalenceKey(value, identities), value])).values()]
  const isPercentile = name.toLowerCase().startsWith('percentile')
  if (isPercentile && values.length === 0) return null
  switch (name.toLowerCase()) {
    case 'count':
      return BigInt(values.length)
    case 'collect':
      return values
    case 'min':
      return values.length === 0 ? null : values.reduce((a, b) => (totalOrder(b, a) < 0 ? b : a))
    case 'max':
      return values.length === 0 ? null : values.reduce((a, b) => (totalOrder(b, a) > 0 ? b : a))
    case 'sum':
      return sum(values)
    case 'avg':
      return values.length === 0 ? null : Number(sum(values)) / values.length
    case 'percentiledisc': {
      const sorted = [...values].sort(totalOrder)
      return sorted[Math.max(0, Math.ceil(fraction(parameter) * sorted.length) - 1)] ?? null
    }
    case 'percentilecont': {
      const sorted = [...values].sort(totalOrder).map(Number)
      const place = fraction(parameter) * (sorted.length - 1)
      const [below, above] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]]
      if (below === undefined || above === undefined) return null
      // Also right where both are infinite.
      if (below === above) return below
      const share = place - Math.floor(place)
      return below * (1 - share) + above * share
    }
    default:
      throw new NotInReference(`aggregate ${name}`)
  }
}

/** Evaluated only for a non-empty list. */
function fraction(value: ReferenceValue): number {
  if (!isNumber(value) || value < 0 || value > 1) throw new ReferenceEvaluationError('a percentile is between 0 and 1')
  return Number(value)
}

/** A sum of integers is an integer; one float makes it a float. */
function sum(values: readonly ReferenceValue[]): bigint | number {
  const numbers = values.map((value) => {
    if (!isNumber(value)) throw new ReferenceEvaluationError('sum() takes numbers')
    return value
  })
  if (numbers.every((value) => typeof value === 'bigint')) return integer(numbers.reduce((a, b) => a + b, 0n))
  return numbers.reduce<number>((a, b) => a + Number(b), 0)
}
