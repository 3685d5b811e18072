// The keywords of the language. They stand in a file without imports, so that an editor in a browser can read the same table.

/** Keywords that are no names without back-ticks. */
export const reservedWords = [
  ...['MATCH', 'OPTIONAL', 'UNWIND', 'WITH', 'RETURN', 'UNION', 'CALL', 'WHERE'],
  ...['DISTINCT', 'AS', 'ORDER', 'SKIP', 'LIMIT'],
  ...['OR', 'XOR', 'AND', 'NOT', 'IN', 'IS', 'STARTS', 'ENDS', 'CONTAINS'],
  ...['CASE', 'WHEN', 'THEN', 'ELSE', 'TRUE', 'FALSE', 'NULL'],
  ...['CREATE', 'MERGE', 'SET', 'DELETE', 'DETACH', 'REMOVE'],
] as const

/** Keywords that are names too. openCypher reserves some of them; here each occurs only where no name is possible. */
export const freeWords = [
  ...['USE', 'BY', 'ASC', 'ASCENDING', 'DESC', 'DESCENDING', 'OFFSET', 'END'],
  ...['FILTER', 'LET', 'FOR', 'NEXT', 'TYPED', 'NORMALIZED', 'BOTH', 'LEADING', 'TRAILING', 'FROM', 'ALLREDUCE'],
  ...['ALL', 'ANY', 'NONE', 'SINGLE', 'REDUCE', 'COUNT', 'COLLECT', 'EXISTS', 'SHORTESTPATH', 'ALLSHORTESTPATHS'],
  ...['SHORTEST', 'PATH', 'PATHS', 'GROUP', 'GROUPS', 'DIFFERENT', 'RELATIONSHIP', 'RELATIONSHIPS'],
  ...['REPEATABLE', 'ELEMENT', 'ELEMENTS', 'BINDINGS', 'DEFINE', 'OPEN', 'CLOSED'],
] as const

/** A reserved keyword, in upper case. */
export type ReservedWord = (typeof reservedWords)[number]

/** A keyword that is also a name, in upper case. */
export type FreeWord = (typeof freeWords)[number]
