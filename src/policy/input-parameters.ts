// Validates and converts input parameters and token claims, for decisions and context queries alike.
import { ExecutionError } from '../engine/errors.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { Value } from '../engine/value/value.ts'
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { JSON_DEPTH_MAX } from '../kernel/json/json.ts'
import type { Claims } from '../kernel/request/caller.ts'

/** The `input_params` of a request, as parsed JSON. */
export type InputParams = Readonly<Record<string, unknown>>

/** The rules that every input parameter must satisfy. */
interface InputRules {
  /** Path of the parameters in the request, for messages: `context.input_params`. */
  readonly at: string
  /** Names that only the service binds: a caller who set one could act as another token, application or node. */
  readonly reserved: ReadonlySet<string>
  /** Maximum characters of one string at any depth; member names are strings too. */
  readonly stringMax: number
}

/**
 * Returns the issues of the parameters, whether or not a policy reads them: reserved names, strings that are too long,
 * data nested too deep. Empty if none exist.
 */
export function inputIssues(params: InputParams, { at, reserved, stringMax }: InputRules): readonly string[] {
  const issues: string[] = []
  for (const name of Object.keys(params)) {
    if (reserved.has(name)) issues.push(`${formatPath(at, [name])}: reserved, filled by the service`)
    if (name.length > stringMax) issues.push(`${at}: ${longNameText(name, stringMax)}`)
    const issue = findIssue(params[name], stringMax, 0)
    if (issue !== null) issues.push(`${formatPath(at, [name, ...(issue.steps ?? [])])}: ${issue.text}`)
  }
  return issues
}

/** Adds the caller's parameters to `bound`. Returns an issue for each value that the engine cannot represent. */
export function bindInputParams(bound: Map<string, Value>, params: InputParams): readonly string[] {
  const issues: string[] = []
  for (const name of Object.keys(params)) {
    const value = toValue(params[name])
    if (value === undefined) issues.push(missingParameterText(name))
    else bound.set(name, value)
  }
  return issues
}

/** The message for a parameter that is missing or has the wrong type; fixed by the interface. */
export function missingParameterText(name: string): string {
  return `missing or wrong input params, '${name}'`
}

/** The error for missing input parameters. */
export interface MissingParameters {
  readonly ok: false
  readonly error: { readonly kind: 'invalid'; readonly issues: readonly string[] }
  /** Their names, each once. */
  readonly missing: readonly string[]
}

/** Makes the error for missing input parameters. */
export function missingParameters(names: Iterable<string>): MissingParameters {
  const missing = [...new Set(names)]
  return { ok: false, error: { kind: 'invalid', issues: missing.map(missingParameterText) }, missing }
}

const noClaims: ReadonlyMap<string, Value> = new Map()

/** Cached by claims object, because one token serves many requests. */
const claimMaps = new WeakMap<Claims, ReadonlyMap<string, Value>>()

/**
 * Converts token claims; an empty map without a token. A claim that the engine cannot represent (an integer beyond 64
 * bits) is left out.
 */
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

/** Converts JSON data to an engine value; undefined if it has none. */
export function toValue(data: unknown): Value | undefined {
  try {
    return fromJson(data)
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    return undefined
  }
}

interface InputIssue {
  /** Path from the parameter to the value; null if it is too deep to be useful. */
  readonly steps: (string | number)[] | null
  readonly text: string
}

/** Returns the first issue in document order, or null. */
function findIssue(data: unknown, stringMax: number, depth: number): InputIssue | null {
  if (typeof data === 'string') {
    if (data.length <= stringMax) return null
    return { steps: [], text: `expected at most ${stringMax} characters, found ${data.length}` }
  }
  if (typeof data !== 'object' || data === null || data instanceof Float) return null
  if (depth >= JSON_DEPTH_MAX) return { steps: null, text: `nested deeper than ${JSON_DEPTH_MAX} levels` }
  // Iterates by index: a list may be as long as the body, and its indices as strings would cost more than the rest of
  // the check.
  if (Array.isArray(data)) {
    for (let i = 0; i < data.length; i++) {
      const issue = findIssue(data[i], stringMax, depth + 1)
      if (issue !== null) return below(issue, i)
    }
    return null
  }
  for (const name of Object.keys(data)) {
    if (name.length > stringMax) return { steps: [], text: longNameText(name, stringMax) }
    const issue = findIssue((data as InputParams)[name], stringMax, depth + 1)
    if (issue !== null) return below(issue, name)
  }
  return null
}

function below(issue: InputIssue, step: string | number): InputIssue {
  issue.steps?.unshift(step)
  return issue
}

function longNameText(name: string, stringMax: number): string {
  return `expected names of at most ${stringMax} characters, found one of ${name.length}`
}
