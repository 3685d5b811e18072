// Phone numbers of one area are not similar because of their area code.
import { expect, test } from 'vitest'
import { Linkage } from '../../../../src/matching/linkage/linkage.ts'

test.each([
  ['two other digits in one area', '702/252-7737', '702-252-7702', 1 - 2 / 7],
  ['one other digit', '702/252-7737', '702-252-7732', 1 - 1 / 7],
  ['an absent area code', '252-7737', '702/252-7737', 0.98],
  ['a short number', '12345', '12346', 0.8],
])('%s: %s and %s have the similarity %d', (_, source, target, similarity) => {
  const mapping = { sourceProperty: 'phone', targetProperty: 'phone', kind: 'phone' } as const
  const linkage = new Linkage([mapping], { seed: 1, cutoff: 0.5, isSameType: false })
  linkage.addSource(0, [source])
  linkage.addTarget(0, [target])
  const run = linkage.run({ same: [[0, 0]], different: [] })
  let step = run.next()
  while (step.done !== true) step = run.next()
  expect(step.value.matches.at(0).properties[0]?.similarity).toBeCloseTo(similarity, 5)
})
