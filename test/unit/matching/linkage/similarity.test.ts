// Similarities: published examples of Jaro-Winkler, edit distances against a matrix without shortcuts, and properties of all kinds.
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { normalise } from '../../../../src/matching/linkage/normalise.ts'
import { Similarity } from '../../../../src/matching/linkage/similarity.ts'
import { EditBuffers, editDistance, jaroWinkler } from '../../../../src/matching/linkage/text-distance.ts'
import { type ValueKind, valueKinds } from '../../../../src/matching/linkage/types.ts'
import { ValueDictionary } from '../../../../src/matching/linkage/value-dictionary.ts'
import { naiveEditDistance } from './naive-similarity.ts'

const codesOf = (text: string) => Uint16Array.from(text, (_, at) => text.charCodeAt(at))

function jaroWinklerOf(a: string, b: string): number {
  return jaroWinkler(codesOf(a + b), 0, a.length, a.length, a.length + b.length)
}

function similarityOf(kind: ValueKind, a: string, b: string): number {
  const dictionary = new ValueDictionary()
  return new Similarity().of(kind, dictionary, dictionary.intern(a), dictionary.intern(b))
}

describe('Jaro-Winkler', () => {
  it.each([
    ['martha', 'marhta', 0.9611],
    ['dixon', 'dicksonx', 0.8133],
    ['dwayne', 'duane', 0.84],
    ['jones', 'johnson', 0.8324],
    ['abc', 'xyz', 0],
  ])('of %s and %s is %d, as published', (a, b, expected) => {
    expect(jaroWinklerOf(a, b)).toBeCloseTo(expected, 4)
  })
})

describe('the edit distance', () => {
  const buffers = new EditBuffers(64)
  const texts = [
    fc.string({ unit: fc.constantFrom(...'abc 1'), maxLength: 60 }),
    fc.string({ unit: fc.constantFrom(...'aé漢'), maxLength: 40 }),
  ]

  test('equals that of a matrix without shortcuts, for short, long and other than ASCII texts', () => {
    for (const text of texts) {
      fc.assert(
        fc.property(text, text, (a, b) => {
          const distance = editDistance(buffers, codesOf(a), 0, a.length, codesOf(b), 0, b.length)
          expect(distance).toBe(naiveEditDistance(a, b))
        }),
        { verbose: true, numRuns: 300 },
      )
    }
  })
})

describe('the similarity of values', () => {
  const values = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'anb el1-.@+'), maxLength: 24 }),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    fc.emailAddress(),
    fc.integer().map(String),
  )

  it.each(valueKinds)('is symmetric, from 0 to 1, and 1 only for equal values: %s', (kind) => {
    fc.assert(
      fc.property(values, values, (first, second) => {
        const a = normalise(kind, first)
        const b = normalise(kind, second)
        if (a === null || b === null) return
        const similarity = similarityOf(kind, a, b)
        expect(similarity).toBe(similarityOf(kind, b, a))
        expect(similarity).toBeGreaterThanOrEqual(0)
        expect(similarity).toBeLessThanOrEqual(1)
        expect(similarity === 1).toBe(a === b)
      }),
      { verbose: true, numRuns: 200 },
    )
  })

  it.each<[ValueKind, string, string, number, number]>([
    ['name', 'ann lee', 'lee ann', 0.95, 1],
    ['name', 'ann', 'bob', 0, 0.5],
    ['address', 'pridhamstreet', 'pridham street', 0.85, 1],
    ['address', '12 oak street', '13 oak street', 0.6, 0.95],
    ['tokens', 'blue green red', 'blue green', 0.7, 0.9],
    ['email', 'ann@example.org', 'ann@example.net', 0.9, 1],
    ['email', 'ann@example.org', 'bob@example.org', 0, 0.3],
    ['phone', '491711234567', '1711234567', 0.95, 1],
    ['date', '19800203', '19800302', 0.9, 1],
    ['date', '19800203', '19800204', 0.9, 1],
    ['date', '19800203', '19951117', 0, 0.1],
    ['number', '100', '101', 0.85, 0.95],
    ['number', '100', '-100', 0, 0],
    ['code', '5304218', '5304281', 0.8, 0.9],
    ['exact', 'A', 'a', 0, 0],
  ])('of %s %s and %s is from %d to %d', (kind, a, b, lowest, highest) => {
    const similarity = similarityOf(kind, a, b)
    expect(similarity).toBeGreaterThanOrEqual(lowest)
    expect(similarity).toBeLessThanOrEqual(highest)
  })
})
