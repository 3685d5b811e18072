// The places in the rules where the next token decides, as a text: how it is written, read, and decided by.
import { EOF, type IToken, type TokenType } from 'chevrotain'
import { vocabulary } from './tokens.ts'

/** The tokens with which an alternative begins. */
export type FirstTokens = readonly TokenType[]

/** The method of a rule at which the next token decides. */
export type DecisionMethod = 'OR' | 'OPTION' | 'MANY' | 'AT_LEAST_ONE' | 'MANY_SEP' | 'AT_LEAST_ONE_SEP'

/** A place in a rule where the next token decides. */
export interface RuleDecision {
  readonly rule: string
  readonly method: DecisionMethod
  /** The number in the name of the method: 2 for `OPTION2`. 0: no number. */
  readonly occurrence: number
  /** One, except for `OR`. */
  readonly alternatives: readonly FirstTokens[]
  /** Whether an alternative has a condition (`GATE`). */
  readonly isGated: boolean
}

/** Writes decisions as text, one in a line: `rule OR 2 gated: FIRST SECOND | THIRD`. */
export function writeDecisions(decisions: readonly RuleDecision[]): string {
  const lines = decisions.map(({ rule, method, occurrence, alternatives, isGated }) => {
    const place = `${rule} ${method} ${occurrence}${isGated ? ' gated' : ''}`
    return `${place}: ${alternatives.map((tokens) => tokens.map(({ name }) => name).join(' ')).join(' | ')}`
  })
  return lines.join('\n')
}

/** Reads what `writeDecisions` has written. Decisions by the same tokens have the same array of alternatives. */
export function readDecisions(text: string): RuleDecision[] {
  const types = new Map([...vocabulary, EOF].map((type) => [type.name, type]))
  const read = new Map<string, readonly FirstTokens[]>()
  return text.split('\n').map((line) => {
    const [place, names] = line.split(': ') as [string, string]
    const [rule, method, occurrence, gated] = place.split(' ') as [string, DecisionMethod, string, string?]
    let alternatives = read.get(names)
    if (alternatives === undefined) {
      alternatives = names.split(' | ').map((tokens) => tokens.split(' ').map((name) => types.get(name)!))
      read.set(names, alternatives)
    }
    return { rule, method, occurrence: Number(occurrence), alternatives, isGated: gated !== undefined }
  })
}

/** By `tokenTypeIdx`: the number of the first alternative, from 1, that begins with the token; 0 if none does. */
export type Choices = Uint8Array

/** Computes the choices of a decision. */
export function choicesOf(alternatives: readonly FirstTokens[]): Choices {
  const choices = new Uint8Array(256)
  alternatives.forEach((tokens, alternative) => {
    for (const { tokenTypeIdx, categoryMatches = [] } of tokens) {
      for (const index of [tokenTypeIdx!, ...categoryMatches]) choices[index] ||= alternative + 1
    }
  })
  return choices
}

/** An alternative of `OR` as Chevrotain passes it: perhaps with a condition. */
export interface GatedAlternative {
  readonly GATE?: () => boolean
}

/** Returns the index of the first alternative that begins with the token and whose condition holds; undefined if none does. */
export function gatedChoice(
  beginnings: readonly Choices[],
  token: IToken,
  alternatives: readonly GatedAlternative[],
): number | undefined {
  for (let at = 0; at < beginnings.length; at++) {
    if (beginnings[at]![token.tokenTypeIdx] === 0) continue
    const { GATE: gate } = alternatives[at]!
    if (gate === undefined || gate()) return at
  }
  return undefined
}
