// `=~`: the whole text matches, in a time that is linear in it. RE2's syntax, which has no look-around and no
// back-references, is what makes that possible; the runtime's own matcher can be kept busy for years by forty characters.
import { RE2JS } from 're2js'
import { err, ok, type Result } from '../../kernel/result.ts'
import { chargeItems, chargeText, requireLane } from './cost-accounting.ts'

/** Longer ones are programs. */
export const REGEX_LENGTH_MAX = 1000

/** Steps of the compiled pattern: repetitions within repetitions make tens of thousands of a few characters. */
const REGEX_PROGRAM_MAX = 2000

/** Of longer texts and longer patterns that are not compiled yet, a serving loop leaves the work to a lane. */
const INLINE_TEXT_MAX = 1024
const INLINE_REGEX_MAX = 128

export interface CompiledRegex {
  /** Charges text by pattern while it looks at the text. */
  matches(text: string): boolean
}

export function compileRegex(source: string): Result<CompiledRegex, string> {
  if (source.length > REGEX_LENGTH_MAX)
    return err(`expected at most ${REGEX_LENGTH_MAX} characters, found ${source.length}`)
  try {
    const compiled = RE2JS.compile(source)
    const steps = compiled.programSize()
    if (steps > REGEX_PROGRAM_MAX)
      return err(`expected a pattern of at most ${REGEX_PROGRAM_MAX} steps, found ${steps}`)
    return ok({
      matches: (text) => {
        if (text.length > INLINE_TEXT_MAX) requireLane('regular expression')
        chargeText(text.length)
        // The library takes string objects; this one charges for the characters that are read.
        return compiled.matches(new ChargedString(text, steps) as unknown as string)
      },
    })
  } catch (fault) {
    return err(fault instanceof Error ? fault.message : 'not a regular expression')
  }
}

/** Compiling takes some microseconds for each character; repetitions of classes take the most. */
const STEPS_PER_REGEX_CHARACTER = 32

/** As `compilePattern`, for a pattern that is known only when a run meets it: charged before it is compiled. */
export function compileRegexCharged(source: string): Result<CompiledRegex, string> {
  if (source.length > INLINE_REGEX_MAX) requireLane('regular expression')
  if (source.length <= REGEX_LENGTH_MAX) chargeItems(source.length * STEPS_PER_REGEX_CHARACTER)
  return compileRegex(source)
}

/** A character may lead to a state that was not met before, which takes some nanoseconds for each step of the pattern. */
const PROGRAM_STEPS_PER_STEP = 64
/** Steps that are charged at once. */
const STEPS_PER_CHARGE = 16

class ChargedString extends String {
  private readonly charactersPerCharge: number
  private left = 0

  constructor(text: string, patternSteps: number) {
    super(text)
    this.charactersPerCharge = Math.max(
      1,
      Math.floor((STEPS_PER_CHARGE * PROGRAM_STEPS_PER_STEP) / (patternSteps + 16)),
    )
  }

  override charCodeAt(index: number): number {
    if (--this.left < 0) {
      this.left = this.charactersPerCharge
      chargeItems(STEPS_PER_CHARGE)
    }
    return super.charCodeAt(index)
  }
}
