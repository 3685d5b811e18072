// "Did you mean …": finds the known name that a misspelled word most likely means.
import { distance } from 'fastest-levenshtein'

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

/**
 * Levenshtein distance, but a single swap of adjacent characters counts as one edit, because it is a common typing error.
 */
function editDistance(a: string, b: string): number {
  return isAdjacentSwap(a, b) ? 1 : distance(a, b)
}

function isAdjacentSwap(a: string, b: string): boolean {
  if (a.length !== b.length) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at + 1 < a.length && a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
}
