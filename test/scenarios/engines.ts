// Who can be asked about a world: each entry answers the same questions by its own way, and all must agree.
import { printValue } from '../support/graph-notation.ts'
import type { RefusedPolicy, Scenario, ScenarioParameters } from './read-scenario.ts'

export interface ScenarioQuestion {
  readonly subjectType: string
  readonly action: string
  readonly resourceType: string
  readonly parameters: ScenarioParameters
}

/** A world set up for asking. */
export interface OpenScenario {
  /** False for questions that this way of asking cannot carry (token claims over HTTP without a token). */
  carries(parameters: ScenarioParameters): boolean
  evaluate(question: ScenarioQuestion, subjectId: string, resourceId: string): Promise<boolean>
  /** In any order. */
  resources(question: ScenarioQuestion, subjectId: string): Promise<string[]>
  subjects(question: ScenarioQuestion, resourceId: string): Promise<string[]>
  /** What is said of a policy that must not compile; null when it is taken. */
  refusal(policy: RefusedPolicy): Promise<string | null>
  close(): Promise<void>
}

export interface ScenarioEngine {
  readonly name: string
  /** False where the engine takes conditions as they are and leaves refusing to others. */
  readonly refuses: boolean
  open(world: Scenario): Promise<OpenScenario>
}

/** A question in one line; equal questions read the same. */
export const describeQuestion = (question: ScenarioQuestion): string =>
  `${question.subjectType} ${question.action} ${question.resourceType} ${printValue(question.parameters)}`

/** The policies that have a say in a question. */
export const policiesFor = (world: Scenario, question: ScenarioQuestion) =>
  world.policies.filter(
    (policy) =>
      policy.subject === question.subjectType &&
      policy.resource === question.resourceType &&
      policy.actions.includes(question.action),
  )
