// Operations of administrators on an event sink. Finds the sink of the caller's organization and checks the role.
import type { ConfigReader, StoredDocument } from '../../config/kind.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { ServiceAccountCaller } from '../../kernel/request/caller.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { OpenProviderSecret } from '../connect-provider.ts'
import { eventSinksKind } from '../event-sink.ts'
import type { ProviderDeps } from '../providers/provider.ts'
import type { EventSinkOperations } from '../sink-operations.ts'
import { followEvents } from '../streams/event-follower.ts'
import type { EventStreams } from '../streams/event-streams.ts'
import {
  deleteDeadLettersOf,
  deleteOneDeadLetter,
  listDeadLetters,
  readOneDeadLetter,
  requestDeadLetters,
} from './event-dead-letters.ts'
import { type RoutingTestDeps, testDraft, testSink } from './event-routing-test.ts'

/** Collaborators of the service. */
interface EventSinkServiceDeps {
  readonly documents: ConfigReader
  readonly streams: EventStreams
  /** Creates the outbox of decisions and reads if it does not exist. */
  createActivity(): Promise<unknown>
  readonly clock: Clock
  readonly openSecret: OpenProviderSecret
  readonly providers: ProviderDeps
}

/** Builds the operations. */
export function createEventSinkOperations(deps: EventSinkServiceDeps): EventSinkOperations {
  const { documents, streams } = deps
  const tests: RoutingTestDeps = { ...deps, sendingError: (caller) => editorError(caller, 'send events') }

  function find(caller: ServiceAccountCaller, id: string): Result<StoredDocument, ServiceError> {
    const sink = documents.get(eventSinksKind, id)
    if (sink !== null && sink.organization_id === caller.organizationId) return ok(sink)
    return err({ kind: 'not-found', message: `no event sink \`${id}\`` })
  }

  /** Events contain data of the graph, which a viewer of the configuration must not see. */
  function withSink<T>(
    caller: ServiceAccountCaller,
    id: string,
    action: string,
    run: (sink: StoredDocument) => Promise<Result<T, ServiceError>>,
  ): Promise<Result<T, ServiceError>> | Result<T, ServiceError> {
    const refused = editorError(caller, action)
    if (refused !== null) return err(refused)
    const sink = find(caller, id)
    return sink.ok ? run(sink.value) : sink
  }

  return {
    async test(caller, id, body, origin) {
      const sink = find(caller, id)
      return sink.ok ? testSink(tests, caller, sink.value, body, origin) : sink
    },
    testDraft: (caller, body, origin) => testDraft(tests, caller, body, origin),
    listDeadLetters: async (caller, id, query) =>
      withSink(caller, id, 'read events', (sink) => listDeadLetters(streams, sink, query)),
    readDeadLetter: async (caller, id, letter) =>
      withSink(caller, id, 'read events', (sink) => readOneDeadLetter(streams, sink, letter)),
    sendDeadLetters: async (caller, id, body) =>
      withSink(caller, id, 'send events', (sink) => requestDeadLetters(streams, sink, body)),
    deleteDeadLetter: async (caller, id, letter) =>
      withSink(caller, id, 'delete events', (sink) => deleteOneDeadLetter(streams, sink, letter)),
    deleteDeadLetters: async (caller, id, provider) =>
      withSink(caller, id, 'delete events', (sink) => deleteDeadLettersOf(streams, sink, provider)),
    follow: async (caller, id, body) => withSink(caller, id, 'read events', (sink) => followEvents(deps, sink, body)),
  }
}

function editorError({ role }: ServiceAccountCaller, action: string): ServiceError | null {
  return role === 'all_editor' ? null : { kind: 'forbidden', message: `the role \`${role}\` may not ${action}` }
}
