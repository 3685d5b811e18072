// The functions and aggregates of the reference interpreter: one line of meaning each.
import {
  equivalenceKey,
  type Identities,
  isList,
  isMap,
  isNode,
  isNumber,
  isPath,
  isRelationship,
  NotInReference,
  ReferenceFault,
  totalOrder,
  type Value,
} from './values.ts'

const INTEGER_MAX = 2n ** 63n - 1n

/** An integer of 64 bits, or a fault. */
export function integer(value: bigint): bigint {
  if (value > INTEGER_MAX || value < -INTEGER_MAX - 1n) throw new ReferenceFault('integer overflow')
  return value
}

export const AGGREGATES: ReadonlySet<string> = new Set(['count', 'collect', 'avg', 'min', 'max', 'sum'])

const wrong = (name: string): never => {
  throw new ReferenceFault(`${name}() does not take that argument`)
}

function text(value: Value): string {
  if (typeof value === 'number') return Number.isInteger(value) ? `${value}.0` : String(value)
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' ? value : wrong('toString')
}

/** Functions of one argument, which is not null: null of null is said once, below. */
const FUNCTIONS: Readonly<Record<string, (of: Value) => Value>> = {
  size: (of) => (typeof of === 'string' || isList(of) ? BigInt(of.length) : wrong('size')),
  length: (of) => (isPath(of) ? BigInt(of.relationships.length) : wrong('length')),
  toLower: (of) => (typeof of === 'string' ? of.toLowerCase() : wrong('toLower')),
  toUpper: (of) => (typeof of === 'string' ? of.toUpperCase() : wrong('toUpper')),
  toString: (of: Value) => text(of),
  abs: (of) => {
    if (!isNumber(of)) return wrong('abs')
    return typeof of === 'bigint' ? integer(of < 0n ? -of : of) : Math.abs(of)
  },
  labels: (of) => (isNode(of) ? [...new Set([of.type, ...of.labels])] : wrong('labels')),
  type: (of) => (isRelationship(of) ? of.type : wrong('type')),
  keys: (of) => {
    if (isNode(of) || isRelationship(of)) return [...of.properties.keys()]
    return isMap(of) ? [...of.keys()] : wrong('keys')
  },
  head: (of) => (isList(of) ? (of[0] ?? null) : wrong('head')),
  last: (of) => (isList(of) ? (of.at(-1) ?? null) : wrong('last')),
  nodes: (of) => (isPath(of) ? of.nodes : wrong('nodes')),
  relationships: (of) => (isPath(of) ? of.relationships : wrong('relationships')),
  startNode: (of) => (isRelationship(of) ? of.source : wrong('startNode')),
  endNode: (of) => (isRelationship(of) ? of.target : wrong('endNode')),
}
const BY_LOWER_CASE = new Map(Object.entries(FUNCTIONS).map(([name, call]) => [name.toLowerCase(), call]))

export function callFunction(name: string, args: readonly Value[]): Value {
  const lower = name.toLowerCase()
  if (lower === 'coalesce') return args.find((arg) => arg !== null) ?? null
  if (lower === 'exists') return args[0] !== null
  const call = BY_LOWER_CASE.get(lower)
  if (!call || args.length !== 1) throw new NotInReference(`function ${name} of ${args.length} arguments`)
  const [of = null] = args
  return of === null ? null : call(of)
}

/** An aggregate over the values of its argument, one for each row of the group. Nulls do not take part. */
export function aggregate(name: string, all: readonly Value[], distinct: boolean, identities: Identities): Value {
  let values = all.filter((value) => value !== null)
  if (distinct) values = [...new Map(values.map((value) => [equivalenceKey(value, identities), value])).values()]
  switch (name.toLowerCase()) {
    case 'count':
      return BigInt(values.length)
    case 'collect':
      return values
    case 'min':
      return values.length === 0 ? null : values.reduce((a, b) => (totalOrder(b, a) < 0 ? b : a))
    case 'max':
      return values.length === 0 ? null : values.reduce((a, b) => (totalOrder(b, a) > 0 ? b : a))
    case 'sum':
      return sum(values)
    case 'avg':
      return values.length === 0 ? null : Number(sum(values)) / values.length
    default:
      throw new NotInReference(`aggregate ${name}`)
  }
}

/** A sum of integers is an integer; one float makes it a float. */
function sum(values: readonly Value[]): bigint | number {
  const numbers = values.map((value) => (isNumber(value) ? value : (wrong('sum') as never)))
  if (numbers.every((value) => typeof value === 'bigint')) return integer(numbers.reduce((a, b) => a + b, 0n))
  return numbers.reduce<number>((a, b) => a + Number(b), 0)
}
