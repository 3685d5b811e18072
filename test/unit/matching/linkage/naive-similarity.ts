// Similarities without shortcuts, as models of the fast ones.

/** Edit distance with exchanges of adjacent characters (optimal string alignment), by the whole matrix. */
export function naiveEditDistance(a: string, b: string): number {
  const matrix = Array.from({ length: a.length + 1 }, (_, i) =>
    Array.from({ length: b.length + 1 }, (_, j) => (i === 0 ? j : j === 0 ? i : 0)),
  )
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = matrix[i - 1]![j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const options = [replaced, matrix[i - 1]![j]! + 1, matrix[i]![j - 1]! + 1]
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) options.push(matrix[i - 2]![j - 2]! + 1)
      matrix[i]![j] = Math.min(...options)
    }
  }
  return matrix[a.length]![b.length]!
}

/** Jaro-Winkler similarity with arrays. The shorter text is searched in the longer one; equal lengths: in order. */
export function naiveJaroWinkler(one: string, other: string): number {
  const isInOrder = one.length === other.length ? one <= other : one.length < other.length
  const [a, b] = isInOrder ? [one, other] : [other, one]
  const window = Math.max(0, Math.floor(Math.max(a.length, b.length) / 2) - 1)
  const used = new Set<number>()
  const matchedA: string[] = []
  for (const [i, letter] of [...a].entries()) {
    const j = [...b].findIndex((candidate, at) => candidate === letter && Math.abs(at - i) <= window && !used.has(at))
    if (j < 0) continue
    used.add(j)
    matchedA.push(letter)
  }
  if (matchedA.length === 0) return 0
  const matchedB = [...used].sort((x, y) => x - y).map((at) => b[at])
  const outOfOrder = matchedA.filter((letter, at) => letter !== matchedB[at]).length
  const matches = matchedA.length
  const jaro = (matches / a.length + matches / b.length + (matches - outOfOrder / 2) / matches) / 3
  let prefix = 0
  while (prefix < 4 && prefix < a.length && a[prefix] === b[prefix]) prefix++
  return jaro + prefix * 0.1 * (1 - jaro)
}
