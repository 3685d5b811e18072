// Service-account bearer tokens: ES256 JWTs signed by the account's own key (ruling F5).

import type { ConfigSource, Sealer } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceAccountCaller } from './caller.ts'

export declare class ServiceAccounts {
  constructor(documents: ConfigSource, sealer: Sealer, clock: Clock)
  /** Throws when the account is unknown or the lifetime is outside 120 to 86400 seconds. */
  issueToken(accountId: string, lifetimeS: number): Promise<string>
  /** `bearer` without the word `Bearer`. */
  authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null>
}
