// Requests and answers of checks and completions of Cypher, for editors.
import { z } from 'zod'
import { jsonObject } from '../config/json-schema.ts'
import type { Snapshot } from '../engine/store.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import type { StoredModel } from '../model/stored-model.ts'
import type { GraphNames } from './graph-names.ts'
import { QUERY_LENGTH_MAX, type QueryStep, queryStep } from './schema.ts'

/** Completions in one answer. An editor sends another request when more of the word is known. */
export const COMPLETIONS_MAX = 500

const text = z.string().max(QUERY_LENGTH_MAX)

/** The request of a check. */
export const checkRequest = z
  .strictObject({
    query: text.optional().describe('Cypher that ends with RETURN'),
    policy: z
      .custom<Readonly<Record<string, unknown>>>(isJsonObject, { error: 'expected object' })
      .meta({ documentedAs: jsonObject })
      .refine((policy) => JSON.stringify(policy).length <= QUERY_LENGTH_MAX, {
        error: `expected at most ${QUERY_LENGTH_MAX} characters`,
      })
      .optional()
      .describe('the document of an authorization policy'),
    model: text.optional().describe('the text of a model'),
  })
  .refine(({ query, policy, model }) => [query, policy, model].filter((one) => one !== undefined).length === 1, {
    error: 'expected exactly one of `query`, `policy` and `model`',
  })
  .meta({ id: 'CypherCheck' })
/** A text to check. */
export type CheckRequest = z.infer<typeof checkRequest>

const offset = z.int().nullable().describe('in the Cypher text, in UTF-16 code units; null: another member')

const checkFinding = z
  .object({
    rule: z.string().describe('a rule of `verdigraph lint`'),
    severity: z.enum(['error', 'warning']),
    message: z.string(),
    suggestion: z.string().nullable().describe('the text to write instead'),
    member: z
      .string()
      .describe(
        'the member of the document of the policy, such as `condition.filter.operands[0]`; empty for a query and a model',
      ),
    start: offset,
    end: offset,
  })
  .meta({ id: 'CypherFinding' })
/** A finding with its place. */
export type CheckFinding = z.infer<typeof checkFinding>

const plannedUse = z
  .object({
    use: z
      .enum(['check', 'resources', 'subjects', 'rows'])
      .describe('`check`: one decision; `resources`, `subjects`: a search; `rows`: a query or a context policy'),
    plan: queryStep,
  })
  .meta({ id: 'PlannedUse' })

/** The answer of a check. */
export const checkAnswer = z
  .object({
    findings: z.array(checkFinding),
    plans: z.array(plannedUse).describe('empty if the text does not compile'),
    parameters: z.array(z.string()).describe('that a caller must give, without `$`'),
  })
  .meta({ id: 'CypherCheckAnswer' })
/** Findings and plans. */
export type CheckAnswer = Omit<z.infer<typeof checkAnswer>, 'plans'> & {
  readonly plans: readonly { readonly use: z.infer<typeof plannedUse>['use']; readonly plan: QueryStep }[]
}

/** The request of a completion. */
export const completionRequest = z
  .strictObject({ text, offset: z.int().min(0).describe('in UTF-16 code units') })
  .meta({ id: 'CypherCompletionRequest' })
/** A place to complete. */
export type CompletionRequest = z.infer<typeof completionRequest>

const completion = z
  .object({
    text: z.string(),
    kind: z.enum(['label', 'relationship-type', 'property', 'parameter', 'variable', 'function', 'keyword']),
  })
  .meta({ id: 'CypherCompletion' })

/** The answer of a completion. */
export const completionAnswer = z
  .object({
    completions: z.array(completion),
    truncated: z.boolean().describe(`there are more than ${COMPLETIONS_MAX}`),
  })
  .meta({ id: 'CypherCompletionAnswer' })
/** The texts that may follow at a place. */
export type CompletionAnswer = z.infer<typeof completionAnswer>

/** The port to the language: the checks of `verdigraph lint` and the completion of the language server. `model`: that of the project. */
export interface CypherLanguage {
  check(request: CheckRequest, snapshot: Snapshot, model: StoredModel): CheckAnswer
  complete(request: CompletionRequest, names: GraphNames, model: StoredModel): CompletionAnswer
}
