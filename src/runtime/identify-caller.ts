// Who calls, for every request: looked for in the newest configuration, and with the graph of their project open, so that
// no handler waits in the middle of its turn for what other processes are writing.
import type { ConfigRepository } from '../config/repository.ts'
import type { Authentication, DispatcherDeps } from '../http/dispatch.ts'

type Authenticate = DispatcherDeps['authenticate']

export interface CallerDeps {
  readonly documents: ConfigRepository
  readonly authenticate: Authenticate
  /** Opens the graph of a project; null where that was done. */
  ready(projectId: string): Promise<void> | null
}

/** Synchronous where nothing has to be waited for. */
export function createCallerIdentifier({ documents, authenticate, ready }: CallerDeps): Authenticate {
  const identify: Authenticate = (auth, request) => {
    // Every request begins here: it sees what any process had committed before it came.
    documents.catchUp()
    return authenticate(auth, request)
  }
  const openingFor = (who: Authentication): Promise<void> | null =>
    who.ok && who.value?.kind === 'agent' ? ready(who.value.projectId) : null
  return (auth, request) => identifyWhenReady(() => identify(auth, request), openingFor)
}

/** Asks again after an opening: a key or a token may have been revoked meanwhile. */
export function identifyWhenReady<T>(identify: () => T | Promise<T>, openingFor: (who: T) => Promise<void> | null) {
  const known = (who: T): T | Promise<T> => openingFor(who)?.then(identify) ?? who
  const who = identify()
  return who instanceof Promise ? who.then(known) : known(who)
}
