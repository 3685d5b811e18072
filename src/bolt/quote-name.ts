// Quotes names of labels, relationship types and properties for a text of Cypher. Values are never part of a text.

/** The name in back-ticks. A text may also write a character as `\uXXXX`, which the server reads before it looks for quotes. */
export function quoted(name: string): string {
  return `\`${name.replaceAll('\\u', '\\u005cu').replaceAll('`', '``')}\``
}
