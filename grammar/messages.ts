// Converts Chevrotain's parser errors to diagnostics: what was found, what was expected, and a likely spelling.
import type { IParserErrorMessageProvider, IRecognitionException, IToken, TokenType } from 'chevrotain'
import { EOF, tokenMatcher } from 'chevrotain'
import type { Diagnostic } from './diagnostic.ts'
import { shorten, spanOf } from './literals.ts'
import type { FirstTokens } from './parser-decisions.ts'
import { editDistance } from './suggest.ts'
import * as t from './tokens.ts'
import { isReserved, keywords, kw } from './tokens.ts'

const aName = label(t.FreeName)
const anExpression = 'an expression'
const afterQuery = 'an operator, a clause or the end of the query'
const afterModel = '`,`, `DEFINE` or the end of the model'
// A clause is rejected at this place only if RETURN has ended the query before it.
const afterReturn = '`UNION`, `NEXT` or the end of the query, because `RETURN` is the last clause'
const clauseStarts: readonly (TokenType | undefined)[] = [
  ...[kw.MATCH, kw.OPTIONAL, kw.UNWIND, kw.WITH, kw.RETURN, kw.CALL, kw.USE, kw.FILTER, kw.LET, kw.FOR],
]

/** Makes the message of a Chevrotain error the expected token alone; `toDiagnostic` completes the sentence. */
export const errorMessageProvider: IParserErrorMessageProvider = {
  buildMismatchTokenMessage: ({ expected }) => label(expected),
  buildNotAllInputParsedMessage: ({ ruleName }) => (ruleName === 'model' ? afterModel : afterQuery),
  buildNoViableAltMessage: ({ customUserDescription, expectedPathsPerAlt }) =>
    customUserDescription ?? expectedTokens(expectedPathsPerAlt.map((paths) => paths.map(([first]) => first!))),
  buildEarlyExitMessage: ({ customUserDescription, expectedIterationPaths }) =>
    customUserDescription ?? expectedTokens([expectedIterationPaths.map(([first]) => first!)]),
}

function label(type: TokenType): string {
  return type === EOF ? 'the end of the query' : (type.LABEL ?? type.name)
}

/** Lists the first tokens of alternatives for a message. */
export function expectedTokens(alternatives: readonly FirstTokens[]): string {
  const labels = [...new Set(alternatives.flatMap((tokens) => tokens.map(label)))]
  if (labels.length > 5) return anExpression
  const last = labels.pop() ?? anExpression
  return labels.length === 0 ? last : `${labels.join(', ')} or ${last}`
}

function startsClause(token: IToken | null): boolean {
  return clauseStarts.includes(token?.tokenType)
}

/** Converts a parser error to a diagnostic. `tokens` are the tokens of `source`. */
export function toDiagnostic(error: IRecognitionException, source: string, tokens: readonly IToken[]): Diagnostic {
  const index = tokens.indexOf(error.token)
  const token = index < 0 ? null : tokens[index]!
  const previous = (index < 0 ? tokens.at(-1) : tokens[index - 1]) ?? null
  const expected = startsClause(token) && index > 0 && error.message === afterQuery ? afterReturn : error.message
  const forbidden = token === null ? null : forbiddenClause(token, previous, tokens[index + 1], expected)
  if (forbidden !== null) return forbidden

  const end = source.trimEnd().length
  const span = token === null ? { start: end, end } : spanOf(token)
  const whole = error.context.ruleStack[0] === 'model' ? 'model' : 'query'
  const found = token === null ? `end of the ${whole}` : `\`${shorten(token.image)}\``
  const hint = token === null ? '' : suggestion(token, previous, expected)
  const code = /^(?:relationship|hop)/.test(error.context.ruleStack.at(-1) ?? '')
    ? 'InvalidRelationshipPattern'
    : 'UnexpectedSyntax'
  return { code, message: `unexpected ${found}, expected ${expected}${hint}`, span, found, expected }
}

// ---------------------------------------------------------------- clauses that are known and refused

const writingClauses: Readonly<Record<string, string>> = {
  CREATE: 'CREATE',
  MERGE: 'MERGE',
  SET: 'SET',
  DELETE: 'DELETE',
  DETACH: 'DETACH DELETE',
  NODETACH: 'NODETACH DELETE',
  REMOVE: 'REMOVE',
  INSERT: 'INSERT',
  FOREACH: 'FOREACH',
  LOAD: 'LOAD CSV',
  DROP: 'DROP',
  ALTER: 'ALTER',
}

/** Words that begin a query or a clause of Neo4j that is not executed, each with the reason. */
const refusedWords: Readonly<Record<string, string>> = {
  FINISH: 'a query without rows has no effect, because nothing can be written; use RETURN',
  SHOW: 'it reads the settings of a server, not the graph',
  TERMINATE: 'it changes the server',
  EXPLAIN: 'explanations and plans have endpoints of their own',
  PROFILE: 'explanations and plans have endpoints of their own',
  CYPHER: 'there is one version of the language and no choice of a planner',
  START: 'it was removed from Cypher; use MATCH',
  YIELD: 'procedures are not allowed',
}

function forbiddenClause(
  token: IToken,
  previous: IToken | null,
  next: IToken | undefined,
  expected: string,
): Diagnostic | null {
  // Where a name or a value is expected, these words are plain identifiers in the wrong place.
  if (expected === anExpression || expected.startsWith(aName)) return null
  const word = token.image.toUpperCase()
  if (previous?.tokenType === kw.CALL && tokenMatcher(token, t.AnyName)) {
    return forbiddenDiagnostic(
      'procedure call `CALL` is not allowed, only `CALL { … }`',
      'CALL',
      previous.startOffset,
      token,
    )
  }
  if (word === 'IN' && previous?.tokenType === t.CloseBrace) {
    const message = '`CALL { … } IN TRANSACTIONS` is not allowed: nothing is written'
    return forbiddenDiagnostic(message, 'IN TRANSACTIONS', token.startOffset, next!)
  }
  const reason = Object.hasOwn(refusedWords, word) ? refusedWords[word]! : null
  if (reason !== null && token.tokenType === t.Identifier) {
    return forbiddenDiagnostic(`\`${word}\` is not allowed: ${reason}`, word, token.startOffset, token)
  }
  if (token.tokenType === kw.WHEN && expected === afterQuery) {
    const message = '`WHEN` begins a query: after another clause, write `CALL (*) { WHEN … THEN … }`'
    return { code: 'UnexpectedSyntax', message, span: spanOf(token), found: '`WHEN`', expected }
  }
  if (word === 'USING') {
    return forbiddenDiagnostic('index hint `USING` is not allowed', 'USING', token.startOffset, token)
  }
  const clause = Object.hasOwn(writingClauses, word) ? writingClauses[word]! : null
  if (clause === null) return null
  const definesSchema = clause === 'CREATE' && /^(?:INDEX|CONSTRAINT)$/i.test(next?.image ?? '')
  const name = definesSchema ? `CREATE ${next!.image.toUpperCase()}` : clause
  const last = next !== undefined && name.endsWith(` ${next.image.toUpperCase()}`) ? next : token
  return forbiddenDiagnostic(`writing clause \`${name}\` is not allowed`, name, token.startOffset, last)
}

function forbiddenDiagnostic(message: string, clause: string, start: number, last: IToken): Diagnostic {
  const span = { start, end: spanOf(last).end }
  return { code: 'ForbiddenClause', message, span, found: `\`${clause}\``, expected: 'a reading clause' }
}

// ---------------------------------------------------------------- did you mean

function suggestion(token: IToken, previous: IToken | null, expected: string): string {
  const meant = token.tokenType === t.Identifier ? nearestKeyword(token.image, 2) : null
  if (meant !== null) return `; did you mean \`${meant}\`?`
  const earlier = previous?.tokenType === t.Identifier ? nearestKeyword(previous.image, 1) : null
  if (earlier !== null) return `; did you mean \`${earlier}\` instead of \`${previous!.image}\`?`
  if (expected.startsWith(aName) && isReserved(token.image)) {
    return `; \`${token.image}\` is a reserved word; to use it as a name, put it in back-ticks`
  }
  return ''
}

/**
 * Finds the keyword with the fewest edits, at most `maxEdits`; one edit for a word of fewer than five letters, because
 * short words resemble too many others.
 */
function nearestKeyword(word: string, maxEdits: number): string | null {
  if (word.length < 3 || word.length > 20) return null
  let nearest: string | null = null
  let fewest = Math.min(maxEdits, word.length < 5 ? 1 : 2) + 1
  for (const candidate of keywords.keys()) {
    if (candidate.length < 3) continue
    const edits = editDistance(word.toUpperCase(), candidate)
    if (edits < fewest) {
      nearest = candidate
      fewest = edits
    }
  }
  return nearest
}
