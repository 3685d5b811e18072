// Who can be asked about a world: each entry answers the same questions by its own way, and all must agree.
import { writeValue } from './arrows.ts'
import type { Parameters, RefusedPolicy, World } from './world.ts'

export interface Question {
  readonly subjectType: string
  readonly action: string
  readonly resourceType: string
  readonly parameters: Parameters
}

/** A world set up for asking. */
export interface OpenWorld {
  /** False for questions that this way of asking cannot carry (token claims over HTTP without a token). */
  carries(parameters: Parameters): boolean
  evaluate(question: Question, subjectId: string, resourceId: string): Promise<boolean>
  /** In any order. */
  resources(question: Question, subjectId: string): Promise<string[]>
  subjects(question: Question, resourceId: string): Promise<string[]>
  /** What is said of a policy that must not compile; null when it is taken. */
  refusal(policy: RefusedPolicy): Promise<string | null>
  close(): Promise<void>
}

export interface Engine {
  readonly name: string
  /** False where the engine takes conditions as they are and leaves refusing to others. */
  readonly refuses: boolean
  open(world: World): Promise<OpenWorld>
}

/** A question in one line; equal questions read the same. */
export const told = (question: Question): string =>
  `${question.subjectType} ${question.action} ${question.resourceType} ${writeValue(question.parameters)}`

/** The policies that have a say in a question. */
export const policiesFor = (world: World, question: Question) =>
  world.policies.filter(
    (policy) =>
      policy.subject === question.subjectType &&
      policy.resource === question.resourceType &&
      policy.actions.includes(question.action),
  )
