// Names and argument counts of the aggregate functions. `exec/aggregate-functions.ts` computes them.

/** The canonical names of the aggregate functions. */
export type AggregateName =
  | 'count'
  | 'collect'
  | 'sum'
  | 'avg'
  | 'min'
  | 'max'
  | 'stDev'
  | 'stDevP'
  | 'percentileCont'
  | 'percentileDisc'

/** The name and the number of arguments of an aggregate function. */
export interface AggregateSignature {
  /** The spelling in bound aggregates. */
  readonly name: AggregateName
  readonly argCount: 1 | 2
}

const argCounts: Readonly<Record<AggregateName, 1 | 2>> = {
  count: 1,
  collect: 1,
  sum: 1,
  avg: 1,
  min: 1,
  max: 1,
  stDev: 1,
  stDevP: 1,
  percentileCont: 2,
  percentileDisc: 2,
}

const signatures: ReadonlyMap<string, AggregateSignature> = new Map(
  (Object.keys(argCounts) as AggregateName[]).map((name) => [name.toLowerCase(), { name, argCount: argCounts[name] }]),
)

/** Finds an aggregate function by its name, in any case; undefined if none exists. */
export function findAggregate(name: string): AggregateSignature | undefined {
  return signatures.get(name.toLowerCase())
}

/** Names of all aggregate functions. */
export function aggregateNames(): readonly string[] {
  return Object.keys(argCounts)
}
