// What callers send as parameters, and what their tokens claim, as values: one reading for decisions and context queries.
import { ExecutionError } from '../engine/errors.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { Value } from '../engine/value/value.ts'
import type { Claims } from '../kernel/caller.ts'
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/format-path.ts'
import { JSON_DEPTH_MAX } from '../kernel/json.ts'

export type InputParams = Readonly<Record<string, unknown>>

export interface InputRules {
  /** Where the parameters stand in the request: `context.input_params`. */
  readonly at: string
  /** Names that only the service fills: whoever sends one would speak for a token, an application or another node. */
  readonly reserved: ReadonlySet<string>
  /** Characters of one string, however deep it stands in a parameter; the names of members are strings too. */
  readonly stringMax: number
}

/** What is refused whatever it is for; empty where nothing is. */
export function inputIssues(given: InputParams, { at, reserved, stringMax }: InputRules): readonly string[] {
  const issues: string[] = []
  for (const name of Object.keys(given)) {
    if (reserved.has(name)) issues.push(`${formatPath(at, [name])}: reserved, filled by the service`)
    if (name.length > stringMax) issues.push(`${at}: ${longName(name, stringMax)}`)
    const fault = faultIn(given[name], stringMax, 0)
    if (fault !== null) issues.push(`${formatPath(at, [name, ...(fault.steps ?? [])])}: ${fault.text}`)
  }
  return issues
}

/** Adds what the caller sent to `bound`, and answers what no value can hold. */
export function bindInputParams(bound: Map<string, Value>, given: InputParams): readonly string[] {
  const issues: string[] = []
  for (const name of Object.keys(given)) {
    const value = toValue(given[name])
    if (value === undefined) issues.push(missingParameterText(name))
    else bound.set(name, value)
  }
  return issues
}

export function missingParameterText(name: string): string {
  return `missing or wrong input params, '${name}'`
}

const noClaims: ReadonlyMap<string, Value> = new Map()

/** One token asks many questions. */
const claimMaps = new WeakMap<Claims, ReadonlyMap<string, Value>>()

/** Without a token there are none. A claim that no value can hold (an integer beyond 64 bits) is as good as absent. */
export function claimsToMap(claims: Claims | null | undefined): ReadonlyMap<string, Value> {
  if (claims == null) return noClaims
  const known = claimMaps.get(claims)
  if (known !== undefined) return known
  const map = new Map<string, Value>()
  for (const [name, claim] of Object.entries(claims)) {
    const value = toValue(claim)
    if (value !== undefined) map.set(name, value)
  }
  claimMaps.set(claims, map)
  return map
}

/** Undefined: no value can hold it. */
export function toValue(data: unknown): Value | undefined {
  try {
    return fromJson(data)
  } catch (refusal) {
    if (!(refusal instanceof ExecutionError)) throw refusal
    return undefined
  }
}

interface InputIssue {
  /** From the parameter to where it is; null: so far down that nobody would read the path. */
  readonly steps: (string | number)[] | null
  readonly text: string
}

/** The first one, in the order of the text. */
function faultIn(data: unknown, stringMax: number, depth: number): InputIssue | null {
  if (typeof data === 'string') {
    if (data.length <= stringMax) return null
    return { steps: [], text: `expected at most ${stringMax} characters, found ${data.length}` }
  }
  if (typeof data !== 'object' || data === null || data instanceof Float) return null
  if (depth >= JSON_DEPTH_MAX) return { steps: null, text: `nested deeper than ${JSON_DEPTH_MAX} levels` }
  // A list may be as long as a body, and its indices as names would cost more than all else that is done with it.
  if (Array.isArray(data)) {
    for (let i = 0; i < data.length; i++) {
      const fault = faultIn(data[i], stringMax, depth + 1)
      if (fault !== null) return within(fault, i)
    }
    return null
  }
  for (const name of Object.keys(data)) {
    if (name.length > stringMax) return { steps: [], text: longName(name, stringMax) }
    const fault = faultIn((data as InputParams)[name], stringMax, depth + 1)
    if (fault !== null) return within(fault, name)
  }
  return null
}

function within(fault: InputIssue, step: string | number): InputIssue {
  fault.steps?.unshift(step)
  return fault
}

function longName(name: string, stringMax: number): string {
  return `expected names of at most ${stringMax} characters, found one of ${name.length}`
}
