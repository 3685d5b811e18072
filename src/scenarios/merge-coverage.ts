// Merges the coverage of several scenarios: a part of a policy is covered if one of them reaches it.
import { formatFileDiagnostic } from '../project/file-diagnostic.ts'
import type { CoveredCondition, CoveredOperator, PolicyCoverage, ScenarioCoverage } from './coverage.ts'

/** The parts of policies that the scenarios reached together. */
export interface MergedCoverage {
  /** Covered parts. */
  readonly covered: number
  /** Policies, operators of the plans of the policies that were asked, and conditions. */
  readonly parts: number
  /** Covered parts of 100, rounded down to one decimal, so that only full coverage is 100. 100 without parts. */
  readonly percent: number
  /** In the order of their files and lines. */
  readonly policies: readonly PolicyCoverage[]
}

/** Merges coverages. Policies are the same if they have the same place. */
export function mergeCoverage(coverages: readonly ScenarioCoverage[]): MergedCoverage {
  const byPlace = Map.groupBy(
    coverages.flatMap(({ policies }) => policies),
    ({ name, position: { file, line } }) => JSON.stringify([file, line, name]),
  )
  const policies = [...byPlace.values()].map(mergePolicies).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1))
  const states = policies.flatMap(({ asked, operators, conditions }) => [
    asked > 0,
    ...operators.map(({ isReached }) => isReached),
    ...conditions.map(({ problem }) => problem === null),
  ])
  const covered = states.filter(Boolean).length
  const percent = states.length === 0 ? 100 : Math.floor((1000 * covered) / states.length) / 10
  return { covered, parts: states.length, percent, policies }
}

/** The parts of a policy that no scenario reached, each as `file:line:column: message`. */
export function uncoveredParts({ name, position, asked, operators, conditions }: PolicyCoverage): readonly string[] {
  if (asked === 0) return [formatFileDiagnostic({ ...position, message: `policy ${name}: no decision asks for it` })]
  return [
    ...operators
      .filter(({ isReached }) => !isReached)
      .map(({ operator, detail }) =>
        formatFileDiagnostic({
          ...position,
          message: `policy ${name}: the operator ${`${operator} ${detail}`.trim()} never had a row`,
        }),
      ),
    ...conditions.flatMap(({ text, position: at, problem }) =>
      problem === null ? [] : [formatFileDiagnostic({ ...at, message: `policy ${name}: \`${text}\` is ${problem}` })],
    ),
  ]
}

function placeOf({ position: { file, line } }: PolicyCoverage): string {
  return `${file}:${String(line).padStart(6, '0')}`
}

function mergePolicies(same: readonly PolicyCoverage[]): PolicyCoverage {
  const [first] = same as [PolicyCoverage]
  const { name, position } = first
  return {
    name,
    position,
    asked: sum(same.map(({ asked }) => asked)),
    granted: sum(same.map(({ granted }) => granted)),
    operators: mergePlans(same.map(({ operators }) => operators)),
    conditions: first.conditions.map((condition, i) =>
      mergeConditions(
        same.map(({ conditions }) => conditions[i]),
        condition,
      ),
    ),
  }
}

/**
 * A policy can have several plans, because the optimizer reads the counts of each graph. Operators are merged by plan, and the plan
 * with the largest share of reached operators counts.
 */
function mergePlans(plans: readonly (readonly CoveredOperator[])[]): readonly CoveredOperator[] {
  const byShape = Map.groupBy(
    plans.filter((plan) => plan.length > 0),
    (plan) => JSON.stringify(plan.map(({ operator, detail }) => [operator, detail])),
  )
  const merged = [...byShape.values()].map((same) =>
    (same[0] ?? []).map((operator, i) => ({
      ...operator,
      isReached: same.some((plan) => plan[i]?.isReached === true),
    })),
  )
  const shareOf = (plan: readonly CoveredOperator[]): number =>
    plan.filter(({ isReached }) => isReached).length / plan.length
  return merged.sort((a, b) => shareOf(b) - shareOf(a))[0] ?? []
}

function mergeConditions(
  same: readonly (CoveredCondition | undefined)[],
  condition: CoveredCondition,
): CoveredCondition {
  return same.some((one) => one?.problem === null) ? { ...condition, problem: null } : condition
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
