// The characters of a text that a reader cannot see, or that change how the text around them is shown: control and format characters,
// those for the direction of text, tags, fillers, blanks, lone surrogates and private use. A text with them can look like another one, change
// a terminal, or give a language model instructions that no person sees.

/** The scripts whose words are spelt with joiners. */
const JOINED =
  '[\\p{Script=Arabic}\\p{Script=Syriac}\\p{Script=Mongolian}\\p{Script=Devanagari}\\p{Script=Bengali}\\p{Script=Gurmukhi}' +
  '\\p{Script=Gujarati}\\p{Script=Oriya}\\p{Script=Tamil}\\p{Script=Telugu}\\p{Script=Kannada}\\p{Script=Malayalam}' +
  '\\p{Script=Sinhala}\\p{Script=Khmer}\\p{Script=Myanmar}]'

/** Joiners and variation selectors as ordinary words and emoji have them: their effect is visible. */
const ORDINARY = [
  '(?<=\\p{Extended_Pictographic})\\ufe0f',
  '\\ufe0f(?=\\u20e3)',
  '(?<=[\\p{Extended_Pictographic}\\p{Emoji_Modifier}\\ufe0f])\\u200d(?=\\p{Extended_Pictographic})',
  `(?<=${JOINED})[\\u200c\\u200d](?=${JOINED})`,
].join('|')

/** A regular expression for one such character. Needs the flag `u`. Line feeds and tabs do not count. */
export const INVISIBLE_CHARACTER = `(?![\\n\\t]|${ORDINARY})[\\p{Cc}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Co}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb\\u2800]`

const invisible = new RegExp(INVISIBLE_CHARACTER, 'gu')

/** Most texts have only these characters. */
const PLAIN = /^[\t\n\x20-\x7e]*$/

/**
 * Returns the text with an escape such as `\u202e` for each invisible character. The escapes are those of JSON and Cypher: a JSON
 * text, or a string in Cypher, keeps its value. Line feeds and tabs are unchanged.
 */
export function escapeInvisible(text: string): string {
  return PLAIN.test(text) ? text : text.replace(invisible, escapeOf)
}

/**
 * As `escapeInvisible`, for all texts within a value of JSON, also the names of members. If two names of an object became the same text,
 * backslashes in its names are escaped too.
 */
export function escapeInvisibleIn(value: unknown): unknown {
  if (typeof value === 'string') return escapeInvisible(value)
  if (Array.isArray(value)) return value.map(escapeInvisibleIn)
  if (typeof value !== 'object' || value === null) return value
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const names = Object.keys(value)
  const isDistinct = new Set(names.map(escapeInvisible)).size === names.length
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      isDistinct ? escapeInvisible(name) : escapeInvisible(name.replaceAll('\\', '\\u005c')),
      escapeInvisibleIn(member),
    ]),
  )
}

/** An escape for each UTF-16 code unit. */
function escapeOf(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}
