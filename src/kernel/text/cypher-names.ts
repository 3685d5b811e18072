// Names in texts of Cypher: which need backticks, and those of parameters and definitions in a text that need not parse.

/** A word: the source of a regular expression with the flag `u`. Marks are part of letters in scripts such as Devanagari. */
export const WORD = '[\\p{L}_][\\p{L}\\p{M}\\p{N}_]*'

/** A name that Cypher reads without backticks, as `plainName` in grammar/tokens.ts. */
const PLAIN_NAME = /^[\p{ID_Start}\p{Pc}]\p{ID_Continue}*$/u

/** A label, type, property or parameter as Cypher reads it after `:`, `.` or `$`: in backticks if it has other characters than a plain name. */
export function cypherName(name: string): string {
  return PLAIN_NAME.test(name) ? name : `\`${name.replaceAll('`', '``')}\``
}

const PARAMETER = /\$(?:([\p{ID_Start}\p{Pc}]\p{ID_Continue}*)|`((?:[^`]|``)+)`)/gu

/** The names of the parameters in a text without `$`, each once. Texts in quotes and comments count too. */
export function parametersIn(text: string): readonly string[] {
  return [...new Set(Array.from(text.matchAll(PARAMETER), ([, plain, quoted]) => plain ?? unquoted(quoted)))]
}

const DEFINITION = /\bDEFINE\s*\([^()]*\)\s*-\s*\[\s*:\s*(?:([\p{ID_Start}\p{Pc}]\p{ID_Continue}*)|`((?:[^`]|``)+)`)/giu

/** The names that the definitions of a text give to relationships, also of a model that is being written. */
export function namesDefinedIn(text: string): readonly string[] {
  return Array.from(text.matchAll(DEFINITION), ([, plain, quoted]) => plain ?? unquoted(quoted))
}

function unquoted(name = ''): string {
  return name.replaceAll('``', '`')
}
