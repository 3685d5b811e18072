// The size of JSON data in an answer, without serializing it.

/** Characters counted for each value in addition to its text. */
export const JSON_CELL = 8

/** Returns the characters that JSON data counts in a response. Names and quotes are not counted. */
export function jsonSize(value: unknown): number {
  if (typeof value === 'string') return JSON_CELL + value.length
  if (typeof value !== 'object' || value === null) return JSON_CELL
  let size = JSON_CELL
  for (const item of Array.isArray(value) ? value : Object.values(value)) size += jsonSize(item)
  return size
}
