// "Did you mean …": finds the known name that a misspelled word most likely means.

/**
 * Returns the nearest known name, ignoring case, if its edit distance is at most a third of the word's length; else
 * null.
 */
export function nearestName(word: string, known: Iterable<string>): string | null {
  // Edit distance takes quadratic time, and a very long word is not a misspelling.
  if (word.length > 100) return null
  const wanted = word.toLowerCase()
  let best: string | null = null
  let fewest = Math.max(1, Math.floor(wanted.length / 3)) + 1
  for (const name of known) {
    if (Math.abs(name.length - wanted.length) >= fewest) continue
    const edits = editDistance(wanted, name.toLowerCase())
    if (edits < fewest) {
      fewest = edits
      best = name
    }
  }
  return best
}

/** Returns `; did you mean …?`, or an empty text. */
export function suggestion(word: string, known: Iterable<string>): string {
  const near = nearestName(word, known)
  return near === null ? '' : `; did you mean \`${near}\`?`
}

/** Insertions, deletions, replacements and swaps of neighbours. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? beforeLast[j - 2]! + 1 : replaced
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, replaced, swapped))
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
