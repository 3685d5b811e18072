import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonString } from '../../../src/events/json-string.ts'

test('the JSON text of a string is that of JSON.stringify', () => {
  const units = fc.oneof(
    fc.constantFrom(0, 0x1f, 0x20, 0x22, 0x5c, 0x7f, 0x2028, 0xd7ff, 0xd800, 0xdc00, 0xdfff, 0xe000, 0xffff),
    fc.integer({ min: 0, max: 0xffff }),
  )
  fc.assert(
    fc.property(fc.array(units), (codes) => {
      const text = String.fromCharCode(...codes)
      expect(jsonString(text)).toBe(JSON.stringify(text))
    }),
    { numRuns: 2000 },
  )
})
