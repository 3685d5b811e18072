// Values from a JSON schema: valid ones, and ones with a single error.
import type { Random } from './random.ts'

export type Schema = Readonly<Record<string, unknown>>

export interface Words {
  /** A string for a member of that name; null: any string that the schema accepts. */
  string(member: string, chance: Random): string | null
  resolve(reference: string): Schema
}

const DEPTH_MAX = 6

export function valueBy(schema: Schema, words: Words, chance: Random, member = '', depth = 0): unknown {
  if (typeof schema.$ref === 'string') return valueBy(words.resolve(schema.$ref), words, chance, member, depth)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return chance.pick(schema.enum)
  const choices = (schema.anyOf ?? schema.oneOf) as readonly Schema[] | undefined
  if (choices !== undefined) return valueBy(chance.pick(choices), words, chance, member, depth)
  const type = Array.isArray(schema.type) ? chance.pick(schema.type as string[]) : schema.type
  switch (type) {
    case 'null':
      return null
    case 'boolean':
      return chance.odds(0.5)
    case 'integer':
    case 'number': {
      const min = Number(schema.minimum ?? 0)
      const max = Math.min(Number(schema.maximum ?? 100), min + 1000)
      return type === 'integer' || chance.odds(0.5) ? chance.between(min, max) : min + (max - min) * 0.37
    }
    case 'string':
      return stringBy(schema, words, chance, member)
    case 'array': {
      const min = Number(schema.minItems ?? 0)
      const length = chance.between(min, Math.min(Number(schema.maxItems ?? 3), min + 3))
      const items = (schema.items ?? {}) as Schema
      return Array.from({ length: depth > DEPTH_MAX ? min : length }, () =>
        valueBy(items, words, chance, member, depth + 1),
      )
    }
    case 'object':
      return objectBy(schema, words, chance, depth)
    default:
      return depth > DEPTH_MAX ? null : anything(words, chance, member)
  }
}

function objectBy(schema: Schema, words: Words, chance: Random, depth: number): unknown {
  const required = new Set((schema.required ?? []) as readonly string[])
  const members = Object.entries((schema.properties ?? {}) as Record<string, Schema>)
    .filter(([name]) => required.has(name) || (depth <= DEPTH_MAX && chance.odds(0.4)))
    .map(([name, of]) => [name, valueBy(of, words, chance, name, depth + 1)])
  // An object schema without properties accepts any member.
  const more = schema.additionalProperties ?? (schema.properties === undefined ? {} : false)
  if (members.length === 0 && typeof more === 'object' && more !== null) {
    for (let i = chance.between(0, 3); i > 0; i--) {
      members.push([
        chance.pick(['a', 'min', 'email', 'role_arn']),
        valueBy(more as Schema, words, chance, '', depth + 1),
      ])
    }
  }
  return Object.fromEntries(members)
}

function stringBy(schema: Schema, words: Words, chance: Random, member: string): string {
  const word = words.string(member, chance)
  if (word !== null) return word
  if (schema.format === 'date-time') return chance.pick(['2099-01-01T00:00:00Z', '2030-02-28T23:59:59.5+02:00'])
  const min = Number(schema.minLength ?? 0)
  const max = Math.min(Number(schema.maxLength ?? 40), min + 40)
  const length = chance.pick([min, max, chance.between(min, max)])
  return Array.from({ length }, () => chance.pick(['a', 'b', 'z', '0', 'x'])).join('')
}

function anything(words: Words, chance: Random, member: string): unknown {
  return chance.pick([1, 1.5, true, 'text', ['a', 'b'], null, { a: 1 }, words.string(member, chance) ?? ''])
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
export function spoilt(value: unknown, chance: Random): unknown {
  const copy = structuredClone(value)
  const holders: (Record<string, unknown> | unknown[])[] = []
  const visit = (at: unknown) => {
    if (typeof at !== 'object' || at === null) return
    holders.push(at as Record<string, unknown>)
    for (const inner of Object.values(at)) visit(inner)
  }
  visit(copy)
  if (holders.length === 0 || chance.odds(0.05)) return chance.pick(strange)
  const holder = chance.pick(holders)
  if (Array.isArray(holder)) {
    if (chance.odds(0.3)) for (let i = 0; i < 300; i++) holder.push(holder[0] ?? null)
    else holder[chance.between(0, holder.length)] = chance.pick(strange)
    return copy
  }
  const name = chance.pick([...Object.keys(holder), 'unknown_member'])
  if (chance.odds(0.25)) delete holder[name]
  else if (chance.odds(0.1)) holder[name] = deep(chance.pick([10, 200]))
  else holder[name] = chance.pick(strange)
  return copy
}

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = i % 2 === 0 ? [value] : { a: value }
  return value
}
