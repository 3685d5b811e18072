// The command `replay`: asks for a decision of the past again, and shows what is different now.

import type { EvaluationInput, ExplanationOutput } from '../../authorizer/authorizer.ts'
import { describeExplanation } from '../../authorizer/nearest-miss.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { findLine } from '../../ops/log-follower.ts'
import type { LoggedDecision } from '../../pdp/decision-stream-schema.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine } from '../output/print.ts'
import { printable } from '../output/show-values.ts'
import { withErrorCode } from '../target/asking.ts'
import { type ServiceAccess, serviceAccess } from '../target/service-access.ts'
import { type ServiceClient, ServiceRefusalError } from '../target/service-client.ts'
import { openTarget, type TargetFlags } from '../target/target.ts'
import { placeOf } from '../target/target-place.ts'
import { decisionLine, entityText } from './tail.ts'

/** The text in the logs that stands for a hidden value. */
const MASKED = '***'
/** An audit record is searched within this time around the decision, in milliseconds. */
const AUDIT_SPAN_MS = 60_000
const AUDIT_PAGES_MAX = 100
const CROCKFORD = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The options of `replay`. */
export interface ReplayFlags extends TargetFlags {
  /** A file of the decision log. */
  readonly log?: string
  /** `name=value`; a name may occur once. */
  readonly param: readonly string[]
  /** A user token. */
  readonly token?: string
  readonly json: boolean
}

/** A decision of the past. From an audit record it has no revisions. */
type PastDecision = Pick<
  LoggedDecision,
  | 'id'
  | 'time'
  | 'kind'
  | 'subject'
  | 'action'
  | 'resource'
  | 'parameters'
  | 'policy_tags'
  | 'decision'
  | 'granted_by'
  | 'model'
  | 'forbidden_by'
  | 'user'
  | 'duration_ms'
> & { readonly policies: readonly { readonly id: string; readonly name: string; readonly revision?: number }[] }

/** Runs `replay`. The exit code is 0 if the decision is the same, and 1 if it changed. Rejects with CliError (2) for errors. */
export async function replayDecision(id: string, flags: ReplayFlags): Promise<void> {
  const isChanged = await withErrorCode(async () => {
    const past =
      flags.log === undefined
        ? await findInService(id, serviceAccess(flags, 'replay'))
        : await findInFile(id, flags.log)
    if (past.kind !== 'evaluation') throw new UsageError([`${id} is a ${past.kind}: replay repeats only evaluations`])
    if (past.decision === undefined)
      throw new UsageError([`${id} was answered with an error: there is no decision to compare`])
    const request = requestOf(past, flags)
    const now = await explain(request, flags)
    if (flags.json) printJson(differenceOf(past, now))
    else for (const line of differenceLines(past, now)) printLine(line)
    return now.decision !== past.decision
  })
  if (isChanged) process.exitCode = exitCodes.failure.code
}

async function findInFile(id: string, path: string): Promise<PastDecision> {
  const line = await findLine(path, JSON.stringify(id), (text) => parsed(text)?.id === id)
  if (line === null) throw new UsageError([`${path} has no line with the id ${id}`])
  return withPolicies(JSON.parse(line) as LoggedDecision)
}

function parsed(text: string): Partial<LoggedDecision> | null {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? (value as Partial<LoggedDecision>) : null
  } catch {
    return null
  }
}

function withPolicies(line: LoggedDecision): PastDecision {
  return { ...line, policies: line.policies ?? [] }
}

/** Looks in the decision log of the service, and then in its audit log. */
async function findInService(id: string, access: ServiceAccess): Promise<PastDecision> {
  return access.ask(async (client, projectId) => {
    let inLog: string
    try {
      const headers = { 'x-project-id': projectId }
      const path = `/access/v1/decisions/${encodeURIComponent(id)}`
      return withPolicies((await client.request('GET', path, undefined, 'plain', headers)) as LoggedDecision)
    } catch (error) {
      if (!(error instanceof ServiceRefusalError) || (error.status !== 404 && error.status !== 409)) throw error
      inLog = error.lines.join('; ')
    }
    const record = await findAuditRecord(client, projectId, id)
    if (record === null)
      throw new UsageError([
        `${inLog}; the audit log has no record of it either. Pass --log with an older file of the log`,
      ])
    return fromAudit(id, record)
  })
}

interface AuditedDecision {
  readonly time: string
  readonly data?: {
    readonly decisionId?: string
    readonly request?: {
      readonly subject: { readonly type: string; readonly externalId?: string }
      readonly resources: readonly {
        readonly type: string
        readonly externalId?: string
        readonly actions: readonly string[]
      }[]
      readonly policyTags?: string[]
      /** An audit record has no values. `a.b`: the member of a parameter. */
      readonly inputParamNames?: readonly string[]
    }
    readonly identity?: { readonly type: string; readonly externalId: string }
    readonly policiesFound?: readonly { readonly id: string; readonly name: string }[]
    readonly modelRevision?: number
    readonly evaluationTimeMs?: number
    readonly response?: {
      readonly decisions?: Record<string, Record<string, Record<string, { readonly allow: boolean }>>>
    }
  }
}

async function findAuditRecord(client: ServiceClient, projectId: string, id: string): Promise<AuditedDecision | null> {
  const timeMs = timeOf(id)
  if (timeMs === null) return null
  const query = new URLSearchParams({
    project_id: projectId,
    type: 'svc.audit.authorization.evaluation*',
    from: new Date(timeMs - AUDIT_SPAN_MS).toISOString(),
    to: new Date(timeMs + AUDIT_SPAN_MS).toISOString(),
    order: 'oldest',
  })
  for (let page = 0; page < AUDIT_PAGES_MAX; page++) {
    const found = (await client.get(`/audit/v1/records?${query}`)) as {
      readonly items: readonly { readonly entry: AuditedDecision }[]
      readonly next_cursor: string | null
    }
    const entry = found.items.find((item) => item.entry.data?.decisionId === id)?.entry
    if (entry !== undefined) return entry
    if (found.next_cursor === null) return null
    query.set('cursor', found.next_cursor)
  }
  return null
}

/** The time in an id (kernel/ids.ts): ten characters of Crockford base32. Null: it is no id of a decision. */
function timeOf(id: string): number | null {
  const text = /^gid:([0-9A-Z]{10})/.exec(id)?.[1]
  if (text === undefined) return null
  let timeMs = 0
  for (const letter of text) timeMs = timeMs * 32 + CROCKFORD.indexOf(letter)
  return timeMs
}

function fromAudit(id: string, { time, data = {} }: AuditedDecision): PastDecision {
  const { request, identity, response, policiesFound = [], modelRevision, evaluationTimeMs = 0 } = data
  const [resource] = request?.resources ?? []
  const action = resource?.actions[0]
  const allowed = response?.decisions?.[resource?.type ?? '']?.[resource?.externalId ?? '']?.[action ?? '']?.allow
  return {
    id,
    time,
    kind: 'evaluation',
    duration_ms: evaluationTimeMs,
    policies: policiesFound,
    ...(modelRevision !== undefined && { model: { id: '', name: '', revision: modelRevision } }),
    ...(request !== undefined && { subject: entityOf(request.subject) }),
    ...(resource !== undefined && { resource: entityOf(resource) }),
    ...(action !== undefined && { action }),
    ...(allowed !== undefined && { decision: allowed }),
    ...(identity !== undefined && { user: entityOf(identity) }),
    ...(request?.inputParamNames !== undefined && { parameters: hiddenParameters(request.inputParamNames) }),
    ...(request?.policyTags !== undefined && { policy_tags: request.policyTags }),
  }
}

function hiddenParameters(names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name.replace(/[.[].*$/, ''), MASKED]))
}

function entityOf({
  type,
  externalId,
}: {
  readonly type: string
  readonly externalId?: string
}): NonNullable<LoggedDecision['subject']> {
  return externalId === undefined ? { type } : { type, id: externalId }
}

/** The request as it was, with the values of `--param` instead of hidden ones. Throws UsageError if a value is not known. */
function requestOf(past: PastDecision, flags: ReplayFlags): EvaluationInput {
  const { subject, action, resource, user } = past
  if (subject?.id === undefined || resource?.id === undefined || action === undefined) {
    throw new UsageError([`the record of ${past.id} has no complete request`])
  }
  if (user !== undefined && flags.token === undefined) {
    throw new UsageError([
      `${past.id} was decided for the user ${entityText(user)}: pass a token of the user with --token`,
    ])
  }
  const given = new Map(flags.param.map(parameterOf))
  const parameters: Record<string, unknown> = { ...past.parameters, ...Object.fromEntries(given) }
  const hidden = Object.keys(parameters).filter((name) => isHidden(parameters[name]))
  if (hidden.length > 0) {
    const flagsNeeded = hidden.map((name) => `--param ${name}=…`).join(' ')
    throw new UsageError([
      `the log does not have the values of ${hidden.join(', ')} (setting parameter_mask): pass ${flagsNeeded}`,
    ])
  }
  const { subject_properties, resource_properties, action_properties, ...inputs } = parameters
  const context = {
    ...(Object.keys(inputs).length > 0 && { input_params: inputs }),
    ...(past.policy_tags !== undefined && { policy_tags: past.policy_tags }),
  }
  return {
    subject: { type: subject.type, id: subject.id, ...propertiesOf(subject_properties) },
    action: { name: action, ...propertiesOf(action_properties) },
    resource: { type: resource.type, id: resource.id, ...propertiesOf(resource_properties) },
    ...(Object.keys(context).length > 0 && { context }),
  }
}

function propertiesOf(value: unknown): { properties?: Record<string, unknown> } {
  return isJsonObject(value) ? { properties: { ...value } } : {}
}

function isHidden(value: unknown): boolean {
  if (value === MASKED) return true
  return typeof value === 'object' && value !== null && Object.values(value).some(isHidden)
}

/** `name=value`, where the value is JSON, or else text. */
function parameterOf(text: string): readonly [string, unknown] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError([`--param: expected name=value, found \`${text}\``])
  const value = text.slice(at + 1)
  try {
    return [text.slice(0, at), JSON.parse(value)]
  } catch {
    return [text.slice(0, at), value]
  }
}

async function explain(request: EvaluationInput, flags: ReplayFlags): Promise<ExplanationOutput> {
  if (placeOf(flags).kind !== 'service') {
    await using target = await openTarget(flags)
    return await target.explain(request)
  }
  return serviceAccess(flags, 'replay').ask(async (client, projectId) => {
    // The service account acts in the project; a user token needs an agent key.
    if (flags.token === undefined) {
      const headers = { 'x-project-id': projectId }
      return (await client.request('POST', '/access/v1/explain', request, 'plain', headers)) as ExplanationOutput
    }
    await using target = await openTarget(flags)
    return await target.explain(request, { userToken: flags.token })
  })
}

interface RevisionDifference {
  readonly id: string
  readonly name: string
  /** Absent: the policy did not exist or was not active, or the record does not say. */
  readonly revision_then?: number
  /** Absent: the policy does not exist or is not active. */
  readonly revision_now?: number
}

function differenceOf(past: PastDecision, now: ExplanationOutput) {
  const { plan: _, ...shown } = { plan: null, ...now }
  return {
    id: past.id,
    time: past.time,
    changed: past.decision !== now.decision,
    decision_then: past.decision,
    decision_now: now.decision,
    ...(past.granted_by !== undefined && { granted_by_then: past.granted_by }),
    ...(past.forbidden_by !== undefined && { forbidden_by_then: past.forbidden_by }),
    granted_by_now: now.policies.filter(({ outcome }) => outcome === 'granted').map(({ id }) => id),
    ...(past.model !== undefined && { model_then: past.model.revision }),
    ...(now.model !== undefined && { model_now: now.model.revision }),
    ...(now.policies.some(({ outcome }) => outcome === 'forbidden') && {
      forbidden_by_now: now.policies.filter(({ outcome }) => outcome === 'forbidden').map(({ id }) => id),
    }),
    policies: policyDifferences(past, now),
    explanation_now: shown,
  }
}

function policyDifferences(past: PastDecision, now: ExplanationOutput): readonly RevisionDifference[] {
  const found = new Map<string, RevisionDifference>()
  for (const { id, name, revision } of past.policies) {
    found.set(id, { id, name, ...(revision !== undefined && { revision_then: revision }) })
  }
  for (const { id, name, revision } of now.policies)
    found.set(id, { ...found.get(id), id, name, revision_now: revision })
  return [...found.values()]
}

function differenceLines(past: PastDecision, now: ExplanationOutput): readonly string[] {
  const isChanged = past.decision !== now.decision
  const verdict = isChanged ? colours.yellow('changed') : colours.green('the same')
  return [
    `then  ${decisionLine({ request_id: '', project_id: '', ...past, policies: [...past.policies].map((policy) => ({ revision: 0, ...policy })) })}`,
    `now   ${now.decision ? colours.green('granted') : colours.red('denied ')}`,
    ...describeExplanation(now).map((line) => `      ${printable(line)}`),
    ...policyDifferences(past, now).flatMap((policy) => differenceLine(past, policy)),
    ...modelLine(past.model?.revision, now.model?.revision),
    verdict,
  ]
}

/** A record of an earlier version of the program, or of the audit log alone, may not say which model decided. */
function modelLine(then: number | undefined, now: number | undefined): readonly string[] {
  if (then === undefined || then === now) return []
  return [now === undefined ? 'model: removed since then' : `model: revision ${then} then, ${now} now`]
}

function differenceLine(
  past: PastDecision,
  { id, name, revision_then: then, revision_now: now }: RevisionDifference,
): readonly string[] {
  const wasThere = past.policies.some((policy) => policy.id === id)
  if (now === undefined) return [`policy ${name}: is no longer active`]
  if (!wasThere) return [`policy ${name}: was not active then`]
  return then === undefined || then === now ? [] : [`policy ${name}: revision ${then} then, ${now} now`]
}
