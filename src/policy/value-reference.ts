// References in filters and writes: a parameter or a token claim, and a path into it. Parsed once, when the policy is
// stored.
import type { Value } from '../engine/value/value.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { WORD } from '../kernel/text/cypher-names.ts'

/** Values by parameter name, without `$`. */
export type BoundParameters = ReadonlyMap<string, Value>

/** A parsed reference. */
export interface ValueReference {
  /** The parameter without `$`: `token` for `$token.sub`. */
  readonly root: string
  /** Member names below the parameter. */
  readonly path: readonly string[]
  /** The source text. */
  readonly text: string
}

const SEGMENT = /\.(?:([\p{L}\p{M}\p{N}_-]+)|`([^`]+)`)/uy
const ROOT = new RegExp(`^\\$(${WORD})`, 'u')

/** The message where only a reference may begin with `$`. */
export const expectedReference = 'expected a reference such as `$param`, `$param.member` or `$token.<claim>`'

/** The request's own subject and resource, which are known without reading the graph. */
const endsOfQuestion: ReadonlyMap<string, string> = new Map([
  ['subject.external_id', 'subject_external_id'],
  ['subject.type', 'subject_type'],
  ['resource.external_id', 'resource_external_id'],
  ['resource.type', 'resource_type'],
])

/**
 * Parses a reference such as `$token.realm_access.roles`, `$min`, `` $token.`https://example.org/role` `` or
 * `subject.external_id`. The error is a message for the author.
 */
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

/** Returns the value of a reference; null if a step of the path is absent. */
export function valueAt({ root, path }: ValueReference, parameters: BoundParameters): Value {
  let value: Value = parameters.get(root) ?? null
  for (const step of path) {
    if (!(value instanceof Map)) return null
    value = (value as ReadonlyMap<string, Value>).get(step) ?? null
  }
  return value
}
