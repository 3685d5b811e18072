// "Did you mean …": finds the known name that a misspelt word most likely stands for.
import { distance } from 'fastest-levenshtein'

/**
 * Returns the known name with the fewest edits, ignoring case. Null if every name needs more edits than a third of the
 * word's length (at least one edit is accepted).
 */
export function nearestName(word: string, known: Iterable<string>): string | null {
  // A very long word is not a typing error, and edit distance takes quadratic time.
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

/** Returns the text `; did you mean …` for a message, or an empty string. */
export function suggestion(word: string, known: Iterable<string>): string {
  const near = nearestName(word, known)
  return near === null ? '' : `; did you mean \`${near}\`?`
}

/** Returns the Levenshtein distance, but 1 for two adjacent characters that are swapped: that is one typing error. */
export function editDistance(a: string, b: string): number {
  const edits = distance(a, b)
  return edits === 2 && isSwap(a, b) ? 1 : edits
}

function isSwap(a: string, b: string): boolean {
  let at = 0
  while (a[at] === b[at]) at += 1
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
}
