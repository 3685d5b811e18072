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

export interface Aggregate {
  /** The spelling that bound aggregates carry. */
  readonly name: AggregateName
  readonly args: 1 | 2
}

const args: Readonly<Record<AggregateName, 1 | 2>> = {
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

const table = new Map<string, Aggregate>()
for (const name of Object.keys(args) as AggregateName[]) table.set(name.toLowerCase(), { name, args: args[name] })

/** In any case. */
export function aggregateNamed(name: string): Aggregate | undefined {
  return table.get(name.toLowerCase())
}

export function aggregateNames(): readonly string[] {
  return Object.keys(args)
}
