// Builds subject and payload of events of decisions and searches.
import { timestamp } from '../kernel/clock.ts'
import type {
  DecidedAnswer,
  DecidedElement,
  DecidedQuestion,
  DecisionDetail,
  EventActor,
  ReadyEvent,
} from './event-record.ts'
import { commonMembers, subjectOf } from './event-text.ts'

/** The event of a decision or a search. `shared`: the shared values of its record. */
export function decidedPayload(
  [, timeMs, requestId, actorNumber, duration, policies, answer, question, stored, address = '']: DecidedElement,
  shared: readonly unknown[],
): ReadyEvent {
  const actor = shared[actorNumber] as EventActor
  const detail = stored ?? {}
  const identity = actor.type === 'agent' ? actor.user : undefined
  const members = {
    ...(identity !== undefined && { identity }),
    policiesFound: shared[policies],
    evaluationTimeMs: duration,
    ...answerMembers(answer, question, timeMs),
    ...(detail.reason !== undefined && { denyReason: { message: detail.reason } }),
    ...(detail.item !== undefined && { item: detail.item }),
  }
  const request = question === null ? '' : `"request":${requestText(question, detail)},`
  const [type, id] = question ?? []
  return {
    subject: subjectOf('subjects', ...(type === undefined ? [] : [type]), ...(id == null ? [] : [id])),
    timeMs,
    members: `${commonMembers({ requestId, address }, actor).slice(1)},${request}${JSON.stringify(members).slice(1, -1)}`,
    ...(detail.valuesDigest !== undefined && { valuesDigest: detail.valuesDigest }),
  }
}

function requestText(
  [subjectType, subjectId, action, resourceType, resourceId]: DecidedQuestion,
  { inputParams, policyTags }: DecisionDetail,
): string {
  const subject = entityMembers(subjectType, subjectId)
  const resources = [{ ...entityMembers(resourceType, resourceId), actions: action === null ? [] : [action] }]
  const text = JSON.stringify({ subject, resources, ...(policyTags !== undefined && { policyTags }) })
  // The parameters are JSON already, with numbers that JSON.parse would change.
  return inputParams === undefined ? text : `${text.slice(0, -1)},"inputParams":${inputParams}}`
}

function entityMembers(type: string, externalId: string | null): object {
  return externalId === null ? { type } : { type, externalId }
}

function answerMembers(answer: DecidedAnswer, question: DecidedQuestion | null, timeMs: number): object {
  if (typeof answer === 'object') return { error: answer }
  const decisionTime = timestamp(timeMs)
  if (typeof answer === 'number' || question === null) return { response: { decisionTime, results: answer } }
  const [, , action, resourceType, resourceId] = question
  const byAction = ownMember(action ?? '', { allow: answer })
  return { response: { decisionTime, decisions: ownMember(resourceType, ownMember(resourceId ?? '', byAction)) } }
}

/** An object with one member, whose name may be `__proto__`. */
function ownMember(name: string, value: unknown): object {
  return Object.fromEntries([[name, value]])
}
