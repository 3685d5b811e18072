// `=~`: the whole text matches, in a time that is linear in it. RE2's syntax, which has no look-around and no
// back-references, is what makes that possible; the runtime's own matcher can be kept busy for years by forty characters.
import { RE2JS } from 're2js'
import { err, ok, type Result } from '../../kernel/result.ts'

/** Longer ones are programs. */
export const PATTERN_MAX = 1000

/** Steps of the compiled pattern: repetitions within repetitions make tens of thousands of a few characters. */
const STEPS_MAX = 2000

export interface TextPattern {
  /** Steps that a character of the text may cost. */
  readonly steps: number
  matches(text: string): boolean
}

export function compilePattern(source: string): Result<TextPattern, string> {
  if (source.length > PATTERN_MAX) return err(`expected at most ${PATTERN_MAX} characters, found ${source.length}`)
  try {
    const compiled = RE2JS.compile(source)
    const steps = compiled.programSize()
    if (steps > STEPS_MAX) return err(`expected a pattern of at most ${STEPS_MAX} steps, found ${steps}`)
    return ok({ steps, matches: (text) => compiled.matches(text) })
  } catch (fault) {
    return err(fault instanceof Error ? fault.message : 'not a regular expression')
  }
}
