// Makes a case that shows a difference smaller, for as long as it still shows one.

/** Items without those that are not needed: chunks first, then one by one. */
export async function shrinkList<T>(
  items: readonly T[],
  isShown: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = items
  for (let chunk = Math.max(1, left.length >> 1); left.length > 0; chunk >>= 1) {
    for (let from = 0; from < left.length; ) {
      const fewer = [...left.slice(0, from), ...left.slice(from + chunk)]
      if (await isShown(fewer)) left = fewer
      else from += chunk
    }
    if (chunk === 1) break
  }
  return left
}

/** The first of the simpler ones that still shows it, and so on; else the one that was given. */
export async function shrinkValue<T>(
  given: T,
  simpler: (one: T) => readonly T[],
  isShown: (one: T) => Promise<boolean>,
): Promise<T> {
  for (let one = given; ; ) {
    let next: T | null = null
    for (const other of simpler(one)) {
      if (!(await isShown(other))) continue
      next = other
      break
    }
    if (next === null) return one
    one = next
  }
}
