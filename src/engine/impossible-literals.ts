// Finds temporal values and networks that do not exist, such as `date('2024-02-30')` and `10.0.0.0/33`: a condition that computes one fails at each request. Reads the
// syntax tree; lint reports the findings, and a policy with one is refused when it is stored.
import type { Expression, FunctionCall, Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import { walkTree } from '../../grammar/walk.ts'
import { Float } from '../kernel/float.ts'
import { ExecutionError } from './errors.ts'
import { parseNetwork } from './value/ip-address.ts'
import { construct } from './value/temporal/construct.ts'
import type { TemporalKind } from './value/temporal/temporal.ts'
import type { Value } from './value/value.ts'

/** A call that fails whenever it is computed. */
interface ImpossibleLiteral {
  readonly span: Span
  readonly message: string
}

const constructors: ReadonlyMap<string, TemporalKind> = new Map(
  (['date', 'localtime', 'time', 'localdatetime', 'datetime', 'duration'] as const).map((kind) => [kind, kind]),
)

/** The impossible literals of a text; none if the text does not parse. */
export function impossibleLiteralsIn(text: string): readonly ImpossibleLiteral[] {
  const parsed = parse(text)
  return parsed.ok ? impossibleLiterals(parsed.query) : []
}

/** The impossible literals of a query. */
export function impossibleLiterals(query: Query): readonly ImpossibleLiteral[] {
  const found: ImpossibleLiteral[] = []
  walkTree(query, (node) => {
    if (node.kind !== 'function') return
    const failure = failureOf(node)
    if (failure !== null) found.push({ span: node.span, message: `${node.name.text}() always fails: ${failure}` })
  })
  return found
}

/** Null if every argument that is a text is a network or an address. */
function networkFailure({ args }: FunctionCall): string | null {
  const texts = args.flatMap((arg) => (arg.kind === 'list' ? arg.items : [arg])).map(literalOf)
  const wrong = texts.find((text) => typeof text === 'string' && parseNetwork(text) === null)
  return wrong === undefined ? null : `\`${String(wrong)}\` is neither a network nor an address`
}

/** Null if the call is no constructor, if its argument is no literal, or if it gives a value. */
function failureOf(call: FunctionCall): string | null {
  const { name, args } = call
  if (name.text.toLowerCase() === 'net.contains') return networkFailure(call)
  const kind = constructors.get(name.text.toLowerCase())
  if (kind === undefined || args.length !== 1) return null
  const value = literalOf(args[0]!)
  // A map with only a time zone gives the present time there.
  if (value === undefined || (value instanceof Map && value.size === 1 && value.has('timezone'))) return null
  try {
    construct(kind, value)
    return null
  } catch (error) {
    if (error instanceof ExecutionError) return error.message
    throw error
  }
}

/** The value of a text, a number, null, or a map of these; undefined for any other expression. */
function literalOf(expression: Expression): Value | undefined {
  switch (expression.kind) {
    case 'string':
    case 'integer':
      return expression.value
    case 'float':
      return new Float(expression.value)
    case 'null':
      return null
    case 'map': {
      const entries = expression.entries.map(({ key, value }) => [key.text, literalOf(value)] as const)
      return entries.every((entry): entry is [string, Value] => entry[1] !== undefined) ? new Map(entries) : undefined
    }
    default:
      return undefined
  }
}
