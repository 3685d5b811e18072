// Runs a linkage to its end.
import { Linkage } from '../../../../src/matching/linkage/linkage.ts'
import type {
  DecidedPairs,
  LinkageMapping,
  LinkageOptions,
  LinkageResult,
  LinkageValues,
  ValueKind,
} from '../../../../src/matching/linkage/types.ts'

/** A node and its values. */
export type LinkedNode = readonly [node: number, ...values: LinkageValues]

export const undecided: DecidedPairs = { same: [], different: [] }

/** Mappings of properties `p0`, `p1`, … with these kinds. */
export function mappingsOf(...kinds: readonly (ValueKind | null)[]): LinkageMapping[] {
  return kinds.map((kind, at) => ({ sourceProperty: `p${at}`, targetProperty: `p${at}`, kind }))
}

/** The result of a whole run. Null as targets: duplicates among the sources. */
export function link(
  mappings: readonly LinkageMapping[],
  sources: readonly LinkedNode[],
  targets: readonly LinkedNode[] | null,
  options: Partial<LinkageOptions> = {},
  decided: DecidedPairs = undecided,
): LinkageResult {
  const linkage = new Linkage(mappings, { seed: 1, cutoff: 0.5, isSameType: targets === null, ...options })
  for (const [node, ...values] of sources) linkage.addSource(node, values)
  for (const [node, ...values] of targets ?? []) linkage.addTarget(node, values)
  const run = linkage.run(decided)
  for (;;) {
    const step = run.next()
    if (step.done === true) return step.value
  }
}

/** The pairs of the matches, as `source-target`. */
export function pairsOf({ matches }: LinkageResult): string[] {
  return [...matches].map(({ source, target }) => `${source}-${target}`)
}
