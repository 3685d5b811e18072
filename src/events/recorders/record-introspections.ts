// Records the events of verified user tokens. No part of a token is in an event.

import type { TokenIntrospection } from '../../identity/user-tokens.ts'
import { tracedBy } from '../../kernel/request/request-trace.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ActivityLog } from '../activity-log.ts'
import { commonMembers, subjectOf } from '../event-text.ts'
import type { EventSinks } from '../sinks.ts'

const TYPE = 'svc.audit.credentials.token.introspected'

/** Collaborators of the recording. */
interface IntrospectionEventLogDeps {
  readonly sinks: EventSinks
  readonly activity: ActivityLog
  readonly clock: Clock
}

/** Returns a function that records the event of a verification. */
export function introspectionEventLog({ sinks, activity, clock }: IntrospectionEventLogDeps) {
  return ({ projectId, origin, tokenIntrospectId, user, refusal }: TokenIntrospection): void => {
    const routes = sinks.routesOf(projectId)
    const active = refusal === null
    const providers = routes?.ofType(TYPE)?.match((key) => (key === 'active' ? active : undefined)) ?? 0
    if (routes === null || providers === 0) return
    const members = {
      tokenIntrospectId,
      active,
      ...(refusal !== null && { reason: refusal }),
      ...(user !== null && { subject: { type: user.nodeType, externalId: user.subjectId } }),
    }
    const timeMs = clock.now()
    const common = commonMembers(origin, null)
    const traced = tracedBy(origin)
    activity.record({
      routes,
      type: TYPE,
      providers,
      encode: () => ({
        timeMs,
        ...traced,
        subject: subjectOf('token-introspects', tokenIntrospectId),
        members: `${common.slice(1)}${common === '' ? '' : ','}${JSON.stringify(members).slice(1, -1)}`,
      }),
    })
  }
}
