// First start: an organization and an admin service account, on an empty data folder and never again.
import type { ConfigWriter, Sealer } from '../config/kind.ts'
import type { Clock } from '../kernel/clock.ts'
import type { ServiceAccountCaller } from './caller.ts'

export interface Bootstrapped {
  /** False: the folder had an organization already. */
  readonly created: boolean
  /** The admin account, as a caller (for loading a demo world in process); its token: ServiceAccounts.issueToken. */
  readonly admin: ServiceAccountCaller
}

export declare function bootstrap(documents: ConfigWriter, sealer: Sealer, clock: Clock): Promise<Bootstrapped>
