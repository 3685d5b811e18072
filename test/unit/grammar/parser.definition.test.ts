// The grammar is valid: runs Chevrotain's own checks, which the production parser and lexer skip.
import { Lexer } from 'chevrotain'
import { expect, test } from 'vitest'
import { lexerOptions } from '../../../grammar/lexer.ts'
import { CypherParser } from '../../../grammar/parser.ts'
import { scanned } from '../../../grammar/tokens.ts'

test('the lexer has no unreachable or unoptimised pattern', () => {
  expect(new Lexer(scanned, { ...lexerOptions, skipValidations: false }).lexerDefinitionErrors).toEqual([])
})

test('the rules have no ambiguity, no left recursion and no unreachable alternative', () => {
  expect(() => new CypherParser({ skipValidations: false })).not.toThrow()
})
