// The engines that run a scenario. Each evaluates the same questions in its own way, and all must agree.
import { printValue } from '../support/graph-notation.ts'
import type { RefusedPolicy, Scenario, ScenarioParameters } from './read-scenario.ts'

export interface ScenarioQuestion {
  readonly subjectType: string
  readonly action: string
  readonly resourceType: string
  readonly parameters: ScenarioParameters
}

/** A scenario that is set up for evaluation. */
export interface OpenScenario {
  /** False for questions that this engine cannot express (token claims over HTTP without a token). */
  carries(parameters: ScenarioParameters): boolean
  evaluate(question: ScenarioQuestion, subjectId: string, resourceId: string): Promise<boolean>
  /** In any order. */
  resources(question: ScenarioQuestion, subjectId: string): Promise<string[]>
  subjects(question: ScenarioQuestion, resourceId: string): Promise<string[]>
  /** The message for a policy that must not compile; null if it is accepted. */
  refusal(policy: RefusedPolicy): Promise<string | null>
  close(): Promise<void>
}

export interface ScenarioEngine {
  readonly name: string
  /** False if the engine does not compile conditions and so cannot refuse them. */
  readonly refuses: boolean
  open(scenario: Scenario): Promise<OpenScenario>
}

/** A question as one line; equal questions give equal lines. */
export const describeQuestion = (question: ScenarioQuestion): string =>
  `${question.subjectType} ${question.action} ${question.resourceType} ${printValue(question.parameters)}`

/** The policies that apply to a question. */
export const policiesFor = (scenario: Scenario, question: ScenarioQuestion) =>
  scenario.policies.filter(
    (policy) =>
      policy.subject === question.subjectType &&
      policy.resource === question.resourceType &&
      policy.actions.includes(question.action),
  )
