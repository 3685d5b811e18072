// Regular expressions of the engine (RE2) as those of Java. Only the constructs that have one meaning in both are printed,
// without a repetition around a group: Java would need exponential time for some of them.
import { NotPrintable } from './not-printable.ts'

/** One token: a character, an escaped punctuation character, `.`, or a class of characters and ranges. */
const ATOM = /^(?:[A-Za-z0-9 _\-@/:,;=#~%<>'"!]|\\[.\-+*?()[\]{}|/^$]|\.|\[(?:[A-Za-z0-9 _.@](?:-[A-Za-z0-9])?)+\])/
const REPETITION = /^(?:[*+?]|\{\d{1,3}(?:,\d{0,3})?\})/

/** The same expression for Java. `.` excludes only the line feed in RE2, and more line ends in Java. */
export function javaPattern(pattern: string): string {
  let printed = ''
  let rest = pattern
  let depth = 0
  let repeats = false
  while (rest !== '') {
    const repetition = REPETITION.exec(rest)?.[0]
    const atom = ATOM.exec(rest)?.[0]
    let token = rest[0]!
    if (repetition !== undefined && repeats) token = repetition
    else if (atom !== undefined) token = atom
    else if (token === '(' && !rest.startsWith('(?')) depth += 1
    else if (token === ')' && depth > 0) depth -= 1
    else if (token !== '|') throw new NotPrintable('a regular expression')
    repeats = atom !== undefined && token === atom
    printed += token === '.' ? '[^\\n]' : token
    rest = rest.slice(token.length)
  }
  if (depth !== 0) throw new NotPrintable('a regular expression')
  return printed
}
