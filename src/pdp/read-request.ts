// Reads AuthZEN requests without a schema library, because validating with one would cost more than the decision.
// Accepts and reports exactly what schema.ts would; a test compares both on generated requests.
import { foundValue } from '../config/validate.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { EvaluationRequest } from './decision-deps.ts'
import { readPageLimit } from './page-limit.ts'
import {
  type ActionSearchRequest,
  policyStatuses,
  type ResourceSearchRequest,
  type SubjectSearchRequest,
} from './schema.ts'

type RequestMembers = Record<string, unknown>

/**
 * The required members of a request. The `id` of a search target is ignored (AuthZEN 8), and so is the action of an
 * action search.
 */
interface RequestShape {
  readonly subjectId: boolean
  readonly action: boolean
  readonly resourceId: boolean
  readonly paged: boolean
}

const oneOfStatuses = policyStatuses.map((status) => `\`${status}\``).join(' or ')

const evaluation: RequestShape = { subjectId: true, action: true, resourceId: true, paged: false }
const resourceSearch: RequestShape = { subjectId: true, action: true, resourceId: false, paged: true }
const subjectSearch: RequestShape = { subjectId: false, action: true, resourceId: true, paged: true }
const actionSearch: RequestShape = { subjectId: true, action: false, resourceId: true, paged: true }

/** Reads the body of an evaluation. Error: `malformed`, with every issue. */
export function readEvaluation(body: unknown): Result<EvaluationRequest, ServiceError> {
  return read<EvaluationRequest>(body, evaluation)
}

/** Reads the body of a resource search. Error: `malformed`. */
export function readResourceSearch(body: unknown): Result<ResourceSearchRequest, ServiceError> {
  return read<ResourceSearchRequest>(body, resourceSearch)
}

/** Reads the body of a subject search. Error: `malformed`. */
export function readSubjectSearch(body: unknown): Result<SubjectSearchRequest, ServiceError> {
  return read<SubjectSearchRequest>(body, subjectSearch)
}

/** Reads the body of an action search. Error: `malformed`. */
export function readActionSearch(body: unknown): Result<ActionSearchRequest, ServiceError> {
  return read<ActionSearchRequest>(body, actionSearch)
}

/** Returns a valid body as it is: unknown members stay in it and are ignored. */
function read<T>(body: unknown, shape: RequestShape): Result<T, ServiceError> {
  if (
    isJsonObject(body) &&
    isEntity(body.subject, shape.subjectId) &&
    (!shape.action || isAction(body.action)) &&
    isEntity(body.resource, shape.resourceId) &&
    isContext(body.context) &&
    (!shape.paged || isPage(body.page))
  ) {
    return ok(body as T)
  }
  return err({ kind: 'malformed', issues: issuesOf(body, shape) })
}

function isEntity(value: unknown, hasId: boolean): boolean {
  return (
    isJsonObject(value) &&
    typeof value.type === 'string' &&
    (!hasId || typeof value.id === 'string') &&
    (value.properties === undefined || isJsonObject(value.properties))
  )
}

function isAction(value: unknown): boolean {
  return (
    isJsonObject(value) &&
    typeof value.name === 'string' &&
    (value.properties === undefined || isJsonObject(value.properties))
  )
}

function isContext(value: unknown): boolean {
  if (value === undefined) return true
  if (!isJsonObject(value)) return false
  if (value.input_params !== undefined && !isJsonObject(value.input_params)) return false
  if (value.policy_status !== undefined && !isPolicyStatus(value.policy_status)) return false
  if (value.model_revision !== undefined && !isRevision(value.model_revision)) return false
  return value.policy_tags === undefined || isStrings(value.policy_tags)
}

function isPolicyStatus(value: unknown): boolean {
  return (policyStatuses as readonly unknown[]).includes(value)
}

function isRevision(value: unknown): boolean {
  return readPageLimit(value) !== null
}

function isPage(value: unknown): boolean {
  if (value === undefined) return true
  return (
    isJsonObject(value) &&
    (value.token === undefined || (typeof value.token === 'string' && value.token !== '')) &&
    (value.limit === undefined || readPageLimit(value.limit) !== null) &&
    (value.properties === undefined || isJsonObject(value.properties))
  )
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

function notAnInteger(value: unknown): string {
  const found = jsonKindOf(value) === 'number' ? `\`${writeJson(value).slice(0, 64)}\`` : jsonKindOf(value)
  return `expected an integer of 0 or more, found ${found}`
}

/** Lists every issue in the order of the schema. Runs only for invalid requests. */
function issuesOf(body: unknown, shape: RequestShape): string[] {
  const issues: string[] = []
  const expect = (path: string, expected: string, value: unknown) => {
    issues.push(`${path}: expected ${expected}, found ${jsonKindOf(value)}`)
  }
  const object = (path: string, value: unknown): RequestMembers | null => {
    if (isJsonObject(value)) return value
    expect(path, 'object', value)
    return null
  }
  const string = (path: string, value: unknown) => {
    if (typeof value !== 'string') expect(path, 'string', value)
  }
  const optionalObject = (path: string, value: unknown) => {
    if (value !== undefined) object(path, value)
  }
  const entity = (path: string, value: unknown, hasId: boolean) => {
    const members = object(path, value)
    if (members === null) return
    string(`${path}.type`, members.type)
    if (hasId) string(`${path}.id`, members.id)
    optionalObject(`${path}.properties`, members.properties)
  }

  const request = object('body', body)
  if (request === null) return issues
  entity('subject', request.subject, shape.subjectId)
  const action = shape.action ? object('action', request.action) : null
  if (action !== null) {
    string('action.name', action.name)
    optionalObject('action.properties', action.properties)
  }
  entity('resource', request.resource, shape.resourceId)
  const context = request.context === undefined ? null : object('context', request.context)
  if (context !== null) {
    optionalObject('context.input_params', context.input_params)
    const tags = context.policy_tags
    if (Array.isArray(tags)) for (const [i, tag] of tags.entries()) string(`context.policy_tags[${i}]`, tag)
    else if (tags !== undefined) expect('context.policy_tags', 'array', tags)
    const status = context.policy_status
    if (status !== undefined && !isPolicyStatus(status)) {
      issues.push(`context.policy_status: expected ${oneOfStatuses}, found ${foundValue(status)}`)
    }
    const revision = context.model_revision
    if (revision !== undefined && !isRevision(revision))
      issues.push(`context.model_revision: ${notAnInteger(revision)}`)
  }
  const page = !shape.paged || request.page === undefined ? null : object('page', request.page)
  if (page !== null) {
    const { token, limit } = page
    if (token === '') issues.push('page.token: expected a token, found an empty string')
    else if (token !== undefined) string('page.token', token)
    if (limit !== undefined && readPageLimit(limit) === null) {
      issues.push(`page.limit: ${notAnInteger(limit)}`)
    }
    optionalObject('page.properties', page.properties)
  }
  return issues
}
