// Related entities are different and share values: twins, members of a household, restaurants of one building. A pair of them is no
// certain match, and neither is it excluded: the same person may have a value that is wrong.
import { describe, expect, it } from 'vitest'
import { randomIntegers } from '../../../../src/matching/linkage/record-table.ts'
import type { ValueKind } from '../../../../src/matching/linkage/types.ts'
import { type LinkedNode, link, mappingsOf } from './run-linkage.ts'

const FIRST_TARGET = 100_000
const PEOPLE = 300
/** As many pairs of twins; all of them are in `sources`, one of each pair is in `targets`. */
const TWINS = 10
const letters = 'abdefgiklmnoprstuvz'

interface Person {
  readonly given: string
  readonly family: string
  readonly email: string
  readonly born: string
  readonly address: string
  readonly number: string
}

type Field = keyof Person

const kindOf: Readonly<Record<Field, ValueKind>> = {
  given: 'name',
  family: 'name',
  email: 'email',
  born: 'date',
  address: 'address',
  number: 'code',
}

function people(seed: number) {
  const random = randomIntegers(seed)
  const word = (length: number) => Array.from({ length }, () => letters[random(letters.length)]!).join('')
  const given = Array.from({ length: 80 }, () => word(6))
  const streets = Array.from({ length: 60 }, () => word(8))
  const person = (): Person => ({
    given: given[random(given.length)]!,
    family: word(7),
    email: `${word(9)}@example.org`,
    born: `19${50 + random(50)}-${10 + random(3)}-${10 + random(18)}`,
    address: `${1 + random(200)} ${streets[random(streets.length)]} street`,
    number: String(1_000_000 + random(9_000_000)),
  })
  const all = Array.from({ length: PEOPLE }, person)
  /** A name that is in no level of similarity with another one. */
  const otherGiven = (at: number) => `x${'qwhyj'[at % 5]}${'jhywq'[at % 4]}xq`
  return { all, otherGiven }
}

/** The scores of the pairs of a person and a changed copy, by the number of the person. */
function scoresOf(
  seed: number,
  fields: readonly Field[],
  change: (person: Person, at: number) => Person,
  isSameType: boolean,
) {
  const { all } = people(seed)
  const values = (person: Person) => fields.map((field) => person[field])
  const sources = all.map((person, at): LinkedNode => [at, ...values(person)])
  const others = all.map(
    (person, at): LinkedNode => [FIRST_TARGET + at, ...values(at < TWINS ? change(person, at) : person)],
  )
  const mappings = mappingsOf(...fields.map((field) => kindOf[field]))
  const { matches } = isSameType ? link(mappings, [...sources, ...others], null) : link(mappings, sources, others)
  const own = new Map<number, number>()
  for (const { source, target, score } of matches) if (target === FIRST_TARGET + source) own.set(source, score)
  return Array.from({ length: PEOPLE }, (_, at) => own.get(at) ?? null)
}

const seeds = [1, 2, 3]
const shared: readonly { readonly title: string; readonly fields: readonly Field[] }[] = [
  { title: 'e-mail address and date of birth', fields: ['given', 'family', 'email', 'born'] },
  { title: 'e-mail address and address', fields: ['given', 'family', 'email', 'address'] },
  { title: 'e-mail address, date of birth and address', fields: ['given', 'family', 'email', 'born', 'address'] },
]
const cases = shared.flatMap((one) =>
  seeds.flatMap((seed) => [true, false].map((isSameType) => ({ ...one, seed, isSameType }))),
)

describe('related entities', () => {
  it.each(cases)('twins with the same $title are no certain match: seed $seed, one type $isSameType', (testCase) => {
    const { fields, seed, isSameType } = testCase
    const { otherGiven } = people(seed)
    const scores = scoresOf(seed, fields, (person, at) => ({ ...person, given: otherGiven(at) }), isSameType)
    for (const [at, score] of scores.entries()) {
      if (at >= TWINS) expect(score, `the same person ${at}`).toBeGreaterThan(0.99)
      else {
        expect(score, `twins ${at}`).toBeLessThan(0.8)
        expect(score, `twins ${at}`).toBeGreaterThanOrEqual(0.6)
      }
    }
  })

  it.each(seeds)('members of a household with other names and dates of birth are no certain match: seed %i', (seed) => {
    const { otherGiven } = people(seed)
    const scores = scoresOf(
      seed,
      ['given', 'family', 'email', 'born', 'address'],
      (person, at) => ({ ...person, given: otherGiven(at), born: `1901-02-0${at % 9}` }),
      false,
    )
    for (const score of scores.slice(0, TWINS)) expect(score ?? 0).toBeLessThan(0.8)
  })

  it.each(seeds)('an equal number of a person outweighs another given name: seed %i', (seed) => {
    const { otherGiven } = people(seed)
    const change = (person: Person, at: number) => ({ ...person, given: otherGiven(at) })
    const scores = scoresOf(seed, ['given', 'family', 'email', 'born', 'number'], change, false)
    for (const score of scores.slice(0, TWINS)) expect(score).toBeGreaterThan(0.95)
  })
})
