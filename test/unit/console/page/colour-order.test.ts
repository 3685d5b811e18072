// The colours of node types in pictures: the same for a type, whatever was read first.
import { expect, test } from 'vitest'
import { colourIndex, colourOrder } from '../../../../src/console/page/parts/graph-picture/colour-order.ts'

test('a type has the same colour in any order of the data schema and of the nodes', () => {
  const known = ['Team', 'Person', 'Car', 'Folder']
  const expected = ['Car', 'Folder', 'Person', 'Team']
  expect(colourOrder(known)).toEqual(expected)
  expect(colourOrder([...known].reverse())).toEqual(expected)
  for (const others of [['Team', 'Zebra', 'Apple'], ['Apple', 'Zebra', 'Zebra', 'Car'], []]) {
    const order = colourOrder(known, others)
    expect(order.slice(0, 4)).toEqual(expected)
    for (const name of known) expect(colourIndex(order)(name)).toBe(expected.indexOf(name))
  }
  expect(colourOrder(known, ['Zebra', 'Apple'])).toEqual([...expected, 'Apple', 'Zebra'])
})
