// The rules by which nodes of one type are scored: the optional members of a profile with their defaults, compiled.
import { type CompiledRegex, compileRegex } from '../engine/value/regular-expression.ts'

/** The dimensions of a trust score, in the order of the interface. */
export const dimensionNames = ['VERIFICATION', 'ORIGIN', 'FRESHNESS', 'COMPLETENESS', 'VALIDITY'] as const
/** The name of a dimension. */
export type DimensionName = (typeof dimensionNames)[number]

/** A dimension of a profile with its weight in the final score. */
interface WeightedDimension {
  readonly name: DimensionName
  /** From 0 to 1; 0: computed, not counted. */
  readonly weight: number
}

/** A validity rule as a profile contains it. Each is judged only for nodes that have its property. */
type ValidityRule =
  /** A date that is not after the time of the pass. */
  | { readonly property: string; readonly rule: 'past' }
  /** A date that is not before the time of the pass. */
  | { readonly property: string; readonly rule: 'future' }
  /** A date. */
  | { readonly property: string; readonly rule: 'date' }
  /** A date that is not after the date in `other`. */
  | { readonly property: string; readonly rule: 'not_after'; readonly other: string }
  /** A string that the whole regular expression (RE2) matches. */
  | { readonly property: string; readonly rule: 'pattern'; readonly pattern: string }
  /** A number within the bounds, which are inclusive. */
  | { readonly property: string; readonly rule: 'range'; readonly minimum?: number; readonly maximum?: number }
  /** One of the strings. */
  | { readonly property: string; readonly rule: 'one_of'; readonly values: readonly string[] }

/** The members of a profile that decide about scores. Absent: the default. */
export interface ScoringOptions {
  readonly dimensions: readonly WeightedDimension[]
  /** Days. */
  readonly freshness_half_life_days?: number
  /** Days. */
  readonly verification_half_life_days?: number
  /** Trust in sources by name, from 0 to 1. */
  readonly sources?: Readonly<Record<string, number>>
  /** Trust in a source that `sources` does not name. */
  readonly named_source_trust?: number
  /** Trust in a property without source. */
  readonly unnamed_source_trust?: number
  /** Empty: those that at least half of the nodes of the type have. */
  readonly required_properties?: readonly string[]
  /** Empty: the rules by property name. */
  readonly validity_rules?: readonly ValidityRule[]
}

/** The values of absent members. */
export const defaultOptions = {
  freshness_half_life_days: 90,
  verification_half_life_days: 365,
  sources: {},
  named_source_trust: 0.5,
  unnamed_source_trust: 0,
  required_properties: [],
  validity_rules: [],
} as const

/** A validity rule that can be judged. */
export type CompiledRule = Exclude<ValidityRule, { rule: 'pattern' }> | PatternRule

interface PatternRule {
  readonly property: string
  readonly rule: 'pattern'
  readonly pattern: string
  readonly regex: CompiledRegex
}

/** Compiled rules. Immutable, except that `required` is learned from the nodes if the profile does not list it. */
export interface ScoringRules {
  readonly dimensions: readonly WeightedDimension[]
  readonly freshnessHalfLifeDays: number
  readonly verificationHalfLifeDays: number
  readonly sources: ReadonlyMap<string, number>
  readonly namedSourceTrust: number
  readonly unnamedSourceTrust: number
  /** The properties that a complete node has. */
  readonly required: ReadonlySet<string>
  /** Null: the rules follow from the names of properties (`roles`). */
  readonly validity: readonly CompiledRule[] | null
  /** Roles by property name. */
  readonly roles: DateRoles
}

/**
 * Compiles the options. `usual`: the properties that nodes of the type usually have, for a profile that lists none. Throws if a
 * pattern does not compile; the profile is checked when it is stored.
 */
export function compileRules(options: ScoringOptions, usual: readonly string[]): ScoringRules {
  const { required_properties: listed = [], validity_rules: rules = [] } = options
  return {
    dimensions: options.dimensions,
    freshnessHalfLifeDays: options.freshness_half_life_days ?? defaultOptions.freshness_half_life_days,
    verificationHalfLifeDays: options.verification_half_life_days ?? defaultOptions.verification_half_life_days,
    sources: new Map(Object.entries(options.sources ?? {})),
    namedSourceTrust: options.named_source_trust ?? defaultOptions.named_source_trust,
    unnamedSourceTrust: options.unnamed_source_trust ?? defaultOptions.unnamed_source_trust,
    required: new Set(listed.length > 0 ? listed : usual),
    validity: rules.length > 0 ? rules.map(compileRule) : null,
    roles: new DateRoles(),
  }
}

function compileRule(rule: ValidityRule): CompiledRule {
  if (rule.rule !== 'pattern') return rule
  const regex = compileRegex(rule.pattern)
  if (!regex.ok) throw new Error(`the pattern of \`${rule.property}\`: ${regex.error}`)
  return { ...rule, regex: regex.value }
}

/** Whether a pass has to count the properties of the nodes before it scores them. */
export function needsUsualProperties({ dimensions, required_properties: listed = [] }: ScoringOptions): boolean {
  return listed.length === 0 && dimensions.some(({ name }) => name === 'COMPLETENESS')
}

/** The properties that at least half of `nodes` have, in alphabetical order. */
export function usualProperties(counts: ReadonlyMap<string, number>, nodes: number): string[] {
  return [...counts]
    .filter(([, count]) => count * 2 >= nodes)
    .map(([name]) => name)
    .sort()
}

/** The role of a date by the name of its property; null: the name does not say that the value is a date. */
type DateRole = 'start' | 'end' | null

const startNames: ReadonlySet<string> = new Set(['issuedon', 'issuedat', 'issuedate', 'validfrom', 'validsince'])
const endNames: ReadonlySet<string> = new Set(['validuntil', 'validto', 'validthrough', 'expirydate', 'expirationdate'])

/** The roles of dates by the names of their properties. Remembers the names that it has seen: a type has few. */
export class DateRoles {
  private readonly known = new Map<string, DateRole>()

  /** The role that a property name gives to its value. Case, `_` and `-` do not matter: `issued_on` is `issuedOn`. */
  of(name: string): DateRole {
    let role = this.known.get(name)
    if (role === undefined) {
      role = roleOf(name)
      if (this.known.size < NAMES_MAX) this.known.set(name, role)
    }
    return role
  }
}

const NAMES_MAX = 10_000

function roleOf(name: string): DateRole {
  const plain = name.toLowerCase().replaceAll(/[_-]/g, '')
  if (startNames.has(plain)) return 'start'
  return endNames.has(plain) || plain.startsWith('expires') ? 'end' : null
}
