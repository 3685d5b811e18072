// Long loops in slices of a few milliseconds, between which the event loop serves other requests.

/** Milliseconds of one slice. */
const SLICE_MS = 2
/** Items between two reads of the clock. */
const ITEMS_PER_CLOCK_READ = 8

/** Calls `use` for each item, in order. Rejects with what it throws. */
export async function eachInSlices<T>(items: readonly T[], use: (item: T) => void): Promise<void> {
  let endMs = performance.now() + SLICE_MS
  for (let at = 0; at < items.length; at++) {
    if (at > 0 && at % ITEMS_PER_CLOCK_READ === 0 && performance.now() > endMs) {
      await new Promise((resolve) => setImmediate(resolve))
      endMs = performance.now() + SLICE_MS
    }
    use(items[at]!)
  }
}

/** As `items.map(map)`. Rejects with what `map` throws. */
export async function mapInSlices<T, R>(items: readonly T[], map: (item: T) => R): Promise<R[]> {
  const mapped: R[] = []
  await eachInSlices(items, (item) => void mapped.push(map(item)))
  return mapped
}
