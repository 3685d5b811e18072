// Converts flat arguments of the AuthZEN tools (`subject_type`, `subject_id`) to the nested form (`subject: {type, id}`) that
// the features read. Each member may be given in one form only.
import type { ServiceError } from '../../kernel/errors.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { RpcObject } from '../json-rpc.ts'

const flatForms: readonly (readonly [member: string, flat: Readonly<Record<string, string>>])[] = [
  ['subject', { type: 'subject_type', id: 'subject_id' }],
  ['action', { name: 'action_name' }],
  ['resource', { type: 'resource_type', id: 'resource_id' }],
]

const flatNames = flatForms.flatMap(([, flat]) => Object.values(flat))

/** Converts the arguments of one evaluation or search. Errors: `malformed`. */
export function toNested(args: RpcObject): Result<RpcObject, ServiceError> {
  if (!hasFlatArgument(args)) return ok(args)
  const issues: string[] = []
  const body = nestMembers(args, '', issues)
  return issues.length === 0 ? ok(body) : err({ kind: 'malformed', issues })
}

/** Converts the arguments of a batch and of each item. Errors: `malformed`. */
export function toNestedBatch(args: RpcObject): Result<RpcObject, ServiceError> {
  const issues: string[] = []
  const body = nestMembers(args, '', issues)
  if (!Array.isArray(body.evaluations) || body.evaluations.length === 0) {
    issues.push('evaluations: expected an array of at least one evaluation')
  } else {
    body.evaluations = body.evaluations.map((item: unknown, i) =>
      isJsonObject(item) ? nestMembers(item, `evaluations[${i}].`, issues) : item,
    )
  }
  return issues.length === 0 ? ok(body) : err({ kind: 'malformed', issues })
}

function hasFlatArgument(args: RpcObject): boolean {
  for (const name of flatNames) if (Object.hasOwn(args, name)) return true
  return false
}

function nestMembers(args: RpcObject, place: string, issues: string[]): Record<string, unknown> {
  const body: Record<string, unknown> = { ...args }
  for (const [member, flat] of flatForms) {
    const made: Record<string, unknown> = {}
    for (const [name, flatName] of Object.entries(flat)) {
      if (!Object.hasOwn(args, flatName)) continue
      made[name] = args[flatName]
      delete body[flatName]
      if (Object.hasOwn(args, member)) issues.push(`${place}${flatName}: given together with ${place}${member}`)
    }
    if (Object.keys(made).length > 0) body[member] = made
  }
  return body
}
