// A seeded random number generator: the same seed gives the same graphs and conditions on every machine.

export class Random {
  private state: number
  constructor(seed: number) {
    this.state = seed >>> 0
  }

  /** One step of mulberry32: 32 bits of state, uniform enough to choose test cases. */
  private next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** From `min` to `max`, both inclusive. */
  between(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  /** True with that probability. */
  odds(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.between(0, items.length - 1)]
    if (item === undefined) throw new Error('nothing to pick from')
    return item
  }

  /** Picks an item by weight. */
  weighted<T>(items: readonly (readonly [weight: number, item: T])[]): T {
    let left = this.next() * items.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, item] of items) {
      left -= weight
      if (left < 0) return item
    }
    return this.pick(items)[1]
  }
}

/** The default seed of tests; any number would do. */
const FIXED_SEED = 20_261_120

/**
 * The seed of tests: VERDIGRAPH_SEED, else a fixed one, so that a failure is reproducible from the commit alone. The
 * caller prints it.
 */
export function testSeed(): number {
  return seedFromEnvironment() ?? FIXED_SEED
}

/** The seed of stress runs: VERDIGRAPH_SEED, else a new one, except on CI. The caller prints it. */
export function stressSeed(): number {
  return seedFromEnvironment() ?? (process.env.CI ? FIXED_SEED : Math.floor(Math.random() * 2 ** 31))
}

function seedFromEnvironment(): number | undefined {
  const given = process.env.VERDIGRAPH_SEED
  if (given !== undefined && !/^\d+$/.test(given))
    throw new Error(`VERDIGRAPH_SEED must be a whole number, got ${given}`)
  return given === undefined ? undefined : Number(given)
}
