// Values from a JSON schema: valid ones, and ones with a single error.
import type { Random } from './random.ts'

export type Schema = Readonly<Record<string, unknown>>

export interface Words {
  /** A string for a member of that name; null: any string that the schema accepts. */
  string(member: string, random: Random): string | null
  resolve(reference: string): Schema
}

const DEPTH_MAX = 6

export function valueBy(schema: Schema, words: Words, random: Random, member = '', depth = 0): unknown {
  if (typeof schema.$ref === 'string') return valueBy(words.resolve(schema.$ref), words, random, member, depth)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return random.pick(schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined
  if (choices !== undefined) return valueBy(random.pick(choices), words, random, member, depth)
  const type = Array.isArray(schema.type) ? random.pick(schema.type as string[]) : schema.type
  switch (type) {
    case 'null':
      return null
    case 'boolean':
      return random.odds(0.5)
    case 'integer':
    case 'number': {
      const min = Number(schema.minimum ?? 0)
      const max = Math.min(Number(schema.maximum ?? 100), min + 1000)
      return type === 'integer' || random.odds(0.5) ? random.between(min, max) : min + (max - min) * 0.37
    }
    case 'string':
      return stringBy(schema, words, random, member)
    case 'array': {
      const min = Number(schema.minItems ?? 0)
      const length = random.between(min, Math.min(Number(schema.maxItems ?? 3), min + 3))
      const items = (schema.items ?? {}) as Schema
      return Array.from({ length: depth > DEPTH_MAX ? min : length }, () =>
        valueBy(items, words, random, member, depth + 1),
      )
    }
    case 'object':
      return objectBy(schema, words, random, depth)
    default:
      return depth > DEPTH_MAX ? null : anything(words, random, member)
  }
}

function objectBy(schema: Schema, words: Words, random: Random, depth: number): unknown {
  const required = new Set((schema.required ?? []) as readonly string[])
  const members = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
    .filter(([name]) => required.has(name) || (depth <= DEPTH_MAX && random.odds(0.4)))
    .map(([name, of]) => [name, valueBy(of, words, random, name, depth + 1)])
  // An object schema without properties accepts any member.
  const { additionalProperties = schema.properties === undefined } = schema
  const more = additionalProperties === true ? {} : additionalProperties
  if (members.length === 0 && typeof more === 'object' && more !== null) {
    for (let i = random.between(0, 3); i > 0; i--) {
      members.push([
        random.pick(['a', 'min', 'email', 'role_arn']),
        valueBy(more as Schema, words, random, '', depth + 1),
      ])
    }
  }
  return Object.fromEntries(members)
}

function stringBy(schema: Schema, words: Words, random: Random, member: string): string {
  const word = words.string(member, random)
  if (word !== null) return word
  if (schema.format === 'date-time') return random.pick(['2099-01-01T00:00:00Z', '2030-02-28T23:59:59.5+02:00'])
  const min = Number(schema.minLength ?? 0)
  const max = Math.min(Number(schema.maxLength ?? 40), min + 40)
  const length = random.pick([min, max, random.between(min, max)])
  return Array.from({ length }, () => random.pick(['a', 'b', 'z', '0', 'x'])).join('')
}

function anything(words: Words, random: Random, member: string): unknown {
  return random.pick([1, 1.5, true, 'text', ['a', 'b'], null, { a: 1 }, words.string(member, random) ?? ''])
}

const strange: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  'x'.repeat(300),
  'x'.repeat(70_000),
  '\u0000',
  '\u202e𝔘\u0301',
  '$p',
  '../..',
  '__proto__',
  '<script>',
  "' OR 1=1 --",
  'gid:0000000000000000000000000',
  '{"a":1}',
  '2026-99-99T99:99:99Z',
  [],
  {},
  [[]],
  { constructor: 1 },
]

/** The same value with one place changed to something unexpected. */
export function spoilt(value: unknown, random: Random): unknown {
  const copy = structuredClone(value)
  const holders: (Record<string, unknown> | unknown[])[] = []
  const visit = (at: unknown) => {
    if (typeof at !== 'object' || at === null) return
    holders.push(at as Record<string, unknown>)
    for (const inner of Object.values(at)) visit(inner)
  }
  visit(copy)
  if (holders.length === 0 || random.odds(0.05)) return random.pick(strange)
  const holder = random.pick(holders)
  if (Array.isArray(holder)) {
    if (random.odds(0.3)) for (let i = 0; i < 300; i++) holder.push(holder[0] ?? null)
    else holder[random.between(0, holder.length)] = random.pick(strange)
    return copy
  }
  const name = random.pick([...Object.keys(holder), 'unknown_member'])
  if (random.odds(0.25)) delete holder[name]
  else if (random.odds(0.1)) holder[name] = deep(random.pick([10, 200]))
  else holder[name] = random.pick(strange)
  return copy
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}
