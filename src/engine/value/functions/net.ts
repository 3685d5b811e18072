// Functions over IP addresses and networks.
import { ExecutionError } from '../../errors.ts'
import { isList } from '../compare.ts'
import type { ExpressionContext } from '../expression-context.ts'
import { type IpNetwork, isWithin, parseNetwork } from '../ip-address.ts'
import type { Truth, Value } from '../value.ts'
import { type CypherFunction, defineFunction, requireString, wrongKindArgument } from './function.ts'

/** Parsing an address takes some microseconds. */
const PARSE_STEPS = 4

/** `net.contains` and `net.version`. */
export const netFunctions: readonly CypherFunction[] = [
  defineFunction('net.contains', 2, [['string', 'list'], ['string']], 'boolean', contains, { steps: 2 * PARSE_STEPS }),
  /** 4 or 6; null for a text that is neither an address nor a network. */
  defineFunction(
    'net.version',
    1,
    [['string']],
    'integer',
    (_, a) => parseNetwork(requireString('net.version', a))?.version ?? null,
    { steps: PARSE_STEPS },
  ),
]

/**
 * Whether an address, or each address of a network, is in a network, or in one of a list of networks. Three-valued as `IN`: a null in the
 * list leaves the result unknown unless another network contains the address.
 */
function contains(run: ExpressionContext, networks: Value, address: Value): Truth {
  const inner = networkOf(address, 'an address')
  if (typeof networks === 'string') return isWithin(networkOf(networks, 'a network'), inner)
  if (!isList(networks)) throw wrongKindArgument('net.contains', networks, 'a network or a list of networks')
  let truth: Truth = false
  for (const network of networks) {
    run.budget.chargeSteps(PARSE_STEPS)
    if (network === null) truth = null
    else if (isWithin(networkOf(network, 'a network'), inner)) return true
  }
  return truth
}

/** Longer texts are cut in messages. */
const QUOTED_LENGTH_MAX = 64

function networkOf(value: Value, what: string): IpNetwork {
  const text = requireString('net.contains', value)
  const network = parseNetwork(text)
  if (network !== null) return network
  const shown = text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text
  const expected = `net.contains() expects ${what} such as \`${what === 'a network' ? '10.0.0.0/8' : '10.0.0.1'}\` or \`2001:db8::1\`, not`
  throw new ExecutionError(
    'argument',
    `${expected} \`${shown}\``,
    null,
    'InvalidArgumentValue',
    `${expected} another text`,
  )
}
