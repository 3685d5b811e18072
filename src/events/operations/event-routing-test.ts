// Tests the routes of an event sink with one event, and sends a test event to the providers that would receive it.
import { withoutNulls } from '../../config/fields.ts'
import { type ConfigReader, type DocumentFields, projectsKind, type StoredDocument } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import { assert } from '../../kernel/assert.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { ServiceAccountCaller } from '../../kernel/request/caller.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { drawOrigin } from '../../store/outbox/outbox-format.ts'
import { connectProvider, type OpenProviderSecret, openProvider } from '../connect-provider.ts'
import { testEnvelope } from '../envelope.ts'
import { actorOf } from '../event-record.ts'
import { eventSinks, eventSinksKind } from '../event-sink.ts'
import type { EventTypeName } from '../event-types.ts'
import type { DeliveryOutcome, OutgoingEvent, ProviderDeps } from '../providers/provider.ts'
import {
  draftTestRequest,
  type RoutingTestAnswer,
  type RoutingTestRequest,
  routingTestRequest,
  type TestDelivery,
} from '../sink-operations.ts'
import { contextKeysText, type EventContext, hasContextKey, SinkRoutes } from '../sink-routes.ts'

/** How long a provider may take to accept a test event, in milliseconds. */
const SEND_TIME_MS = 10_000

/** Collaborators of the tests. */
export interface RoutingTestDeps {
  readonly documents: ConfigReader
  readonly clock: Clock
  readonly openSecret: OpenProviderSecret
  readonly providers: ProviderDeps
  /** Returns the error if the caller may not send events. */
  sendingError(caller: ServiceAccountCaller): ServiceError | null
}

/** Tests the routes of a stored sink. Errors: `invalid`, `forbidden`. */
export async function testSink(
  deps: RoutingTestDeps,
  caller: ServiceAccountCaller,
  sink: StoredDocument,
  body: unknown,
  origin: RequestOrigin,
): Promise<Result<RoutingTestAnswer, ServiceError>> {
  const read = validate(routingTestRequest, body)
  if (!read.ok) return err({ kind: 'invalid', issues: read.error })
  return test(deps, caller, { sink, isStored: true, openSecret: deps.openSecret }, read.value, origin)
}

/** Tests the routes of a sink that is not stored. Errors: `invalid`, `forbidden`. */
export async function testDraft(
  deps: RoutingTestDeps,
  caller: ServiceAccountCaller,
  body: unknown,
  origin: RequestOrigin,
): Promise<Result<RoutingTestAnswer, ServiceError>> {
  const read = validate(draftTestRequest, body)
  if (!read.ok) return err({ kind: 'invalid', issues: read.error })
  const { sink: draft, ...request } = read.value
  const sink = draftDocument(deps.documents, caller, draft)
  if (!sink.ok) return err({ kind: 'invalid', issues: sink.error.map((issue) => `sink.${issue}`) })
  return test(deps, caller, { sink: sink.value, isStored: false, openSecret: plainSecret }, request, origin)
}

interface TestedSink {
  readonly sink: StoredDocument
  readonly isStored: boolean
  readonly openSecret: OpenProviderSecret
}

async function test(
  deps: RoutingTestDeps,
  caller: ServiceAccountCaller,
  { sink, isStored, openSecret }: TestedSink,
  { event, send = false }: RoutingTestRequest,
  origin: RequestOrigin,
): Promise<Result<RoutingTestAnswer, ServiceError>> {
  const refused = send ? deps.sendingError(caller) : null
  if (refused !== null) return err(refused)
  const type = event.type as EventTypeName
  const values = new Map(Object.entries(event.context ?? {}))
  const issues = [...values.keys()]
    .filter((key) => !hasContextKey(type, key))
    .map((key) => `event.context.${key}: \`${type}\` ${contextKeysText([type])}`)
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const context: EventContext = (key) => values.get(key)
  const routes = new SinkRoutes(sink.project_id, sink).explain(type, context)
  const providers = routes.filter(({ outcome }) => outcome === 'sent').map(({ provider_id }) => provider_id)
  const answer = { providers, routes: [...routes] }
  if (!send) return ok(answer)
  const sent = testEnvelope({
    projectId: sink.project_id,
    sinkId: isStored ? sink.id : '',
    origin: drawOrigin(),
    timeMs: deps.clock.now(),
    caused: origin,
    actor: actorOf(caller),
    tested: { eventType: type, context: event.context ?? {} },
  })
  const deliveries = providers.map((id) => deliver(deps, sink, id, openSecret, sent))
  return ok({ ...answer, deliveries: await Promise.all(deliveries) })
}

async function deliver(
  { providers }: RoutingTestDeps,
  sink: StoredDocument,
  id: string,
  openSecret: OpenProviderSecret,
  event: OutgoingEvent,
): Promise<TestDelivery> {
  const start = performance.now()
  const connection = connectProvider(openProvider(sink, id, openSecret), providers)
  try {
    const outcome = await connection.send([event], SEND_TIME_MS)
    const duration_ms = Math.round(performance.now() - start)
    return { provider_id: id, ...shownOutcome(outcome), duration_ms }
  } finally {
    await connection.close()
  }
}

function shownOutcome(outcome: DeliveryOutcome): Pick<TestDelivery, 'outcome' | 'error'> {
  if (outcome.kind === 'delivered') return { outcome: 'delivered', error: '' }
  return { outcome: outcome.kind === 'refused' ? 'refused' : 'failed', error: outcome.error }
}

/** The document that a create request would store, with plain secrets; or the issues. */
function draftDocument(
  documents: ConfigReader,
  caller: ServiceAccountCaller,
  body: DocumentFields,
): Result<StoredDocument, readonly string[]> {
  const { project_id, name = '', ...given } = withoutNulls(body)
  const project = documents.get(projectsKind, project_id as string)
  if (project === null || project.organization_id !== caller.organizationId)
    return err([`project_id: no project \`${project_id}\``])
  const fields = eventSinks.normaliseBody?.(given) ?? given
  const checked = eventSinks.check(fields, { reader: documents, current: null, parent: project, body: given })
  if (!checked.ok) {
    assert(checked.error.kind === 'invalid', 'a sink has invalid members or is valid')
    return err(checked.error.issues)
  }
  const { organization_id, create_time, created_by, update_time, updated_by } = project
  return ok({
    kind: eventSinksKind,
    id: '',
    revision: 1,
    organization_id,
    project_id: project.id,
    parent_id: project.id,
    name: name as string,
    create_time,
    created_by,
    update_time,
    updated_by,
    fields: checked.value.fields,
  })
}

const plainSecret: OpenProviderSecret = ({ fields }, path) => {
  const secret = path.reduce<unknown>((value, step) => (value as DocumentFields | undefined)?.[step], fields)
  return typeof secret === 'string' ? secret : null
}
