// The arguments of the AuthZEN tools come nested (`subject: {type, id}`) or flat (`subject_type`, `subject_id`); the
// services read the nested form, so the flat one is made into it here, and each member may be given in one form only.
import type { ServiceError } from '../../kernel/errors.ts'
import { isJsonObject } from '../../kernel/found.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { Members } from '../rpc.ts'

const forms: readonly (readonly [member: string, flat: Readonly<Record<string, string>>])[] = [
  ['subject', { type: 'subject_type', id: 'subject_id' }],
  ['action', { name: 'action_name' }],
  ['resource', { type: 'resource_type', id: 'resource_id' }],
]

const flatNames = forms.flatMap(([, flat]) => Object.values(flat))

export function nested(given: Members): Result<Members, ServiceError> {
  if (!hasFlat(given)) return ok(given)
  const issues: string[] = []
  const body = nestedIn(given, '', issues)
  return issues.length === 0 ? ok(body) : err({ kind: 'malformed', issues })
}

/** The members of the batch, and of each of its items. */
export function nestedBatch(given: Members): Result<Members, ServiceError> {
  const issues: string[] = []
  const body = nestedIn(given, '', issues)
  if (!Array.isArray(body.evaluations) || body.evaluations.length === 0) {
    issues.push('evaluations: expected an array of at least one evaluation')
  } else {
    body.evaluations = body.evaluations.map((item: unknown, i) =>
      isJsonObject(item) ? nestedIn(item, `evaluations[${i}].`, issues) : item,
    )
  }
  return issues.length === 0 ? ok(body) : err({ kind: 'malformed', issues })
}

function hasFlat(given: Members): boolean {
  for (const name of flatNames) if (Object.hasOwn(given, name)) return true
  return false
}

function nestedIn(given: Members, place: string, issues: string[]): Record<string, unknown> {
  const body: Record<string, unknown> = { ...given }
  for (const [member, flat] of forms) {
    const made: Record<string, unknown> = {}
    for (const [name, flatName] of Object.entries(flat)) {
      if (!Object.hasOwn(given, flatName)) continue
      made[name] = given[flatName]
      delete body[flatName]
      if (Object.hasOwn(given, member)) issues.push(`${place}${flatName}: given beside ${place}${member}`)
    }
    if (Object.keys(made).length > 0) body[member] = made
  }
  return body
}
