// The public API of `verdigraph/client`: the HTTP client.
export type {
  ComparisonInput,
  ComparisonOutput,
  DecisionOutput,
  EvaluationInput,
  EvaluationsInput,
  ExplanationOutput,
  QueryInput,
  QueryOutput,
  WriteInput,
  WriteOutput,
} from '../authorizer/authorizer.ts'
export { type Check, createClient, type InputParameters, type QueryOptions, VerdigraphClient } from './client.ts'
export type { EntityReference } from './entity-reference.ts'
export {
  ClientError,
  type ClientErrorDetails,
  InvalidRequestError,
  NotAuthorizedError,
  TooManyRequestsError,
  UnavailableError,
} from './errors.ts'
export type { Permission, PermissionOf } from './guard.ts'
export type { ClientOptions, Credential, RequestOptions } from './transport.ts'
export type { ChangedDecisions, WatchEvent, WatchOptions } from './watch.ts'
