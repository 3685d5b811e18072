// The request and the answer of a scenario file that runs against the policies of a project.
import { z } from 'zod'
import { tagList } from '../config/kind.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { Result } from '../kernel/result.ts'
import { policyDocument } from './context-document.ts'

/** Maximum characters of a scenario file. */
const SCENARIO_LENGTH_MAX = 131_072

/** The request. */
export const scenarioRunRequest = z
  .strictObject({
    scenario: z.string().min(1).max(SCENARIO_LENGTH_MAX).describe('the text of a scenario file'),
    policies: z
      .array(
        z
          .strictObject({
            name: z.string().min(1).describe('replaces the stored policy with this name'),
            // Compiled as a stored policy is, with the errors of a stored policy.
            policy: z.unknown().meta({ documentedAs: policyDocument }),
            tags: tagList.optional(),
          })
          .meta({ id: 'TestedPolicy' }),
      )
      .max(100)
      .optional()
      .describe('policies to add or to replace, only for this run'),
    draft: z.boolean().optional().describe('true: the DRAFT policies of the project decide too'),
  })
  .meta({ id: 'ScenarioRunRequest' })
/** A scenario to run. */
export type ScenarioRunRequest = z.infer<typeof scenarioRunRequest>

const checkResult = z
  .object({
    list: z.string().describe('the list of the file, such as `decisions`'),
    title: z.string().describe('the question in one line'),
    line: z.int(),
    column: z.int(),
    passed: z.boolean(),
    expected: z.string(),
    actual: z.string(),
    details: z.array(z.string()).describe('of a failed check: the outcome of each policy, and the nearest miss'),
  })
  .meta({ id: 'ScenarioCheckResult' })

/** The answer. */
export const scenarioRunAnswer = z
  .object({
    passed: z.boolean().describe('all checks ran and passed'),
    checks: z.array(checkResult),
    left_out: z.int().describe('checks that did not run, because the time of the run was over'),
    policies: z.int().describe('stored policies and queries that were used'),
    duration_ms: z.number(),
  })
  .meta({ id: 'ScenarioRun' })
/** The results of a scenario. */
export type ScenarioRunAnswer = z.infer<typeof scenarioRunAnswer>

/** Runs scenarios. Errors: `invalid` with lines and columns of the file, or about a policy. */
export type ScenarioRuns = (
  caller: AgentCaller,
  request: ScenarioRunRequest,
) => Promise<Result<ScenarioRunAnswer, ServiceError>>
