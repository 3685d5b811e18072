// The grammar is valid: runs Chevrotain's own checks, which the production parser and lexer skip.
import { Lexer } from 'chevrotain'
import { expect, test } from 'vitest'
import { lexerOptions } from '../../../grammar/lexer.ts'
import { scanned } from '../../../grammar/tokens.ts'
import { AnalysedParser } from '../../support/analysed-parser.ts'

test('the lexer has no unreachable or unoptimised pattern', () => {
  expect(new Lexer(scanned, { ...lexerOptions, skipValidations: false }).lexerDefinitionErrors).toEqual([])
})

test('the rules have no ambiguity, no left recursion and no unreachable alternative', () => {
  expect(() => new AnalysedParser({ skipValidations: false })).not.toThrow()
})

test('the lexer looks for the tokens that can begin with a character, for each character', () => {
  const { ensureOptimizations: _, ...options } = lexerOptions
  const [hinted, trying] = [new Lexer(scanned, lexerOptions), new Lexer(scanned, { ...options, safeMode: true })]
  const tokensOf = (lexer: Lexer, text: string): string => {
    const { tokens, errors, groups } = lexer.tokenize(text)
    const found = [...tokens, ...(groups.comments ?? [])]
    return `${found.map(({ tokenType, image }) => `${tokenType.name} ${image}`).join()} ${errors.length}`
  }
  // Each of the characters that share an entry, and each beginning of a token.
  const beginnings = ['', '1', "a'", '`', '/*', '=.~']
  const texts = beginnings.flatMap((rest) =>
    Array.from({ length: rest === '' ? 65_536 : 128 }, (_, code) => String.fromCharCode(code) + rest),
  )
  expect(texts.filter((text) => tokensOf(hinted, text) !== tokensOf(trying, text))).toEqual([])
})
