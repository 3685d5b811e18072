// Builds subject and payload of events of decisions and searches. The payloads are written as text, member by member: an audit log
// may get thousands of them in a second.
import { timestamp } from '../kernel/time/clock.ts'
import type {
  DecidedAnswer,
  DecidedElement,
  DecidedQuestion,
  DecisionDetail,
  EventActor,
  ReadyEvent,
} from './event-record.ts'
import { clientMembers, subjectOf } from './event-text.ts'
import { jsonString } from './json-string.ts'

const NO_DETAIL: DecisionDetail = {}

/** Builds the payloads of one record, whose events share actors and policies. */
export class DecidedPayloads {
  private readonly shared: readonly unknown[]
  /** JSON of shared values, by number. */
  private readonly texts: (string | undefined)[] = []
  /** The members about an actor, by its number. */
  private readonly actors: (readonly [actor: string, identity: string])[] = []
  private lastMs = Number.NaN
  private lastTime = ''

  /** `shared`: the shared values of the record. */
  constructor(shared: readonly unknown[]) {
    this.shared = shared
  }

  /** The event of a decision or a search. */
  of([
    ,
    timeMs,
    requestId,
    actorNumber,
    duration,
    policies,
    answer,
    question,
    stored,
    address = '',
    trace,
  ]: DecidedElement): ReadyEvent {
    const detail = stored ?? NO_DETAIL
    const [actor, identity] = this.actor(actorNumber)
    const request = question === null ? '' : `"request":${requestText(question, detail)},`
    const policiesFound = this.text(policies)
    const found = policiesFound === undefined ? '' : `"policiesFound":${policiesFound},`
    const answered =
      typeof answer === 'object' ? `"error":${JSON.stringify(answer)}` : this.response(answer, question, timeMs)
    const forbidden = detail.forbiddenBy === undefined ? '' : `,"policy":${JSON.stringify(detail.forbiddenBy)}`
    const reason =
      detail.reason === undefined ? '' : `,"denyReason":{"message":${jsonString(detail.reason)}${forbidden}}`
    const item = detail.item === undefined ? '' : `,"item":${detail.item}`
    const model = detail.modelRevision === undefined ? '' : `"modelRevision":${detail.modelRevision},`
    const id = detail.id === undefined ? '' : `,"decisionId":${jsonString(detail.id)}`
    const client = clientMembers({ requestId, address })
    return {
      subject: subjectOfQuestion(question),
      timeMs,
      members: `${client}${actor},${request}${identity}${found}${model}"evaluationTimeMs":${duration},${answered}${reason}${item}${id}`,
      ...(detail.valuesDigest !== undefined && { valuesDigest: detail.valuesDigest }),
      ...(trace !== undefined && { trace }),
    }
  }

  private actor(number: number): readonly [actor: string, identity: string] {
    const known = this.actors[number]
    if (known !== undefined) return known
    const actor = this.shared[number] as EventActor
    const identity = actor.type === 'agent' ? actor.user : undefined
    const members = [
      `"actor":${JSON.stringify(actor)}`,
      identity === undefined ? '' : `"identity":${JSON.stringify(identity)},`,
    ] as const
    this.actors[number] = members
    return members
  }

  private text(number: number): string | undefined {
    if (!(number in this.texts)) this.texts[number] = JSON.stringify(this.shared[number])
    return this.texts[number]
  }

  private response(answer: Exclude<DecidedAnswer, object>, question: DecidedQuestion | null, timeMs: number): string {
    if (timeMs !== this.lastMs) {
      this.lastMs = timeMs
      this.lastTime = timestamp(timeMs)
    }
    const start = `"response":{"decisionTime":"${this.lastTime}"`
    if (typeof answer === 'number' || question === null) return `${start},"results":${answer}}`
    const [, , action, resourceType, resourceId] = question
    const byAction = `{${jsonString(action ?? '')}:{"allow":${answer}}}`
    return `${start},"decisions":{${jsonString(resourceType)}:{${jsonString(resourceId ?? '')}:${byAction}}}}`
  }
}

function subjectOfQuestion(question: DecidedQuestion | null): string {
  if (question === null) return 'subjects'
  const [type, id] = question
  return id == null ? subjectOf('subjects', type) : subjectOf('subjects', type, id)
}

function requestText(
  [subjectType, subjectId, action, resourceType, resourceId]: DecidedQuestion,
  { inputParams, policyTags, policyStatus }: DecisionDetail,
): string {
  const actions = action === null ? '' : jsonString(action)
  const resources = `[{${entityMembers(resourceType, resourceId)},"actions":[${actions}]}]`
  const tags = policyTags === undefined ? '' : `,"policyTags":${JSON.stringify(policyTags)}`
  const status = policyStatus === undefined ? '' : `,"policyStatus":"${policyStatus}"`
  // The parameters are JSON already, with numbers that JSON.parse would change.
  const params = inputParams === undefined ? '' : `,"inputParams":${inputParams}`
  return `{"subject":{${entityMembers(subjectType, subjectId)}},"resources":${resources}${tags}${status}${params}}`
}

function entityMembers(type: string, externalId: string | null): string {
  const member = `"type":${jsonString(type)}`
  return externalId === null ? member : `${member},"externalId":${jsonString(externalId)}`
}
