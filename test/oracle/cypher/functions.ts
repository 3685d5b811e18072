// The functions of the reference interpreter, one line each, for those that policies and context queries use. Functions
// of the clock or of random numbers, and temporal functions, are left out.
import ipaddr from 'ipaddr.js'
import {
  equal,
  isList,
  isMap,
  isNode,
  isNumber,
  isPath,
  isRelationship,
  NotInReference,
  ReferenceEvaluationError,
  type ReferenceValue,
} from './values.ts'

const INTEGER_MAX = 2n ** 63n - 1n

/** A 64-bit integer, or an error. */
export function integer(value: bigint): bigint {
  if (value > INTEGER_MAX || value < -INTEGER_MAX - 1n) throw new ReferenceEvaluationError('integer overflow')
  return value
}

function wrong(name: string): never {
  throw new ReferenceEvaluationError(`${name}() does not take that argument`)
}

// ---------------------------------------------------------------- reading arguments

const string = (name: string, value: ReferenceValue): string => (typeof value === 'string' ? value : wrong(name))
const list = (name: string, value: ReferenceValue): readonly ReferenceValue[] => (isList(value) ? value : wrong(name))
const double = (name: string, value: ReferenceValue): number => (isNumber(value) ? Number(value) : wrong(name))
const count = (name: string, value: ReferenceValue): number =>
  typeof value === 'bigint' && value >= 0n ? Number(value) : wrong(name)

// ---------------------------------------------------------------- conversions

/** `undefined`: the value cannot be converted, which is an error; null: a text that is not such a value. */
type Converted = ReferenceValue | undefined

const NUMERAL = /^(?<sign>[+-]?)(?=\.?\d)(?<whole>\d*)(\.(?<rest>\d*))?([eE](?<power>[+-]?\d+))?$/
const FLOAT_NUMERAL =
  /^[\0-\x20]*(?<number>[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(?=[fFdD]?[\0-\x20]*$)|Infinity(?=[\0-\x20]*$)|NaN(?=[\0-\x20]*$)))/
const HEXADECIMAL_NUMERAL =
  /^[\0-\x20]*(?<sign>[+-]?)0x(?=\.?[\da-f])(?<whole>[\da-f]*)(\.(?<rest>[\da-f]*))?p(?<power>[+-]?\d+)[fd]?[\0-\x20]*$/i
/** White space of `Character.isWhitespace` in Java. */
const SPACE = '[\\t-\\r\\x1c-\\x20\\u1680\\u2000-\\u2006\\u2008-\\u200a\\u2028\\u2029\\u205f\\u3000]+'
const LEADING = new RegExp(`^${SPACE}`)
const TRAILING = new RegExp(`${SPACE}$`)

function toText(value: ReferenceValue): Converted {
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : String(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' ? value : undefined
}

function toInteger(value: ReferenceValue): Converted {
  if (typeof value === 'bigint') return value
  if (typeof value === 'boolean') return value ? 1n : 0n
  if (typeof value === 'number') return integer(BigInt(Math.trunc(value)))
  if (typeof value !== 'string') return undefined
  const { sign, whole = '', rest = '', power = '0' } = NUMERAL.exec(value)?.groups ?? {}
  if (sign === undefined) return null
  if (Math.abs(Number(power)) > 1000) throw new NotInReference('a large power of ten')
  // As a fraction of two integers.
  let [above, below] = [BigInt(whole + rest), 10n ** BigInt(rest.length)]
  if (power.startsWith('-')) below *= 10n ** BigInt(power.slice(1))
  else above *= 10n ** BigInt(power)
  if (sign === '-') above = -above
  if (above > INTEGER_MAX * below || above < -(INTEGER_MAX + 1n) * below)
    throw new ReferenceEvaluationError('toInteger: the number is too large')
  return above / below
}

function toFloat(value: ReferenceValue): Converted {
  if (isNumber(value)) return Number(value)
  if (typeof value !== 'string') return undefined
  const number = FLOAT_NUMERAL.exec(value)?.groups?.number
  if (number !== undefined) return Number(number)
  const { sign, whole = '', rest = '', power = '0' } = HEXADECIMAL_NUMERAL.exec(value)?.groups ?? {}
  if (sign === undefined) return null
  // So many digits are exact, and no power of two is lost.
  if (whole.length + rest.length > 13 || Math.abs(Number(power)) > 900)
    throw new NotInReference('a long hexadecimal float')
  const magnitude = Number(`0x0${whole}${rest}`) * 16 ** -rest.length * 2 ** Number(power)
  return sign === '-' ? -magnitude : magnitude
}

function toBoolean(value: ReferenceValue): Converted {
  if (typeof value === 'boolean') return value
  if (typeof value === 'bigint') return value !== 0n
  if (typeof value !== 'string') return undefined
  const word = value.replace(LEADING, '').replace(TRAILING, '').toLowerCase()
  return word === 'true' ? true : word === 'false' ? false : null
}

/** A text with a number that is too large is no error. */
function withoutRange(convert: (value: ReferenceValue) => Converted, value: ReferenceValue): ReferenceValue {
  try {
    return convert(value) ?? null
  } catch (error) {
    if (typeof value === 'string' && error instanceof ReferenceEvaluationError) return null
    throw error
  }
}

const CONVERSIONS: Readonly<Record<string, (value: ReferenceValue) => Converted>> = {
  toText,
  toInteger,
  toFloat,
  toBoolean,
}

// ---------------------------------------------------------------- the table

/** For arguments that are not null; null arguments are handled below. */
type Meaning = (a: ReferenceValue, b: ReferenceValue, c: ReferenceValue) => ReferenceValue

const FUNCTIONS: Readonly<Record<string, readonly [min: number, max: number, meaning: Meaning]>> = {
  size: [1, 1, (a) => (typeof a === 'string' || isList(a) ? BigInt(a.length) : wrong('size'))],
  length: [1, 1, (a) => (isPath(a) ? BigInt(a.relationships.length) : wrong('length'))],
  char_length: [1, 1, (a) => BigInt(string('char_length', a).length)],
  isEmpty: [
    1,
    1,
    (a) => (isMap(a) ? a.size === 0 : typeof a === 'string' || isList(a) ? a.length === 0 : wrong('isEmpty')),
  ],
  head: [1, 1, (a) => list('head', a)[0] ?? null],
  last: [1, 1, (a) => list('last', a).at(-1) ?? null],
  tail: [1, 1, (a) => list('tail', a).slice(1)],
  reverse: [1, 1, (a) => (typeof a === 'string' ? [...a].reverse().join('') : [...list('reverse', a)].reverse())],
  range: [2, 3, range],

  toLower: [1, 1, (a) => string('toLower', a).toLowerCase()],
  toUpper: [1, 1, (a) => string('toUpper', a).toUpperCase()],
  trim: [1, 1, (a) => string('trim', a).replace(LEADING, '').replace(TRAILING, '')],
  lTrim: [1, 1, (a) => string('lTrim', a).replace(LEADING, '')],
  rTrim: [1, 1, (a) => string('rTrim', a).replace(TRAILING, '')],
  left: [2, 2, (a, b) => string('left', a).slice(0, count('left', b))],
  right: [2, 2, (a, b) => string('right', a).slice(Math.max(0, string('right', a).length - count('right', b)))],
  split: [2, 2, (a, b) => string('split', a).split(string('split', b))],
  replace: [3, 3, (a, b, c) => string('replace', a).replaceAll(string('replace', b), () => string('replace', c))],
  substring: [
    2,
    3,
    (a, b, c) => {
      const rest = string('substring', a).slice(count('substring', b))
      return c === undefined ? rest : rest.slice(0, count('substring', c))
    },
  ],

  abs: [1, 1, (a) => (typeof a === 'bigint' ? integer(a < 0n ? -a : a) : Math.abs(double('abs', a)))],
  sign: [1, 1, (a) => BigInt(Math.sign(double('sign', a)))],
  ceil: [1, 1, (a) => Math.ceil(double('ceil', a))],
  floor: [1, 1, (a) => Math.floor(double('floor', a))],
  sqrt: [1, 1, (a) => Math.sqrt(double('sqrt', a))],
  round: [1, 1, (a) => Math.floor(double('round', a) + 0.5)],

  labels: [1, 1, (a) => (isNode(a) ? [...new Set([a.type, ...a.labels])] : wrong('labels'))],
  type: [1, 1, (a) => (isRelationship(a) ? a.type : wrong('type'))],
  keys: [
    1,
    1,
    (a) => (isMap(a) ? [...a.keys()] : isNode(a) || isRelationship(a) ? [...a.properties.keys()] : wrong('keys')),
  ],
  properties: [1, 1, (a) => (isMap(a) ? a : isNode(a) || isRelationship(a) ? a.properties : wrong('properties'))],
  startNode: [1, 1, (a) => (isRelationship(a) ? a.source : wrong('startNode'))],
  endNode: [1, 1, (a) => (isRelationship(a) ? a.target : wrong('endNode'))],
  nodes: [1, 1, (a) => (isPath(a) ? a.nodes : wrong('nodes'))],
  relationships: [1, 1, (a) => (isPath(a) ? a.relationships : wrong('relationships'))],

  'net.contains': [2, 2, (a, b) => netContains(a, network(string('net.contains', b)) ?? wrong('net.contains'))],
  'net.version': [1, 1, (a) => networkVersion(string('net.version', a))],

  ...Object.fromEntries(
    Object.entries(CONVERSIONS).flatMap(([key, convert]): [string, [number, number, Meaning]][] => {
      const name = key === 'toText' ? 'toString' : key
      return [
        [name, [1, 1, (a) => convert(a) ?? (convert(a) === null ? null : wrong(name))]],
        [`${name}OrNull`, [1, 1, (a) => withoutRange(convert, a)]],
      ]
    }),
  ),
}

const BY_LOWER_CASE = new Map(Object.entries(FUNCTIONS).map(([name, entry]) => [name.toLowerCase(), entry]))
const ALIASES: ReadonlyMap<string, string> = new Map([
  ['upper', 'toupper'],
  ['lower', 'tolower'],
  ['character_length', 'char_length'],
  ['rels', 'relationships'],
])

type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, prefix: number]

/** By the library that outgoing connections use, without its spellings that other readers take for another address. */
function network(text: string): Network | null {
  const [address = '', prefix, ...more] = text.split('/')
  if (more.length > 0 || (prefix !== undefined && !/^(0|[1-9][0-9]{0,2})$/.test(prefix))) return null
  const isPlain = address.includes(':')
    ? ipaddr.IPv6.isValid(address) && !address.includes('%') && !/(^|[.:])0\d+\./.test(address)
    : ipaddr.IPv4.isValidFourPartDecimal(address)
  if (!isPlain) return null
  const parsed = ipaddr.parse(address)
  const length = parsed.kind() === 'ipv4' ? 32 : 128
  const bits = prefix === undefined ? length : Number(prefix)
  if (bits > length) return null
  if (parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && bits >= 96) {
    return [parsed.toIPv4Address(), bits - 96]
  }
  return [parsed, bits]
}

function networkVersion(text: string): ReferenceValue {
  const kind = network(text)?.[0].kind()
  return kind === undefined ? null : kind === 'ipv4' ? 4n : 6n
}

function netContains(networks: ReferenceValue, [address, bits]: Network): ReferenceValue {
  const inOne = (value: ReferenceValue): ReferenceValue => {
    if (value === null) return null
    const [base, prefix] = network(string('net.contains', value)) ?? wrong('net.contains')
    return base.kind() === address.kind() && prefix <= bits && address.match(base as never, prefix)
  }
  if (!isList(networks)) return inOne(string('net.contains', networks))
  let isUnknown = false
  for (const one of networks) {
    const truth = inOne(one)
    if (truth === true) return true
    if (truth === null) isUnknown = true
  }
  return isUnknown ? null : false
}

/** Both ends inclusive; a step away from the end gives an empty list. */
function range(from: ReferenceValue, to: ReferenceValue, step: ReferenceValue | undefined): ReferenceValue {
  const by = step === undefined ? 1n : step
  if (typeof from !== 'bigint' || typeof to !== 'bigint' || typeof by !== 'bigint' || by === 0n) return wrong('range')
  const items: bigint[] = []
  for (let item = from; by > 0n ? item <= to : item >= to; item += by) items.push(item)
  return items
}

export function callFunction(name: string, args: readonly ReferenceValue[]): ReferenceValue {
  const lower = name.toLowerCase()
  if (lower === 'coalesce') return args.find((arg) => arg !== null) ?? null
  if (lower === 'exists' && args.length === 1) return args[0] !== null
  if (lower === 'nullif' && args.length === 2) {
    const [a = null, b = null] = args
    return equal(a, b) === true ? null : a
  }
  const [min, max, meaning] = BY_LOWER_CASE.get(ALIASES.get(lower) ?? lower) ?? []
  if (!meaning || args.length < (min as number) || args.length > (max as number)) {
    throw new NotInReference(`function ${name} of ${args.length} arguments`)
  }
  if (args.includes(null)) return null
  return meaning(...(args as [ReferenceValue, ReferenceValue, ReferenceValue]))
}
