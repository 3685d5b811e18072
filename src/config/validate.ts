// Checks a value by its schema and says every fault as `path: expected …, found …`: the one place that words what a schema
// refuses, for bodies, queries, stored documents and tools.
import type { z } from 'zod'
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/format-path.ts'
import { writeJson } from '../kernel/json.ts'
import { jsonKindOf } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** `at` is the path of the value itself, for values that were found inside of others. */
export function validate<T>(schema: z.ZodType<T>, value: unknown, at = ''): Result<T, readonly string[]> {
  const read = schema.safeParse(value, { error: issueMessage, reportInput: true })
  if (read.success) {
    const lost = droppedMemberPath(value, read.data)
    return lost === null ? ok(read.data) : err([`${formatPath(at, lost) || 'body'}: unknown member \`__proto__\``])
  }
  // The value itself is the body.
  return err(read.error.issues.map((issue) => `${formatPath(at, issue.path) || 'body'}: ${issue.message}`))
}

/**
 * Where a member `__proto__` is no longer there, or null: maps of zod leave out this one name and say nothing. What it
 * hands on as it is (free JSON) is whole.
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
    // Most members are no objects, and a body has thousands of them.
    const found = typeof member === 'object' ? droppedMemberPath(member, kept[name]) : null
    if (found !== null) return [name, ...found]
  }
  return null
}

type ObjectMembers = Readonly<Record<string, unknown>>
const noMembers: ObjectMembers = Object.freeze({})

/** Undefined leaves the schema's own message. */
function issueMessage(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      // Where numbers are read exactly, what is no integer comes boxed, and one beyond 53 bits as another type.
      if (issue.expected === 'number' && jsonKindOf(issue.input) === 'number') {
        return `expected integer of at most 53 bits, found \`${writeJson(issue.input)}\``
      }
      return `expected ${expectedName(String(issue.expected))}, found ${jsonKindOf(issue.input)}`
    case 'invalid_value':
      return `expected ${issue.values.map((value) => `\`${String(value)}\``).join(' or ')}, found ${foundValue(issue.input)}`
    case 'unrecognized_keys':
      // A boxed float is an object to zod and a number to everybody else.
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

function foundValue(value: unknown): string {
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
