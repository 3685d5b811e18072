// Normal forms of values: notations of the same value agree, and any input has a short form or none.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { MAX_VALUE_LENGTH, normalise } from '../../../../src/matching/linkage/normalise.ts'
import { type LinkageValue, type ValueKind, valueKinds } from '../../../../src/matching/linkage/types.ts'

describe('the normal form', () => {
  it.each<[ValueKind, LinkageValue, string | null]>([
    ['name', '  José  NÚÑEZ ', 'jose nunez'],
    ['name', "O'Neill", 'oneill'],
    ['name', 'Müller-Lüdenscheidt', 'muller ludenscheidt'],
    ['name', 'Łukasz Strauß', 'lukasz strauss'],
    ['name', '山田', '山田'],
    ['name', '---', null],
    ['text', ['b', 'a'], 'a b'],
    ['address', 'Main St. 5/2', 'main st 5 2'],
    ['tokens', ['Red', 'blue', 'red'], 'blue red'],
    ['email', ' Ann.Lee+news@Example.ORG', 'ann.lee@example.org'],
    ['email', 'mailto:ann@example.org', 'ann@example.org'],
    ['phone', '+49 (0)171 / 123-4567', '491711234567'],
    ['phone', '0049 171 1234567', '491711234567'],
    ['date', '1980-02-03', '19800203'],
    ['date', '1980-02-03T10:00:00Z', '19800203'],
    ['date', '03.02.1980', '19800203'],
    ['date', '2/23/1980', '19800223'],
    ['date', '3 February 1980', '19800203'],
    ['date', 'Feb 3rd, 1980', '19800203'],
    ['date', '19800230', '19800230'],
    ['date', '30.02.1980', '30 02 1980'],
    ['number', ' 1 000.50 ', '1000.5'],
    ['number', 12n, '12'],
    ['number', 'unknown', 'unknown'],
    ['code', 'AB-12 34', 'ab1234'],
    ['exact', ' A b ', 'A b'],
    ['exact', true, 'true'],
    ['text', '', null],
    ['text', [], null],
    ['email', ['b@x.org', 'a@x.org'], 'a@x.org'],
  ])('of %s %o is %o', (kind, value, expected) => {
    expect(normalise(kind, value)).toBe(expected)
  })

  test('is its own normal form, and short, for any value of any kind', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 500, maxLength: 600 }))
    const scalar = fc.oneof(text, fc.double(), fc.integer(), fc.boolean(), fc.bigInt())
    fc.assert(
      fc.property(fc.constantFrom(...valueKinds), fc.oneof(scalar, fc.array(scalar)), (kind, value) => {
        const normal = normalise(kind, value)
        if (normal === null) return
        expect(normal.length).toBeLessThanOrEqual(MAX_VALUE_LENGTH)
        if (normal.length < MAX_VALUE_LENGTH - 20) expect(normalise(kind, normal)).toBe(normal)
      }),
      { verbose: true, numRuns: 500 },
    )
  })

  test('of a huge text is computed from its beginning', () => {
    for (const kind of valueKinds) {
      expect(normalise(kind, 'a1'.repeat(1_000_000))?.length ?? 0, kind).toBeLessThanOrEqual(MAX_VALUE_LENGTH)
    }
  })
})
