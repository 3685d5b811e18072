// Reads a batch: what is wrong with the whole of it is refused, what is wrong with an item stays in the item, and a default
// that nobody uses breaks nothing. A member of an item replaces the whole default (ruling D3).
import type { ServiceError } from '../kernel/errors.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Question } from './parts.ts'
import { readEvaluation } from './read-request.ts'
import { type EvaluationRequest, semantics } from './schema.ts'

type Members = Readonly<Record<string, unknown>>

export interface EvaluationsRequest {
  readonly kind: 'batch'
  readonly evaluations: readonly Members[]
  readonly defaults: Members
  readonly options: { readonly evaluations_semantic?: (typeof semantics)[number] } | undefined
}

/** Absent or empty `evaluations`: a single evaluation. */
export interface SingleEvaluation {
  readonly kind: 'single'
  readonly request: EvaluationRequest
}

const members = ['subject', 'action', 'resource', 'context'] as const

export function readEvaluations(body: unknown): Result<EvaluationsRequest | SingleEvaluation, ServiceError> {
  if (!isJsonObject(body))
    return err({ kind: 'malformed', issues: [`body: expected object, found ${foundName(body)}`] })
  const faults: string[] = []
  const expect = (path: string, expected: string, value: unknown): void => {
    faults.push(`${path}: expected ${expected}, found ${foundName(value)}`)
  }
  const { evaluations, options } = body
  if (options !== undefined) {
    if (!isJsonObject(options)) expect('options', 'object', options)
    else {
      const semantic = options.evaluations_semantic
      if (semantic !== undefined && !(semantics as readonly unknown[]).includes(semantic)) {
        const found = typeof semantic === 'string' ? `\`${semantic.slice(0, 64)}\`` : foundName(semantic)
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
      evaluations: evaluations as Members[],
      defaults: body,
      options: options as EvaluationsRequest['options'],
    })
  }
  const single = readEvaluation(body)
  return single.ok ? ok({ kind: 'single', request: single.value }) : single
}

const oneOfSemantics = semantics.map((semantic) => `"${semantic}"`).join(' or ')

export type BatchItem = Result<Question, ServiceError>

export function* itemsOf({ evaluations, defaults }: EvaluationsRequest): Generator<BatchItem> {
  for (const item of evaluations) {
    yield readEvaluation({
      subject: memberOf('subject', item, defaults),
      action: memberOf('action', item, defaults),
      resource: memberOf('resource', item, defaults),
      context: memberOf('context', item, defaults),
    })
  }
}

function memberOf(name: (typeof members)[number], item: Members, defaults: Members): unknown {
  return Object.hasOwn(item, name) ? item[name] : defaults[name]
}
