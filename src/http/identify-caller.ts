// Identifies the caller of every request: reads the latest configuration, and opens the graph of the caller's project before
// the handler runs, so that no handler blocks on the open lock of the graph.
import type { ConfigRepository } from '../config/repository.ts'
import { type Authentication, needsConfiguration } from './authenticate.ts'
import type { DispatcherDeps } from './dispatch.ts'

type Authenticate = DispatcherDeps['authenticate']

/** Collaborators of the identification of callers. */
export interface CallerDeps {
  readonly documents: ConfigRepository
  readonly authenticate: Authenticate
  /** Opens the graph of a project; null if it is open. */
  ready(projectId: string): Promise<void> | null
  /** Resolves when the configuration is new enough; null if it is. Absent: it always is. */
  readonly recent?: () => Promise<void> | null
}

/** Returns a function that is synchronous if the credentials are cached and the graph is open. */
export function createCallerIdentifier({ documents, authenticate, ready, recent }: CallerDeps): Authenticate {
  const identify: Authenticate = (auth, request, origin) => {
    // Every request starts here: it sees all configuration committed by any process before it arrived.
    documents.catchUp()
    return authenticate(auth, request, origin)
  }
  const openingFor = (caller: Authentication): Promise<void> | null =>
    caller.ok && caller.value?.kind === 'agent' ? ready(caller.value.projectId) : null
  const identifyReady: Authenticate = (auth, request, origin) =>
    identifyWhenReady(() => identify(auth, request, origin), openingFor)
  if (recent === undefined) return identifyReady
  return (auth, request, origin) => {
    // Health, and metrics with a token of the settings, do not wait.
    const waiting = needsConfiguration(auth, request) ? recent() : null
    return waiting === null
      ? identifyReady(auth, request, origin)
      : waiting.then(() => identifyReady(auth, request, origin))
  }
}

/** Identifies the caller, and once more after the graph was opened: the key or token may have been revoked in between. */
export function identifyWhenReady<T>(identify: () => T | Promise<T>, openingFor: (caller: T) => Promise<void> | null) {
  const afterOpening = (caller: T): T | Promise<T> => openingFor(caller)?.then(identify) ?? caller
  const caller = identify()
  return caller instanceof Promise ? caller.then(afterOpening) : afterOpening(caller)
}
