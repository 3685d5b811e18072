// Precision and recall of matches against labelled pairs.

/** A labelled pair or a match: nodes as numbers of the caller's choice. */
export type MatchedPair = readonly [source: number, target: number]

/** How well matches agree with labelled pairs. */
export interface LinkageQuality {
  readonly truePositives: number
  readonly falsePositives: number
  readonly falseNegatives: number
  /** Share of the matches that are right; null without a match that could be judged. */
  readonly precision: number | null
  /** Share of the labelled pairs that were found; null without labelled pairs. */
  readonly recall: number | null
  /** Harmonic mean of both; null if one of them is null. */
  readonly f1: number | null
}

/** Labels: pairs that are the same entity and, if `different` is absent, all other pairs are not. */
export interface KnownPairs {
  readonly same: Iterable<MatchedPair>
  /** With these, only labelled pairs are judged. */
  readonly different?: Iterable<MatchedPair>
}

/** Compares matches with labelled pairs. In one type the order of a pair does not matter. */
export function measureQuality(
  matches: Iterable<MatchedPair>,
  { same, different }: KnownPairs,
  isSameType: boolean,
): LinkageQuality {
  const key = ([source, target]: MatchedPair) =>
    isSameType && source > target ? `${target} ${source}` : `${source} ${target}`
  const expected = new Set([...same].map(key))
  const rejected = different === undefined ? null : new Set([...different].map(key))
  const found = new Set([...matches].map(key))
  let truePositives = 0
  let falsePositives = 0
  for (const pair of found) {
    if (expected.has(pair)) truePositives += 1
    else if (rejected === null || rejected.has(pair)) falsePositives += 1
  }
  const judged = truePositives + falsePositives
  const precision = judged === 0 ? null : truePositives / judged
  const recall = expected.size === 0 ? null : truePositives / expected.size
  const sum = (precision ?? 0) + (recall ?? 0)
  const f1 = precision === null || recall === null ? null : sum === 0 ? 0 : (2 * precision * recall) / sum
  return { truePositives, falsePositives, falseNegatives: expected.size - truePositives, precision, recall, f1 }
}
