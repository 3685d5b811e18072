// Validates the query parameters of a route: each must be declared, given once and valid.
import type { z } from 'zod'
import { validate } from '../config/validate.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** Validates a query string. Invalid percent-encoding is an error and not replaced. Errors: `invalid`. */
export function validateQuery(schema: z.ZodObject, query: string): Result<null, ServiceError> {
  if (query === '') return validateParameters(schema, new URLSearchParams(), [])
  const parameters = new URLSearchParams(query)
  const errors: string[] = []
  if (!isDecodable(query)) errors.push('query: expected percent-encoded UTF-8')
  for (const name of new Set(parameters.keys())) {
    if (!Object.hasOwn(schema.shape, name)) errors.push(`query: unknown parameter \`${name.slice(0, 64)}\``)
    else if (parameters.getAll(name).length > 1) errors.push(`${name}: given more than once`)
  }
  return validateParameters(schema, parameters, errors)
}

function validateParameters(
  schema: z.ZodObject,
  parameters: URLSearchParams,
  errors: string[],
): Result<null, ServiceError> {
  const known = [...parameters].filter(([name]) => Object.hasOwn(schema.shape, name))
  const missing = requiredNames(schema).filter((name) => !parameters.has(name))
  const read = validate(schema, Object.fromEntries(known))
  const invalid = read.ok ? [] : read.error.filter((issue) => !missing.some((name) => issue.startsWith(`${name}: `)))
  const issues = [...errors, ...missing.map((name) => `${name} is required`), ...invalid]
  return issues.length === 0 ? ok(null) : err({ kind: 'invalid', issues })
}

function requiredNames({ shape }: z.ZodObject): readonly string[] {
  return Object.keys(shape).filter((name) => !(shape[name] as z.ZodType).safeParse(undefined).success)
}

function isDecodable(query: string): boolean {
  try {
    decodeURIComponent(query)
    return true
  } catch {
    return false
  }
}
