// Validates a value by its schema and reports every error as `path: expected …, found …`. The messages of all schema
// errors are written here: for bodies, queries, stored documents and MCP tools.
import type { z } from 'zod'
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { writeJson } from '../kernel/json/json.ts'
import { jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** An error of a value, with the path of the value in the document. */
interface ValueIssue {
  readonly path: readonly PropertyKey[]
  /** Without the path. */
  readonly message: string
  /** The unknown members of the object at `path`; empty for other errors. */
  readonly unknownMembers: readonly string[]
}

/**
 * Validates `value`. `at`: the path of the value, if it is part of a larger document. Returns the parsed value, or one
 * message per error.
 */
export function validate<T>(schema: z.ZodType<T>, value: unknown, at = ''): Result<T, readonly string[]> {
  const read = validateValue(schema, value)
  // An empty path means the whole body.
  return read.ok ? read : err(read.error.map(({ path, message }) => `${formatPath(at, path) || 'body'}: ${message}`))
}

/** As `validate`, with the errors as data. `describe`: replaces messages; it returns null to keep the usual one. */
export function validateValue<T>(
  schema: z.ZodType<T>,
  value: unknown,
  describe: (issue: z.core.$ZodRawIssue) => string | null = () => null,
): Result<T, readonly ValueIssue[]> {
  const error = (issue: z.core.$ZodRawIssue): string | undefined => describe(issue) ?? issueMessage(issue)
  const read = schema.safeParse(value, { error, reportInput: true })
  if (read.success) {
    const dropped = droppedMemberPath(value, read.data)
    return dropped === null
      ? ok(read.data)
      : err([{ path: dropped, message: 'unknown member `__proto__`', unknownMembers: ['__proto__'] }])
  }
  return err(
    read.error.issues.map((issue) => ({
      path: issue.path,
      message: issue.message,
      unknownMembers: issue.code === 'unrecognized_keys' ? issue.keys : [],
    })),
  )
}

/**
 * Returns the path of a dropped `__proto__` member, or null. Maps of zod drop this name silently; values that zod
 * passes through unchanged are complete.
 */
function droppedMemberPath(given: unknown, read: unknown): readonly PropertyKey[] | null {
  if (given === read || typeof given !== 'object' || given === null) return null
  const kept = typeof read === 'object' && read !== null ? (read as ObjectMembers) : noMembers
  if (Array.isArray(given)) {
    for (let i = 0; i < given.length; i++) {
      const found = droppedMemberPath(given[i], kept[i])
      if (found !== null) return [i, ...found]
    }
    return null
  }
  for (const name in given) {
    if (name === '__proto__' && !Object.hasOwn(kept, name)) return []
    const member = (given as ObjectMembers)[name]
    // Most members are not objects, and a body has thousands of them.
    const found = typeof member === 'object' ? droppedMemberPath(member, kept[name]) : null
    if (found !== null) return [name, ...found]
  }
  return null
}

type ObjectMembers = Readonly<Record<string, unknown>>
const noMembers: ObjectMembers = Object.freeze({})

/** Returns undefined to keep the schema's own message. */
export function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      // With exact numbers, a non-integer is a boxed Float and an integer beyond 53 bits is a bigint.
      if (issue.expected === 'number' && jsonKindOf(issue.input) === 'number') {
        // JSON writes 1e999 in five characters; as a 64-bit number it is infinite.
        const value = issue.input instanceof Float ? issue.input.value : issue.input
        if (typeof value === 'number' && !Number.isFinite(value)) return 'expected number from -1.8e308 to 1.8e308'
        return `expected integer of at most 53 bits, found \`${writeJson(issue.input)}\``
      }
      return `expected ${expectedName(String(issue.expected))}, found ${jsonKindOf(issue.input)}`
    case 'invalid_value':
      return `expected ${issue.values.map((value) => `\`${String(value)}\``).join(' or ')}, found ${foundValue(issue.input)}`
    case 'unrecognized_keys':
      // zod sees a boxed Float as an object.
      if (issue.input instanceof Float) return 'expected object, found number'
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

/** A value as messages show it: scalars themselves, of others the kind. */
export function foundValue(value: unknown): string {
  if (typeof value === 'string') return `\`${value.length > 64 ? `${value.slice(0, 64)}…` : value}\``
  const isPlain = typeof value === 'boolean' || jsonKindOf(value) === 'number'
  return isPlain ? `\`${writeJson(value)}\`` : jsonKindOf(value)
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
  if (origin === 'object' || origin === 'record') return ` member${plural}`
  return ''
}
