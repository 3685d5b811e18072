// What a filter may point at: a parameter of the question, a claim of a token, what the service knows of the question, and
// a path into it. Read once, when the policy is stored.
import type { Value } from '../engine/value/value.ts'
import { err, ok, type Result } from '../kernel/result.ts'

export interface ValueReference {
  /** The parameter that holds it, without `$`: `token` for `$token.sub`. */
  readonly root: string
  readonly path: readonly string[]
  /** As the author wrote it. */
  readonly text: string
}

const SEGMENT = /\.(?:([\p{L}\p{N}_-]+)|`([^`]+)`)/uy
const ROOT = /^\$([\p{L}_][\p{L}\p{N}_]*)/u

/** Where a reference alone can stand for what begins with `$`. */
export const expectedReference = 'expected a reference such as `$param`, `$param.member` or `$token.<claim>`'

/** The ends of the question, which need no graph to be known. */
const endsOfQuestion: ReadonlyMap<string, string> = new Map([
  ['subject.external_id', 'subject_external_id'],
  ['subject.type', 'subject_type'],
  ['resource.external_id', 'resource_external_id'],
  ['resource.type', 'resource_type'],
])

/** `$token.realm_access.roles`, `$min`, `` $token.`https://example.org/role` ``, `subject.external_id`. */
export function readReference(text: string): Result<ValueReference, string> {
  const end = endsOfQuestion.get(text)
  if (end !== undefined) return ok({ root: end, path: [], text })
  const root = ROOT.exec(text)?.[1]
  if (root === undefined) {
    return err(
      'a decision filter is evaluated without the graph: expected `$token.<claim>`, `$svc_token.<path>`, `$<parameter>`, ' +
        '`subject.external_id` or `resource.external_id`',
    )
  }
  const path: string[] = []
  let at = root.length + 1
  while (at < text.length) {
    SEGMENT.lastIndex = at
    const found = SEGMENT.exec(text)
    if (found === null) return err('expected a path such as `$name.member`')
    path.push((found[1] ?? found[2]) as string)
    at += found[0].length
  }
  if ((root === 'token' || root === 'svc_token') && path.length === 0) return err(`expected \`$${root}.<claim>\``)
  return ok({ root, path, text })
}

/** Null where a step is absent. */
export function valueAt({ root, path }: ValueReference, parameters: ReadonlyMap<string, Value>): Value {
  let value: Value = parameters.get(root) ?? null
  for (const step of path) {
    if (!(value instanceof Map)) return null
    value = (value as ReadonlyMap<string, Value>).get(step) ?? null
  }
  return value
}
