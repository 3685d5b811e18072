// The operator `=~`: the regular expression matches the whole text, in time linear in its length. RE2 has no look-around and
// no back-references, which makes that possible; 40 characters can keep the runtime's own matcher busy for years.
import { RE2JS } from 're2js'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { Budget } from '../budget.ts'

/** Characters of a regular expression. */
const REGEX_LENGTH_MAX = 1000

/** Instructions of the compiled program: nested repetitions make tens of thousands from a few characters. */
const REGEX_PROGRAM_MAX = 2000

/** The event loop passes longer texts, and longer regular expressions that are not compiled yet, to a lane. */
const INLINE_TEXT_MAX = 1024
const INLINE_REGEX_MAX = 128

/** A compiled regular expression. */
export interface CompiledRegex {
  /** Whether the whole text matches. Charges as it reads the text; throws ExecutionError or LaneRequiredError. */
  matches(budget: Budget, text: string): boolean
}

/** Compiles a regular expression in RE2 syntax. The error is a message about `source`. */
export function compileRegex(source: string): Result<CompiledRegex, string> {
  if (source.length > REGEX_LENGTH_MAX) {
    return err(`expected at most ${REGEX_LENGTH_MAX} characters, found ${source.length}`)
  }
  try {
    const compiled = RE2JS.compile(source)
    const programSize = compiled.programSize()
    if (programSize > REGEX_PROGRAM_MAX) {
      return err(`expected a pattern of at most ${REGEX_PROGRAM_MAX} steps, found ${programSize}`)
    }
    return ok({
      matches: (budget, text) => {
        if (text.length > INLINE_TEXT_MAX) budget.requireLane('regular expression')
        budget.chargeText(text.length)
        // The library accepts String objects; this one charges for each character that is read.
        return compiled.matches(new ChargedString(budget, text, programSize) as unknown as string)
      },
    })
  } catch (fault) {
    return err(fault instanceof Error ? fault.message : 'not a regular expression')
  }
}

/** Compilation takes some microseconds per character; repetitions of character classes take the most. */
const STEPS_PER_REGEX_CHARACTER = 32

/** Like `compileRegex`, for a source that is known only during an execution. Charges before it compiles. */
export function compileRegexCharged(budget: Budget, source: string): Result<CompiledRegex, string> {
  if (source.length > INLINE_REGEX_MAX) budget.requireLane('regular expression')
  if (source.length <= REGEX_LENGTH_MAX) budget.chargeSteps(source.length * STEPS_PER_REGEX_CHARACTER)
  return compileRegex(source)
}

/** A character may lead to a new state of the matcher, which takes some nanoseconds per instruction of the program. */
const INSTRUCTIONS_PER_STEP = 64
const STEPS_PER_CHARGE = 16

class ChargedString extends String {
  private readonly budget: Budget
  private readonly charactersPerCharge: number
  private left = 0

  constructor(budget: Budget, text: string, programSize: number) {
    super(text)
    this.budget = budget
    this.charactersPerCharge = Math.max(1, Math.floor((STEPS_PER_CHARGE * INSTRUCTIONS_PER_STEP) / (programSize + 16)))
  }

  override charCodeAt(index: number): number {
    if (--this.left < 0) {
      this.left = this.charactersPerCharge
      this.budget.chargeSteps(STEPS_PER_CHARGE)
    }
    return super.charCodeAt(index)
  }
}
