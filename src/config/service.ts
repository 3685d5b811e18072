// Create, read, list, update and remove: once, for all kinds.
import type { ServiceAccountCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import type { ConfigKind, Fields } from './kind.ts'

export interface ConfigAnswer {
  readonly body: Fields
  /** Quoted, for the header; null for kinds that have none. */
  readonly etag: string | null
}

export declare class ConfigService {
  readonly kinds: readonly ConfigKind[]
  /** `body` as parsed from JSON: validation is the service's (422 `invalid`), not the route's. */
  create(caller: ServiceAccountCaller, kind: ConfigKind, body: unknown): Promise<Result<ConfigAnswer, ServiceError>>
  /** `key` is an id, or a name with `query.project_id`, `query.location` or `query.organization_id`. */
  read(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    key: string,
    query: URLSearchParams,
  ): Result<ConfigAnswer, ServiceError>
  list(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    query: URLSearchParams,
  ): Result<{ readonly data: readonly Fields[] }, ServiceError>
  update(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    body: unknown,
    ifMatch: string | null,
  ): Promise<Result<ConfigAnswer, ServiceError>>
  remove(
    caller: ServiceAccountCaller,
    kind: ConfigKind,
    id: string,
    ifMatch: string | null,
  ): Promise<Result<{ readonly id: string }, ServiceError>>
  /** At start: finishes effects and provisioning that a crash cut off. */
  resume(): Promise<void>
}
