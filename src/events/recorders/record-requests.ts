// Records the events of requests that have no type of their own, of refused requests, and of failed authentications.
import { isDeepStrictEqual } from 'node:util'
import { type ConfigReader, projectsKind } from '../../config/kind.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type {
  AnsweredRequest,
  RefusedCredentials,
  RequestAudit,
  RequestCaller,
} from '../../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../../kernel/request/request-origin.ts'
import { type RecordedTrace, tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ActivityLog } from '../activity-log.ts'
import { actorOf, type EventActor } from '../event-record.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventTypeName } from '../event-types.ts'
import { RepeatedEvents } from '../repeated-events.ts'
import { AUDIT_BIT, noContext, type SinkRoutes } from '../sink-routes.ts'
import type { EventSinks } from '../sinks.ts'

/** Collaborators of the recording. */
interface RequestEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly documents: ConfigReader
  readonly clock: Clock
  /** The organization of what no known credential names. */
  readonly organizationId: string
}

const ANSWERED = 'svc.audit.request.answered'
const REFUSED = 'svc.audit.request.refused'
const AUTHENTICATION_FAILED = 'svc.audit.credentials.authentication.failed'

/** Clients choose paths, methods and resources of MCP: a longer text is cut. */
const TEXT_LENGTH_MAX = 1024
const OPERATION_LENGTH_MAX = 128

/** An event before its payload is written. */
interface RequestDraft {
  readonly routes: SinkRoutes
  readonly providers: number
  readonly type: EventTypeName
  readonly subject: string
  readonly actor: EventActor | null
  readonly requestId: string
  readonly address: string
  readonly trace?: RecordedTrace
  readonly members: Readonly<Record<string, unknown>>
}

/** Records requests and failed authentications. */
export class RequestEventLog implements RequestAudit {
  private readonly deps: RequestEventLogDeps
  private readonly singleMax: number | undefined
  private readonly failures: RepeatedEvents<RequestDraft>
  /** By project or organization, so that the callers of one cannot hide refusals of others. */
  private readonly refusals = new Map<string, RepeatedEvents<RequestDraft>>()

  /** `singleMax`: failures of a window that are recorded one by one. */
  constructor(deps: RequestEventLogDeps, singleMax?: number) {
    this.deps = deps
    this.singleMax = singleMax
    this.failures = this.repeated()
  }

  answered(origin: RequestOrigin, request: AnsweredRequest): void {
    const { caller, method, path, target, status, error, isDecision, isUnsent } = request
    const routes = this.routesFor(caller, path)
    const type = status >= 400 || error !== null ? REFUSED : ANSWERED
    const operation = request.operation.slice(0, OPERATION_LENGTH_MAX)
    const matched = routes?.ofType(type)?.match((key) => (key === 'operation' ? operation : undefined)) ?? 0
    if (routes === null) return
    const sent = isUnsent ? 0 : matched % AUDIT_BIT
    const isAudited = matched >= AUDIT_BIT && (!isDecision || auditsDenials(routes))
    const providers = sent + (isAudited ? AUDIT_BIT : 0)
    if (providers === 0) return
    const members = {
      operation,
      method,
      path: path.slice(0, TEXT_LENGTH_MAX),
      ...(target !== null && { target: target.slice(0, TEXT_LENGTH_MAX) }),
      status,
      ...(error !== null && { error }),
    }
    // The address is known only until the answer.
    const { requestId, address } = origin
    const draft: RequestDraft = {
      requestId,
      address,
      ...tracedBy(origin),
      routes,
      providers,
      type,
      subject: subjectOf('requests', operation),
      actor: actorOf(caller),
      members,
    }
    if (type === ANSWERED) this.record(draft, null)
    else {
      const source = [operation, error, nameOf(caller), address].join(' ')
      this.refusalsOf(routes.projectId).add(String(status), source, draft)
    }
  }

  authenticationFailed(origin: RequestOrigin, refused: RefusedCredentials, operation: string): void {
    const { sinks, organizationId } = this.deps
    const { kind, reason, keyId, projectId, caller } = refused
    const type = AUTHENTICATION_FAILED
    const routes =
      projectId === undefined
        ? sinks.routesOfOrganization(refused.organizationId ?? organizationId)
        : sinks.routesOf(projectId)
    const providers = routes?.ofType(type)?.match((key) => (key === 'kind' ? kind : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const members = { kind, reason, ...(keyId !== undefined && { keyId }), operation }
    const subject = keyId === undefined ? 'credentials' : subjectOf('credentials', keyId)
    const actor = caller === undefined ? null : actorOf(caller)
    const { requestId, address } = origin
    const recorded = { requestId, address, ...tracedBy(origin) }
    const draft: RequestDraft = { routes, providers, type, subject, actor, ...recorded, members }
    this.failures.add(`${routes.projectId} ${kind}`, address, draft)
  }

  /** Records what is counted. Call it before the activity log is closed. */
  close(): void {
    this.failures.flush()
    for (const refusals of this.refusals.values()) refusals.flush()
  }

  private refusalsOf(owner: string): RepeatedEvents<RequestDraft> {
    let refusals = this.refusals.get(owner)
    if (refusals === undefined) {
      refusals = this.repeated()
      this.refusals.set(owner, refusals)
    }
    return refusals
  }

  private repeated(): RepeatedEvents<RequestDraft> {
    return new RepeatedEvents({
      record: (draft, count) => this.record(draft, count),
      common: commonDraft,
      ...(this.singleMax !== undefined && { singleMax: this.singleMax }),
    })
  }

  private record(
    { routes, providers, type, subject, actor, requestId, address, trace, members }: RequestDraft,
    count: number | null,
  ): void {
    const { activity, clock } = this.deps
    const timeMs = clock.now()
    const common = commonMembers({ requestId, address }, actor)
    const own = writeJson(count === null ? members : { ...members, count }).slice(1, -1)
    const text = `${common.slice(1)}${common === '' ? '' : ','}${own}`
    const ready = { subject, timeMs, members: text, ...(trace !== undefined && { trace }) }
    activity.record({ routes, type, providers, requestId, encode: () => ready })
  }

  /** A service account is in no project: the document in the path decides. */
  private routesFor(caller: RequestCaller, path: string): SinkRoutes | null {
    const { sinks } = this.deps
    if (caller.kind !== 'service-account') return sinks.routesOf(caller.projectId)
    const { organizationId } = caller
    const [, root, , kind = '', id = ''] = path.split('/', 5)
    const document = root === 'configs' && id !== '' ? this.deps.documents.get(kind, id) : null
    const projectId = document === null ? '' : kind === projectsKind ? document.id : document.project_id
    const isKnown = projectId !== '' && document?.organization_id === organizationId
    return isKnown ? sinks.routesOf(projectId) : sinks.routesOfOrganization(organizationId)
  }
}

/** The credential of the caller, or its user. */
function nameOf(caller: RequestCaller): string {
  return caller.kind === 'user' ? caller.user.subjectId : (caller.keyId ?? '')
}

/** An event that stands for both: it has only what both have. Both are of one type. */
function commonDraft(first: RequestDraft, second: RequestDraft): RequestDraft {
  const { subject, actor, requestId, address, members, trace } = second
  const { trace: _, ...others } = first
  const shared = Object.entries(first.members).filter(([name, value]) => members[name] === value)
  return {
    ...others,
    ...(trace !== undefined && isDeepStrictEqual(trace, first.trace) && { trace }),
    subject: subject === first.subject ? subject : subject.replace(/\/.*/, ''),
    actor: isDeepStrictEqual(actor, first.actor) ? actor : null,
    requestId: requestId === first.requestId ? requestId : '',
    address: address === first.address ? address : '',
    members: Object.fromEntries(shared),
  }
}

/** A refused decision or search is in the audit log if a denial would be. */
function auditsDenials(routes: SinkRoutes): boolean {
  return (routes.ofType('svc.audit.authorization.evaluation')?.matchDecision(noContext, true) ?? 0) >= AUDIT_BIT
}
