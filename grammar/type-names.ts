// The names of the types of values, as `IS :: TYPE` writes them.
import type { Span } from './ast.ts'
import { suggestion } from './suggest.ts'
import { throwSyntaxError } from './syntax-error.ts'
import type { ValueTypeName } from './value-types.ts'

/** Every spelling of a type, in upper case, and its name in the normal form. */
const typeNames: ReadonlyMap<string, ValueTypeName> = new Map<string, ValueTypeName>([
  ...(
    [
      ...['NOTHING', 'NULL', 'BOOLEAN', 'STRING', 'INTEGER', 'FLOAT', 'DATE', 'LOCAL TIME', 'ZONED TIME'],
      ...['LOCAL DATETIME', 'ZONED DATETIME', 'DURATION', 'POINT', 'NODE', 'RELATIONSHIP', 'MAP', 'LIST', 'PATH'],
      ...['PROPERTY VALUE', 'ANY'],
    ] as ValueTypeName[]
  ).map((name) => [name, name] as const),
  ['BOOL', 'BOOLEAN'],
  ['VARCHAR', 'STRING'],
  ['INT', 'INTEGER'],
  ['SIGNED INTEGER', 'INTEGER'],
  ['TIME WITHOUT TIMEZONE', 'LOCAL TIME'],
  ['TIME WITHOUT TIME ZONE', 'LOCAL TIME'],
  ['TIME WITH TIMEZONE', 'ZONED TIME'],
  ['TIME WITH TIME ZONE', 'ZONED TIME'],
  ['TIMESTAMP WITHOUT TIMEZONE', 'LOCAL DATETIME'],
  ['TIMESTAMP WITHOUT TIME ZONE', 'LOCAL DATETIME'],
  ['TIMESTAMP WITH TIMEZONE', 'ZONED DATETIME'],
  ['TIMESTAMP WITH TIME ZONE', 'ZONED DATETIME'],
  ['VERTEX', 'NODE'],
  ['ANY NODE', 'NODE'],
  ['ANY VERTEX', 'NODE'],
  ['EDGE', 'RELATIONSHIP'],
  ['ANY EDGE', 'RELATIONSHIP'],
  ['ANY RELATIONSHIP', 'RELATIONSHIP'],
  ['ANY MAP', 'MAP'],
  ['ARRAY', 'LIST'],
  ['ANY PROPERTY VALUE', 'PROPERTY VALUE'],
  ['ANY VALUE', 'ANY'],
])

/** The types in their normal form. */
export function valueTypeNames(): ReadonlySet<ValueTypeName> {
  return new Set(typeNames.values())
}

/** Whether a type has a name that begins with the words and then the next one. */
export function continuesTypeName(words: readonly string[], next: string): boolean {
  const beginning = [...words, next].join(' ').toUpperCase()
  for (const name of typeNames.keys()) if (name === beginning || name.startsWith(`${beginning} `)) return true
  return false
}

/** Returns the type with that name. Throws CypherSyntaxError if none has it. */
export function readTypeName(words: readonly string[], span: Span): ValueTypeName {
  const text = words.join(' ').toUpperCase()
  const name = typeNames.get(text)
  if (name !== undefined) return name
  const isVector = text === 'VECTOR'
  const message = isVector
    ? 'the type `VECTOR` is not supported: values have no vectors'
    : `unknown type \`${words.join(' ')}\`${suggestion(text, typeNames.keys())}`
  throwSyntaxError({
    code: isVector ? 'NotSupported' : 'UnknownType',
    message,
    span,
    found: `\`${words.join(' ')}\``,
    expected: 'a type such as `INTEGER`',
  })
}
