// Names of labels, relationship types and properties in the text for the server. They are the only parts of a printed query
// that come from outside, so everything that a lexer could read in another way is refused.
import { NotPrintable } from './not-printable.ts'

/** Prefix of the properties in which the service keeps its own fields. No text of an author may name one. */
const HIDDEN_PREFIX = '_verdigraph'

/** Label of the node with the state of the database, which is no node of the graph. */
export const STATE_LABEL = '_VerdigraphState'

/** The hidden properties of elements. */
export const hidden = {
  type: '_verdigraph_type',
  id: '_verdigraph_id',
  created: '_verdigraph_created',
  updated: '_verdigraph_updated',
  identity: '_verdigraph_identity',
  location: '_verdigraph_location',
  details: '_verdigraph_details',
} as const

/** Whether only the service uses the name, for a property or a label. */
export function isHiddenName(name: string): boolean {
  return name.toLowerCase().startsWith(HIDDEN_PREFIX)
}

/** Whether a label or a relationship type can be part of a text, and is not one of the service. */
export function isQuotable(name: string): boolean {
  return name !== '' && !name.includes('\\') && !name.includes('\0') && name.isWellFormed() && !isHiddenName(name)
}

/**
 * A name in back-ticks. A back-tick in it is doubled. A backslash is refused: Cypher 5 replaces `\uXXXX` before it reads
 * back-ticks, so such a name could end the quotes.
 */
export function quoted(name: string): string {
  if (name === '') throw new NotPrintable('an empty name')
  if (name.includes('\\')) throw new NotPrintable('a name with a backslash')
  if (name.includes('\0') || !name.isWellFormed()) throw new NotPrintable('a name with invalid characters')
  return `\`${name.replaceAll('`', '``')}\``
}

/** A label or a relationship type that an author wrote. */
export function quotedSymbol(name: string): string {
  if (isHiddenName(name)) throw new NotPrintable('a reserved label')
  return quoted(name)
}

/** The key of a captured property that an author wrote. */
export function quotedKey(key: string): string {
  if (isHiddenName(key)) throw new NotPrintable('a reserved property')
  return quoted(key)
}
