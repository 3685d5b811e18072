// The set of grouping keys finds each key once, as a Set does, whatever its size and the kinds of its keys.
import { expect, test } from 'vitest'
import type { GroupingKey } from '../../../../src/engine/value/compare.ts'
import { GroupingKeySet } from '../../../../src/engine/value/grouping-key-set.ts'
import { Random } from '../../../generate/random.ts'

const SEED = Number(process.env.SEED ?? 20_261_127)

test(`a set of grouping keys agrees with a Set (SEED=${SEED})`, () => {
  const random = new Random(SEED)
  const keyOf: readonly ((n: number) => GroupingKey)[] = [
    (n) => n,
    (n) => n / 8,
    (n) => -n,
    (n) => 2n ** 60n + BigInt(n),
    (n) => -(2n ** 62n) - BigInt(n),
    (n) => `${n}`,
    (n) => `${n} with the same end of all texts`,
    (n) => n % 2 === 0,
    () => null,
    () => Number.NaN,
    () => -0,
  ]
  const keys = new GroupingKeySet()
  for (let round = 0; round < 2; round++) {
    const expected = new Set<GroupingKey>()
    for (let i = 0; i < 200_000; i++) {
      const key = keyOf[random.between(0, keyOf.length - 1)]!(random.between(0, 60_000))
      const isNew = !expected.has(key)
      expected.add(key)
      if (keys.add(key) !== isNew) throw new Error(`${String(key)} (${typeof key}) is ${isNew ? 'not new' : 'new'}`)
    }
    expect(expected.size).toBeGreaterThan(100_000)
    keys.clear()
  }
})
