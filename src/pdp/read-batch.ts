// Reads a batch request. An error of the batch as a whole is returned; an error of an item stays in the item; an
// invalid default that no item uses is ignored. A member of an item replaces the whole default
// (docs/decisions/0006-authzen-status-codes-and-batches.md).
import type { ServiceError } from '../kernel/errors.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { EvaluationRequest } from './decision-deps.ts'
import { readEvaluation } from './read-request.ts'
import { semantics } from './schema.ts'

type BatchMembers = Readonly<Record<string, unknown>>

/** A batch of evaluations. */
export interface BatchRequest {
  readonly kind: 'batch'
  readonly evaluations: readonly BatchMembers[]
  readonly defaults: BatchMembers
  readonly options: { readonly evaluations_semantic?: (typeof semantics)[number] } | undefined
}

/** A request without `evaluations`, or with an empty list: a single evaluation. */
export interface SingleRequest {
  readonly kind: 'single'
  readonly request: EvaluationRequest
}

const members = ['subject', 'action', 'resource', 'context'] as const

/** Reads the body of an evaluations request. Error: `malformed`, with every issue. */
export function readEvaluations(body: unknown): Result<BatchRequest | SingleRequest, ServiceError> {
  if (!isJsonObject(body))
    return err({ kind: 'malformed', issues: [`body: expected object, found ${jsonKindOf(body)}`] })
  const issues: string[] = []
  const expect = (path: string, expected: string, value: unknown): void => {
    issues.push(`${path}: expected ${expected}, found ${jsonKindOf(value)}`)
  }
  const { evaluations, options } = body
  if (options !== undefined) {
    if (!isJsonObject(options)) expect('options', 'object', options)
    else {
      const semantic = options.evaluations_semantic
      if (semantic !== undefined && !(semantics as readonly unknown[]).includes(semantic)) {
        const found = typeof semantic === 'string' ? `\`${semantic.slice(0, 64)}\`` : jsonKindOf(semantic)
        issues.push(`options.evaluations_semantic: expected ${oneOfSemantics}, found ${found}`)
      }
    }
  }
  const isBatch = Array.isArray(evaluations) && evaluations.length > 0
  if (evaluations !== undefined && !Array.isArray(evaluations)) expect('evaluations', 'array', evaluations)
  if (isBatch) {
    for (const [i, item] of evaluations.entries()) {
      if (!isJsonObject(item)) expect(`evaluations[${i}]`, 'object', item)
    }
    for (const name of members) {
      const value = body[name]
      if (value !== undefined && !isJsonObject(value)) expect(name, 'object', value)
    }
  }
  if (issues.length > 0) return err({ kind: 'malformed', issues })
  if (isBatch) {
    return ok({
      kind: 'batch',
      evaluations: evaluations as BatchMembers[],
      defaults: body,
      options: options as BatchRequest['options'],
    })
  }
  const single = readEvaluation(body)
  return single.ok ? ok({ kind: 'single', request: single.value }) : single
}

const oneOfSemantics = semantics.map((semantic) => `"${semantic}"`).join(' or ')

/** The request of one item, or its error. */
export type BatchItemResult = Result<EvaluationRequest, ServiceError>

/** Reads the items of a batch one by one, with the defaults applied. */
export function* readItems({ evaluations, defaults }: BatchRequest): Generator<BatchItemResult> {
  for (const item of evaluations) {
    yield readEvaluation({
      subject: memberOf('subject', item, defaults),
      action: memberOf('action', item, defaults),
      resource: memberOf('resource', item, defaults),
      context: memberOf('context', item, defaults),
    })
  }
}

function memberOf(name: (typeof members)[number], item: BatchMembers, defaults: BatchMembers): unknown {
  return Object.hasOwn(item, name) ? item[name] : defaults[name]
}
