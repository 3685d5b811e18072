// Validates a body by its schema and says every fault as `path: expected …, found …`, in one form for all routes.
import type { z } from 'zod'
import type { ServiceError } from '../kernel/errors.ts'
import { Float } from '../kernel/float.ts'
import { foundName } from '../kernel/found.ts'
import { writeJson } from '../kernel/json.ts'
import { pathText } from '../kernel/path-text.ts'
import { err, ok, type Result } from '../kernel/result.ts'

export function readBySchema<T>(schema: z.ZodType<T>, body: unknown): Result<T, ServiceError> {
  const read = schema.safeParse(body, { error: describe, reportInput: true })
  if (read.success) return ok(read.data)
  return err({ kind: 'malformed', issues: read.error.issues.map(issueText) })
}

/** Every fault of a value, none when there are none. */
export function issuesOf(schema: z.ZodType, value: unknown): string[] {
  const read = schema.safeParse(value, { error: describe, reportInput: true })
  return read.success ? [] : read.error.issues.map(issueText)
}

/** The body itself is `body`. */
function issueText(issue: { path: readonly PropertyKey[]; message: string }): string {
  return `${pathText('', issue.path) || 'body'}: ${issue.message}`
}

/** Undefined leaves zod's own words: a schema's own message, or a fault of a kind that has no row here. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      // Where numbers are read exactly, what is no integer comes boxed, and one beyond 53 bits as another type.
      if (issue.expected === 'number' && (issue.input instanceof Float || typeof issue.input === 'bigint'))
        return `expected integer of at most 53 bits, found \`${writeJson(issue.input)}\``
      return `expected ${expectedName(String(issue.expected))}, found ${foundName(issue.input)}`
    case 'invalid_value':
      return `expected ${oneOf(issue.values.map((value) => JSON.stringify(value)))}, found ${foundValue(issue.input)}`
    case 'unrecognized_keys':
      // A boxed float is an object to zod and a number to everybody else.
      if (issue.input instanceof Float) return 'expected object, found number'
      return `unknown member ${issue.keys.map((key) => `\`${key}\``).join(', ')}`
    case 'too_small':
      return `expected at least ${issue.minimum}${unitOf(issue.origin)}`
    case 'too_big':
      return `expected at most ${issue.maximum}${unitOf(issue.origin)}`
    default:
      return undefined
  }
}

/** `1, 2 or 3` */
function oneOf(values: readonly string[]): string {
  return values.length < 2 ? values.join() : `${values.slice(0, -1).join(', ')} or ${values.at(-1)}`
}

function foundValue(value: unknown): string {
  if (typeof value === 'string') return `\`${value.length > 64 ? `${value.slice(0, 64)}…` : value}\``
  if (typeof value === 'number' || typeof value === 'boolean' || value instanceof Float)
    return `\`${writeJson(value)}\``
  return foundName(value)
}

function expectedName(expected: string): string {
  if (expected === 'record') return 'object'
  if (expected === 'int') return 'integer'
  return expected
}

function unitOf(origin: string): string {
  switch (origin) {
    case 'string':
      return ' characters'
    case 'array':
    case 'set':
      return ' items'
    case 'object':
    case 'record':
      return ' members'
    default:
      return ''
  }
}
