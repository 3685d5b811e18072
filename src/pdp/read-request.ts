// Reads AuthZEN requests without a schema library: the way of every single decision, where a schema costs more than the
// decision. Says exactly what schema.ts would say (a test compares them on generated requests).
import type { ServiceError } from '../kernel/errors.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { EvaluationRequest, ResourceSearchRequest, SubjectSearchRequest } from './schema.ts'

type Members = Record<string, unknown>

export function readEvaluation(body: unknown): Result<EvaluationRequest, ServiceError> {
  return read<EvaluationRequest>(body, true, true)
}

export function readResourceSearch(body: unknown): Result<ResourceSearchRequest, ServiceError> {
  return read<ResourceSearchRequest>(body, true, false)
}

export function readSubjectSearch(body: unknown): Result<SubjectSearchRequest, ServiceError> {
  return read<SubjectSearchRequest>(body, false, true)
}

/** A request without a fault is handed on as it came: unknown members ride along and nobody looks at them. */
function read<T>(body: unknown, subjectHasId: boolean, resourceHasId: boolean): Result<T, ServiceError> {
  if (
    isJsonObject(body) &&
    isEntity(body.subject, subjectHasId) &&
    isAction(body.action) &&
    isEntity(body.resource, resourceHasId) &&
    isContext(body.context)
  ) {
    return ok(body as T)
  }
  return err({ kind: 'malformed', issues: faultsOf(body, subjectHasId, resourceHasId) })
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
  return value.policy_tags === undefined || isStrings(value.policy_tags)
}

function isStrings(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The slow way, taken only by requests that are refused: every fault, in the order of the schema. */
function faultsOf(body: unknown, subjectHasId: boolean, resourceHasId: boolean): string[] {
  const faults: string[] = []
  const expect = (path: string, expected: string, value: unknown) => {
    faults.push(`${path}: expected ${expected}, found ${foundName(value)}`)
  }
  const object = (path: string, value: unknown): Members | null => {
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
  if (request === null) return faults
  entity('subject', request.subject, subjectHasId)
  const action = object('action', request.action)
  if (action !== null) {
    string('action.name', action.name)
    optionalObject('action.properties', action.properties)
  }
  entity('resource', request.resource, resourceHasId)
  const context = request.context === undefined ? null : object('context', request.context)
  if (context !== null) {
    optionalObject('context.input_params', context.input_params)
    const tags = context.policy_tags
    if (Array.isArray(tags)) for (const [i, tag] of tags.entries()) string(`context.policy_tags[${i}]`, tag)
    else if (tags !== undefined) expect('context.policy_tags', 'array', tags)
  }
  return faults
}
