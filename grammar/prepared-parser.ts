// The parser of the process. It takes its decisions from the table that is generated from its rules. Chevrotain would compute them at
// each start of a process, by recording the rules and walking them, which takes longer than to parse the policies of a project.
import { EarlyExitException, type IToken, NoViableAltException } from 'chevrotain'
import { decisionTable } from './decision-table.ts'
import { expectedTokens } from './messages.ts'
import { CypherParser } from './parser.ts'
import {
  type Choices,
  choicesOf,
  type DecisionMethod,
  type FirstTokens,
  type GatedAlternative,
  gatedChoice,
  readDecisions,
} from './parser-decisions.ts'

/** The numbers under which Chevrotain stores decisions, plus the number in the name of the method: 2 for `OPTION2`. */
export const methodKeys: Readonly<Record<DecisionMethod, number>> = {
  OR: 1 << 8,
  OPTION: 2 << 8,
  MANY: 3 << 8,
  AT_LEAST_ONE: 4 << 8,
  MANY_SEP: 5 << 8,
  AT_LEAST_ONE_SEP: 6 << 8,
}

/** How Chevrotain names `AT_LEAST_ONE` where it raises an error. */
const REPETITION_MANDATORY = 2

/** Members of Chevrotain's parser that its declarations omit. */
interface ParserInternals {
  selfAnalysisDone: boolean
  readonly fullRuleNameToShort: Readonly<Record<string, number>>
  setLaFuncCache(rule: number, key: number, decide: (alternatives: GatedAlternative[]) => unknown): void
  LA_FAST(distance: number): IToken
  getCurrRuleFullName(): string
  SAVE_ERROR<E extends Error>(error: E): E
}

/** Decides as a parser that analyses its rules would: a test compares both. */
export class PreparedParser extends CypherParser {
  /** By the rule and the key of the decision. */
  private readonly firstTokens = new Map<string, readonly FirstTokens[]>()

  constructor() {
    super({ skipValidations: true })
    this.performSelfAnalysis()
  }

  private get internals(): ParserInternals {
    return this as unknown as ParserInternals
  }

  protected override performSelfAnalysis(): void {
    const { internals } = this
    const known = new Map<readonly FirstTokens[], Choices>()
    for (const { rule, method, occurrence, alternatives, isGated } of readDecisions(decisionTable)) {
      const key = methodKeys[method] | occurrence
      this.firstTokens.set(`${rule} ${key}`, alternatives)
      const choices = known.get(alternatives) ?? choicesOf(alternatives)
      known.set(alternatives, choices)
      const decide = isGated ? this.gated(alternatives) : method === 'OR' ? this.oneOf(choices) : this.begins(choices)
      internals.setLaFuncCache(internals.fullRuleNameToShort[rule]!, key, decide)
    }
    internals.selfAnalysisDone = true
  }

  /** The decision of `OPTION` and the repetitions. */
  private begins(choices: Choices): () => boolean {
    const { internals } = this
    return () => choices[internals.LA_FAST(1).tokenTypeIdx] === 1
  }

  private oneOf(choices: Choices): () => number | undefined {
    const { internals } = this
    return () => {
      const choice = choices[internals.LA_FAST(1).tokenTypeIdx]!
      return choice === 0 ? undefined : choice - 1
    }
  }

  private gated(alternatives: readonly FirstTokens[]): (gates: GatedAlternative[]) => number | undefined {
    const { internals } = this
    const beginnings = alternatives.map((tokens) => choicesOf([tokens]))
    return (gates) => gatedChoice(beginnings, internals.LA_FAST(1), gates)
  }

  /** Chevrotain calls it if no alternative of `OR` begins with the next token. */
  protected raiseNoAltException(occurrence: number, description: string | undefined): never {
    const message = description ?? expectedTokens(this.expected('OR', occurrence))
    throw this.internals.SAVE_ERROR(new NoViableAltException(message, this.LA(1), this.LA(0)))
  }

  /** Chevrotain calls it if what must occur at least once does not begin with the next token. */
  protected raiseEarlyExitException(occurrence: number, kind: number, description: string | undefined): never {
    const method = kind === REPETITION_MANDATORY ? 'AT_LEAST_ONE' : 'AT_LEAST_ONE_SEP'
    const message = description ?? expectedTokens(this.expected(method, occurrence))
    throw this.internals.SAVE_ERROR(new EarlyExitException(message, this.LA(1), this.LA(0)))
  }

  private expected(method: DecisionMethod, occurrence: number): readonly FirstTokens[] {
    return this.firstTokens.get(`${this.internals.getCurrRuleFullName()} ${methodKeys[method] | occurrence}`) ?? []
  }
}

/** The parser of the process. Not reentrant, and never suspended: parsing is synchronous. */
export const parser = new PreparedParser()
