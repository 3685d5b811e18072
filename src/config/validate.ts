// Checks a value by its schema and says every fault as `path: expected …, found …`, in the words that all bodies share.
import type { z } from 'zod'
import { foundName } from '../kernel/found.ts'
import { writeJson } from '../kernel/json.ts'
import { pathText } from '../kernel/path-text.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** `at` is the path of the value itself, for values that were found inside of others. */
export function validate<T>(schema: z.ZodType<T>, value: unknown, at = ''): Result<T, readonly string[]> {
  const read = schema.safeParse(value, { error: describe, reportInput: true })
  if (read.success) {
    const lost = prototypeIn(value, at === '' ? [] : [at])
    return lost === null ? ok(read.data) : err([`${pathText('', lost) || 'body'}: unknown member \`__proto__\``])
  }
  // The value itself is the body.
  return err(read.error.issues.map((issue) => `${pathText(at, issue.path) || 'body'}: ${issue.message}`))
}

/** Where it stands, or null. Maps of zod leave out this one name and say nothing. */
function prototypeIn(value: unknown, path: readonly PropertyKey[]): readonly PropertyKey[] | null {
  if (typeof value !== 'object' || value === null) return null
  if (Object.hasOwn(value, '__proto__')) return path
  for (const [name, member] of Object.entries(value)) {
    const found = prototypeIn(member, [...path, Array.isArray(value) ? Number(name) : name])
    if (found !== null) return found
  }
  return null
}

/** Undefined leaves the schema's own message. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      // Where numbers are read exactly, what is no integer comes boxed, and one beyond 53 bits as another type.
      if (issue.expected === 'number' && foundName(issue.input) === 'number') {
        return `expected integer of at most 53 bits, found \`${writeJson(issue.input)}\``
      }
      return `expected ${expectedName(String(issue.expected))}, found ${foundName(issue.input)}`
    case 'invalid_value':
      return `expected ${issue.values.map((value) => `\`${String(value)}\``).join(' or ')}, found ${foundValue(issue.input)}`
    case 'unrecognized_keys':
      return `unknown member ${issue.keys.map((key) => `\`${key}\``).join(', ')}`
    case 'too_small':
      return `expected at least ${issue.minimum}${unitOf(issue.origin, issue.minimum)}`
    case 'too_big':
      return `expected at most ${issue.maximum}${unitOf(issue.origin, issue.maximum)}`
    case 'invalid_key':
      return issue.issues[0]?.message
    default:
      return undefined
  }
}

function foundValue(value: unknown): string {
  return typeof value === 'string' ? `\`${value.length > 64 ? `${value.slice(0, 64)}…` : value}\`` : foundName(value)
}

function expectedName(expected: string): string {
  if (expected === 'record') return 'object'
  if (expected === 'int') return 'integer'
  return expected
}

function unitOf(origin: string, count: number | bigint): string {
  const plural = Number(count) === 1 ? '' : 's'
  if (origin === 'string') return ` character${plural}`
  if (origin === 'array' || origin === 'set') return ` item${plural}`
  return ''
}
