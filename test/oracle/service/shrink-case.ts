// Shrinks a case that shows a difference, as long as it still shows one.

/** The items without unnecessary ones: removes chunks first, then single items. */
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

/** Repeatedly the first simpler candidate that still shows the difference; else the given one. */
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
