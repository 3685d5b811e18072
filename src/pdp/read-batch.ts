// Reads a batch: what is wrong with the whole of it is refused, what is wrong with an item stays in the item, and a default
// that nobody uses breaks nothing. A member of an item replaces the whole default (ruling D3).
import type { ServiceError } from '../kernel/errors.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Question } from './decision-deps.ts'
import { readEvaluation } from './read-request.ts'
import { type EvaluationRequest, semantics } from './schema.ts'

type BatchMembers = Readonly<Record<string, unknown>>

export interface BatchRequest {
  readonly kind: 'batch'
  readonly evaluations: readonly BatchMembers[]
  readonly defaults: BatchMembers
  readonly options: { readonly evaluations_semantic?: (typeof semantics)[number] } | undefined
}

/** Absent or empty `evaluations`: a single evaluation. */
export interface SingleRequest {
  readonly kind: 'single'
  readonly request: EvaluationRequest
}

const members = ['subject', 'action', 'resource', 'context'] as const

export function readEvaluations(body: unknown): Result<BatchRequest | SingleRequest, ServiceError> {
  if (!isJsonObject(body))
    return err({ kind: 'malformed', issues: [`body: expected object, found ${jsonKindOf(body)}`] })
  const faults: string[] = []
  const expect = (path: string, expected: string, value: unknown): void => {
    faults.push(`${path}: expected ${expected}, found ${jsonKindOf(value)}`)
  }
  const { evaluations, options } = body
  if (options !== undefined) {
    if (!isJsonObject(options)) expect('options', 'object', options)
    else {
      const semantic = options.evaluations_semantic
      if (semantic !== undefined && !(semantics as readonly unknown[]).includes(semantic)) {
        const found = typeof semantic === 'string' ? `\`${semantic.slice(0, 64)}\`` : jsonKindOf(semantic)
        faults.push(`options.evaluations_semantic: expected ${oneOfSemantics}, found ${found}`)
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
  if (faults.length > 0) return err({ kind: 'malformed', issues: faults })
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

export type BatchItemResult = Result<Question, ServiceError>

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
