// One example for each aggregate; its result is found by running it.

/** Over the values of `UNWIND [1, 2, 2, null, 5] AS x`. */
export const aggregateExamples: Readonly<Record<string, string>> = {
  count: 'count(x)',
  collect: 'collect(x)',
  sum: 'sum(x)',
  avg: 'avg(x)',
  min: 'min(x)',
  max: 'max(x)',
  stDev: 'round(stDev(x), 4)',
  stDevP: 'round(stDevP(x), 4)',
  percentileCont: 'percentileCont(x, 0.75)',
  percentileDisc: 'percentileDisc(x, 0.75)',
}
