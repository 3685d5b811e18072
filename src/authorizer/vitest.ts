// `verdigraph/vitest`: the matchers of decisions, with their types for Vitest.
//
//     import { matchers } from 'verdigraph/vitest'
//     expect.extend(matchers)
import type {} from 'vitest'
import type { AuthorizerMatchers } from './matchers.ts'

export {
  type AuthorizerMatchers,
  type DenialOptions,
  matchers,
  type TestedEntity,
  type TestedParameters,
} from './matchers.ts'

declare module 'vitest' {
  // The type parameters are those of Vitest 5. With another version, declare `Matchers` in the test project.
  interface Matchers<R extends void | Promise<void> = void | Promise<void>, T = unknown>
    extends AuthorizerMatchers<R> {}
}
