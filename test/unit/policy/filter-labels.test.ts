// The member `app` of a filter is refused with its place, in each filter of a document.
import { expect, test } from 'vitest'
import { policyLabelIssues } from '../../../src/policy/filter-labels.ts'

const leaf = { operator: '=', attribute: '$token.sub', value: 'ann', app: 'shop' }
const issue = (place: string) =>
  `policy.condition.${place}.app: has no effect and does not restrict the filter to an application; remove it`

test('of a decision and of a context policy', () => {
  const nested = {
    operator: 'AND',
    operands: [
      { ...leaf, app: undefined },
      { operator: 'NOT', operands: [leaf] },
    ],
  }
  expect(policyLabelIssues({ condition: { filter: nested } })).toEqual([issue('filter.operands[1].operands[0]')])
  expect(policyLabelIssues({ condition: { filter: [leaf], token_filter: leaf } })).toEqual([
    issue('filter[0]'),
    issue('token_filter'),
  ])
  expect(policyLabelIssues({ condition: { filter: { ...leaf, app: undefined } } })).toEqual([])
  expect(policyLabelIssues('text')).toEqual([])
})
