// Calls a service as a service account, for commands that need a running service and not only its graph.
import { UsageError } from '../output/cli-error.ts'
import { addressOf, type ServiceClient } from './service-client.ts'
import { placeOf, type ServicePlace, type TargetFlags } from './target-place.ts'
import { AccountSide } from './target-service.ts'

/** A service that commands call. */
export interface ServiceAccess {
  readonly url: string
  /** Sends requests about the project. Rejects with CliError. */
  ask<T>(send: (client: ServiceClient, projectId: string) => Promise<T>): Promise<T>
}

/**
 * The service that the flags, the environment or the current context name; for a data folder, the service at the address of its
 * settings. Throws UsageError if they name a graph without a service.
 */
export function serviceAccess(flags: TargetFlags, command: string): ServiceAccess {
  const place = placeOf(flags)
  if (place.kind === 'memory') {
    throw new UsageError([`${command} asks a running service: pass --url, --context or --data`])
  }
  const service: ServicePlace = place.kind === 'service' ? place : ofFolder(place.settings, place.project)
  const account = new AccountSide(service)
  return { url: service.url, ask: (send) => account.ask(send) }
}

function ofFolder(settings: NonNullable<ServicePlace['issuer']>, project: string | null): ServicePlace {
  return { kind: 'service', url: addressOf(settings), project, key: () => null, token: () => null, issuer: settings }
}
