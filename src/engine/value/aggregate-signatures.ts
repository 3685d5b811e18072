// The names of the aggregates and how many arguments each takes; exec/accumulate.ts computes them.

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

export interface AggregateSignature {
  /** The spelling that bound aggregates carry. */
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

const signatures = new Map<string, AggregateSignature>()
for (const name of Object.keys(argCounts) as AggregateName[])
  signatures.set(name.toLowerCase(), { name, argCount: argCounts[name] })

/** In any case. */
export function findAggregate(name: string): AggregateSignature | undefined {
  return signatures.get(name.toLowerCase())
}

export function aggregateNames(): readonly string[] {
  return Object.keys(argCounts)
}
