// People with errors: records of two registers for record linkage. Deterministic for a seed.

/** The properties of a generated person, in this order. */
export const personProperties = [
  'given_name',
  'surname',
  'date_of_birth',
  'email',
  'phone',
  'address',
  'city',
  'postcode',
] as const

/** The values of a person; null: absent. */
export type PersonRecord = readonly (string | null)[]

/** Two registers. The people at even indexes are in both, with errors in the second; the others differ. */
export interface Registers {
  readonly source: PersonRecord
  readonly target: PersonRecord
}

const syllables = 'an be ca do el fi go ha il jo ka lu ma ni ol pa ra si ta ur ve wi xa yo za'.split(' ')

/** Generates registers from random numbers: `random(n)` returns an integer from 0, below n. */
export function* generatedRegisters(count: number, random: (bound: number) => number): Generator<Registers> {
  const word = (length: number) => Array.from({ length }, () => syllables[random(syllables.length)]!).join('')
  const words = (size: number, length: number) => Array.from({ length: size }, () => word(length + random(2)))
  const givenNames = words(800, 2)
  const surnames = words(20_000, 2)
  const streets = words(8_000, 3)
  const cities = words(500, 3)
  // Low indexes are frequent, as names are.
  const pick = (from: readonly string[]) =>
    from[Math.min(random(from.length), random(from.length), random(from.length))]!
  const digits = (length: number) => String(10 ** (length - 1) + random(9 * 10 ** (length - 1)))
  const two = (value: number) => String(value).padStart(2, '0')
  const person = (): string[] => {
    const given = pick(givenNames)
    const surname = pick(surnames)
    return [
      given,
      surname,
      `${1930 + random(80)}-${two(1 + random(12))}-${two(1 + random(28))}`,
      `${given}.${surname}${random(1000)}@mail${random(20)}.example`,
      `+49 ${digits(3)} ${digits(7)}`,
      `${1 + random(200)} ${pick(streets)} street`,
      pick(cities),
      digits(5).slice(0, 4).concat('0'),
    ]
  }
  const withError = (text: string): string => {
    const at = random(text.length)
    const error = random(3)
    if (error === 0) return text.slice(0, at) + text.slice(at + 1)
    if (error === 1) return text.slice(0, at) + '0123456789abcdefghij'[random(20)] + text.slice(at + 1)
    return text.slice(0, at) + text.slice(at + 1, at + 2) + text.slice(at, at + 1) + text.slice(at + 2)
  }
  for (let i = 0; i < count; i++) {
    const source = person()
    const copy = source.map((value) => {
      const error = random(100)
      return error < 10 ? null : error < 25 ? withError(value) : value
    })
    yield { source, target: i % 2 === 0 ? copy : person() }
  }
}
