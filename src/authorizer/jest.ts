// `verdigraph/jest`: the matchers of decisions, with their types for Jest.
//
//     import { matchers } from 'verdigraph/jest'
//     expect.extend(matchers)
import type { AuthorizerMatchers } from './matchers.ts'

export {
  type AuthorizerMatchers,
  type DenialOptions,
  matchers,
  type TestedEntity,
  type TestedParameters,
} from './matchers.ts'

declare global {
  namespace jest {
    interface Matchers<R> extends AuthorizerMatchers<R> {}
  }
}
