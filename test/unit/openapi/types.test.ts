// The generated types of the HTTP interface have the members of the schemas from which the authorizer answers. That the file is the one of
// the document is a test of the document.
import { describe, expect, it } from 'vitest'
import type { z } from 'zod'
import { typeScriptOf } from '../../../clients/typescript.ts'
import type { ExplanationOutput } from '../../../src/authorizer/authorizer.ts'
import type { executeAnswer } from '../../../src/context-query/schema.ts'
import type { GraphNames } from '../../../src/graph-query/graph-names.ts'
import type { GraphQueryAnswer, QueryStep } from '../../../src/graph-query/schema.ts'
import type { HttpSchemas } from '../../../src/openapi/types.ts'
import type { comparison } from '../../../src/pdp/comparison-schema.ts'
import type { Explanation, PlanStep, PolicyExplanation } from '../../../src/pdp/explain-schema.ts'
import type { actionSearchAnswer, decisionList, searchAnswer } from '../../../src/pdp/schema.ts'

/** The names of members that A or a value in it has and B has not. */
type Missing<A, B> = A extends readonly (infer X)[]
  ? B extends readonly (infer Y)[]
    ? Missing<X, Y>
    : never
  : A extends object
    ? B extends object
      ?
          | Exclude<keyof A, keyof B>
          | { [K in keyof A & keyof B]: Missing<NonNullable<A[K]>, NonNullable<B[K]>> }[keyof A & keyof B]
      : never
    : never

/** `true`, or the names of members that one of the two has alone. A missing optional member leaves types assignable, so names are compared. */
type SameMembers<A, B> = [Missing<A, B> | Missing<B, A>] extends [never] ? true : Missing<A, B> | Missing<B, A>

/** Refuses to compile if the members differ. */
function sameMembers<A, B>(_: SameMembers<A, B>): void {}

describe('the types of the HTTP interface', () => {
  it('have the members with which the authorizer answers', () => {
    sameMembers<z.infer<typeof decisionList>, HttpSchemas['DecisionList']>(true)
    sameMembers<z.infer<typeof searchAnswer>, HttpSchemas['SearchAnswer']>(true)
    sameMembers<z.infer<typeof actionSearchAnswer>, HttpSchemas['ActionSearchAnswer']>(true)
    sameMembers<z.infer<typeof comparison>, HttpSchemas['Comparison']>(true)
    sameMembers<z.infer<typeof executeAnswer>, HttpSchemas['KnowledgeQueryAnswer']>(true)
    sameMembers<GraphNames, HttpSchemas['GraphNames']>(true)
    // Steps contain steps.
    sameMembers<Omit<GraphQueryAnswer, 'plan' | 'rows'>, Omit<HttpSchemas['GraphQueryAnswer'], 'plan' | 'rows'>>(true)
    sameMembers<Omit<QueryStep, 'children'>, Omit<HttpSchemas['GraphQueryStep'], 'children'>>(true)
    sameMembers<Omit<PlanStep, 'children'>, Omit<HttpSchemas['PlanStep'], 'children' | 'role'>>(true)
    sameMembers<Omit<PolicyExplanation, 'plan'>, Omit<HttpSchemas['PolicyExplanation'], 'plan'>>(true)
    sameMembers<Omit<Explanation, 'policies' | 'context'>, Omit<HttpSchemas['Explanation'], 'policies' | 'context'>>(
      true,
    )
  })

  it('let a program read the trust scores of an explanation', () => {
    const scoresOf = ({ policies }: ExplanationOutput) =>
      policies.flatMap(({ trust_scores = [] }) => trust_scores.map(({ final_score }) => final_score))
    expect(scoresOf({ decision: false, parameters: {}, policies: [], duration_ms: 1 })).toEqual([])
  })
})

describe('the types of a schema', () => {
  it.each([
    [{ type: 'string' }, 'string'],
    [{ type: ['number', 'null'] }, 'number | null'],
    [{ enum: ["it's", 2, true] }, "'it\\'s' | 2 | true"],
    [{ const: 'node' }, "'node'"],
    [{ type: 'array', items: { type: ['string', 'null'] } }, 'readonly (string | null)[]'],
    [{ type: 'array', items: { $ref: '#/components/schemas/B' } }, "readonly HttpSchemas['B'][]"],
    [{ anyOf: [{ type: 'integer' }, { type: 'number' }, { $ref: '#/x/B' }] }, "number | HttpSchemas['B']"],
    [{ anyOf: [{ type: 'string' }, {}] }, 'unknown'],
    [{ type: 'object', additionalProperties: { type: 'string' } }, 'Readonly<Record<string, string>>'],
    [{ type: 'object', additionalProperties: true }, 'Readonly<Record<string, unknown>>'],
  ] as const)('%j is %s', (schema, type) => {
    expect(typeScriptOf({ A: schema })).toContain(`\n  A: ${type}\n`)
  })

  it('has required and optional members, with their descriptions', () => {
    const properties = { a: { type: 'string', description: 'the first */' }, b: { type: 'integer' }, c: {} } as const
    expect(typeScriptOf({ A: { type: 'object', properties, required: ['a'] } })).toContain(
      '  A: {\n    /** The first *\\/. */\n    readonly a: string\n    readonly b?: number | undefined\n    readonly c?: unknown\n  }\n',
    )
  })

  it('refuses what has no type here', () => {
    expect(() => typeScriptOf({ A: { type: 'date' } })).toThrow('no TypeScript type for the type date')
    const nested = { type: 'object', properties: { b: { type: 'object', properties: {} } } } as const
    expect(() => typeScriptOf({ A: nested })).toThrow('an object with members has no name')
  })
})
