// The levels of similarity of each kind of value, and what is assumed of them before data is seen.
import type { ValueKind } from './types.ts'

/** The assumptions of a kind. */
export interface KindLevels {
  /** Lowest similarity of each level but the last, descending; the first is 1: equal values. */
  readonly thresholds: readonly number[]
  readonly labels: readonly string[]
  /** Assumed probability of each level among pairs of the same entity. */
  readonly m: readonly number[]
  /** Assumed probability of each level among pairs of different entities. */
  readonly u: readonly number[]
}

/** The levels by kind. The assumptions have the weight of a few pairs: they decide only where there is little data. */
export const levelsByKind: Readonly<Record<ValueKind, KindLevels>> = {
  name: levels([1, 0.92, 0.85, 0.7], [0.8, 0.1, 0.03, 0.03, 0.04], [0.005, 0.003, 0.005, 0.03, 0.957]),
  text: levels([1, 0.85, 0.65, 0.4], [0.6, 0.2, 0.1, 0.05, 0.05], [0.001, 0.002, 0.005, 0.04, 0.952]),
  address: levels([1, 0.85, 0.65, 0.4], [0.6, 0.2, 0.1, 0.05, 0.05], [0.0005, 0.001, 0.005, 0.04, 0.9535]),
  tokens: levels([1, 0.85, 0.65, 0.4], [0.6, 0.2, 0.1, 0.05, 0.05], [0.001, 0.002, 0.005, 0.04, 0.952]),
  email: levels([1, 0.9, 0.75], [0.75, 0.08, 0.07, 0.1], [0.00001, 0.0001, 0.001, 0.99889]),
  phone: levels([1, 0.95, 0.85, 0.8], [0.7, 0.08, 0.08, 0.04, 0.1], [0.00001, 0.00001, 0.0001, 0.002, 0.99788]),
  date: levels([1, 0.9, 0.75], [0.85, 0.07, 0.04, 0.04], [0.0001, 0.001, 0.01, 0.9889]),
  number: levels([1, 0.9, 0.75], [0.8, 0.05, 0.05, 0.1], [0.01, 0.02, 0.05, 0.92]),
  code: levels([1, 0.82, 0.66], [0.85, 0.06, 0.03, 0.06], [0.001, 0.002, 0.01, 0.987]),
  exact: levels([1], [0.9, 0.1], [0.05, 0.95]),
}

function levels(thresholds: readonly number[], m: readonly number[], u: readonly number[]): KindLevels {
  const labels = [...thresholds.map((threshold) => (threshold === 1 ? 'equal' : `at least ${threshold}`)), 'different']
  return { thresholds, labels, m, u }
}

/** The level of a similarity: 0 for equal values, the last for different ones. */
export function levelOf(kind: KindLevels, similarity: number): number {
  const { thresholds } = kind
  let level = 0
  while (level < thresholds.length && similarity < thresholds[level]!) level += 1
  return level
}
