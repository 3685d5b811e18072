// The configuration kind of trust score profiles: which nodes are scored, when, by which rules, and the weight of each dimension.
import { z } from 'zod'
import { defineKind, field, hidden, shown } from '../config/define-kind.ts'
import { capturedType, propertyName } from '../config/element-schemas.ts'
import type { CheckContext, ConfigReader, DocumentFields, StoredDocument } from '../config/kind.ts'
import { compileRegex } from '../engine/value/regular-expression.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { undeclaredLabels, undeclaredProperties } from '../model/stored-model.ts'
import { progressOf } from './run-state.ts'
import { defaultOptions, dimensionNames, type ScoringOptions } from './scoring-rules.ts'

/** Kind name of trust score profiles. */
export const trustScoreProfilesKind = 'trust-score-profiles'

/** How often a profile runs. */
export const schedules = ['THREE_HOURS', 'SIX_HOURS', 'TWELVE_HOURS', 'DAILY'] as const
/** The schedule of a profile. */
export type TrustScoreSchedule = (typeof schedules)[number]

/** Entries of lists and tables of a profile. */
const ENTRIES_MAX = 1000
const DAYS_MAX = 36_500

const dimensionName = z.enum(dimensionNames).meta({ id: 'TrustDimensionName' })
const schedule = z.enum(schedules).meta({ id: 'TrustScoreSchedule' })
const fraction = z.number().min(0).max(1)
const dimension = z.strictObject({ name: dimensionName, weight: fraction }).meta({ id: 'TrustDimension' })

/** A dimension of weight 0 is computed but not part of the score, so at least one weight must be above 0. */
const dimensions = z
  .array(dimension)
  .min(1)
  .refine((all) => new Set(all.map(({ name }) => name)).size === all.length, { error: 'duplicate dimension' })
  .refine((all) => all.some(({ weight }) => weight > 0), { error: 'expected at least one weight above 0' })

/** One object with the members of all rules: generators make one type of it. */
const documentedRule = z
  .strictObject({
    property: propertyName,
    rule: z.enum(['past', 'future', 'date', 'not_after', 'pattern', 'range', 'one_of']),
    other: propertyName.optional().describe('for `not_after`: the property with the later date'),
    pattern: z.string().min(1).max(1000).optional().describe('for `pattern`: a regular expression (RE2)'),
    minimum: z.number().optional().describe('for `range`'),
    maximum: z.number().optional().describe('for `range`'),
    values: z.array(z.string()).min(1).max(ENTRIES_MAX).optional().describe('for `one_of`'),
  })
  .meta({ id: 'TrustValidityRule', description: 'Each rule has its own members; others are refused.' })
const rule = z
  .discriminatedUnion('rule', [
    z.strictObject({ property: propertyName, rule: z.literal('past') }),
    z.strictObject({ property: propertyName, rule: z.literal('future') }),
    z.strictObject({ property: propertyName, rule: z.literal('date') }),
    z.strictObject({ property: propertyName, rule: z.literal('not_after'), other: propertyName }),
    z.strictObject({ property: propertyName, rule: z.literal('pattern'), pattern: z.string().min(1).max(1000) }),
    z.strictObject({
      property: propertyName,
      rule: z.literal('range'),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
    }),
    z.strictObject({
      property: propertyName,
      rule: z.literal('one_of'),
      values: z.array(z.string()).min(1).max(ENTRIES_MAX),
    }),
  ])
  .meta({ documentedAs: documentedRule })

const halfLife = z.number().min(1).max(DAYS_MAX)
const sources = z
  .record(z.string().min(1).max(256), fraction)
  .refine((all) => Object.keys(all).length <= ENTRIES_MAX, { error: `expected at most ${ENTRIES_MAX} members` })

/** The members that extend the interface. Their defaults keep every body of the interface valid. */
const scoringMembers = {
  freshness_half_life_days: halfLife.describe('days after which the freshness of a value has halved; default 90'),
  verification_half_life_days: halfLife.describe('days after which a verification counts half; default 365'),
  sources: sources.describe('the trust in sources by name; default: empty'),
  named_source_trust: fraction.describe('the trust in a source that `sources` does not name; default 0.5'),
  unnamed_source_trust: fraction.describe('the trust in a property without source; default 0'),
  required_properties: z
    .array(propertyName)
    .max(ENTRIES_MAX)
    .refine((all) => new Set(all).size === all.length, { error: 'duplicate property' })
    .describe('the properties of a complete node; default: those that at least half of the nodes of the type have'),
  validity_rules: z
    .array(rule)
    .max(ENTRIES_MAX)
    .describe('what valid properties fulfil; default: rules for dates such as `issued_on` and `valid_until`'),
  keep_scores: z.boolean().describe('true: the scores stay in the graph when the profile is deleted; default false'),
}
const scoringFields = Object.fromEntries(
  Object.entries({ ...defaultOptions, keep_scores: false }).map(([name, value]) => {
    const member = scoringMembers[name as keyof typeof scoringMembers]
    return [name, field(member).read(member).default(value)]
  }),
)

const dimensionTimes = z
  .strictObject({ execution_start_time: z.string(), execution_end_time: z.string() })
  .meta({ id: 'TrustDimensionTimes' })
const progress = z
  .strictObject({
    run_id: z.string(),
    start_time: z.string(),
    phase: z.enum(['count', 'score', 'sweep']).describe('counting properties, scoring nodes, removing old scores'),
    nodes_scored: z.int(),
    nodes_total: z.int().describe('the nodes of the type when the pass began'),
  })
  .meta({ id: 'TrustScoringProgress' })

/** The kind `trust-score-profiles`. */
export const trustScoreProfiles = defineKind({
  path: trustScoreProfilesKind,
  label: 'trust score profile',
  fields: {
    node_classification: field(capturedType).required().fixed(),
    dimensions: field(dimensions).required(),
    schedule: field(schedule).required(),
    ...scoringFields,
    // The state of the last run; empty before the first. A run changes it without a new revision.
    last_run_id: shown(z.string()).default(''),
    last_run_start_time: shown(z.string()).default(''),
    last_run_end_time: shown(z.string()).default(''),
    dimensions_execution_times: shown(z.partialRecord(dimensionName, dimensionTimes)).default({}),
    last_error: shown(z.string().describe('why the last pass failed; empty: it did not fail')).default(''),
    run_progress: shown(progress.nullable().describe('the pass in progress; null: no pass runs')),
    run: hidden(),
    report: hidden(),
    requested_run: hidden(),
    retry: hidden(),
    last_result: hidden(),
  },
  check,
  computedFields: ({ fields }) => ({ run_progress: progressOf(fields) }),
})

function check(
  fields: DocumentFields,
  { reader, current, parent, body }: CheckContext,
): Result<{ fields: DocumentFields }, ServiceError> {
  const issues = ((fields.validity_rules ?? []) as ScoringOptions['validity_rules'] & object).flatMap((one, i) => {
    const at = `validity_rules[${i}]`
    if (one.rule === 'range') {
      const { minimum, maximum } = one
      if (minimum === undefined && maximum === undefined) return [`${at}: expected \`minimum\` or \`maximum\``]
      return minimum !== undefined && maximum !== undefined && minimum > maximum
        ? [`${at}.minimum: expected at most \`maximum\``]
        : []
    }
    if (one.rule === 'not_after' && one.other === one.property) return [`${at}.other: expected another property`]
    if (one.rule !== 'pattern') return []
    const regex = compileRegex(one.pattern)
    return regex.ok ? [] : [`${at}.pattern: ${regex.error}`]
  })
  const type = fields.node_classification as string
  const rules = (fields.validity_rules ?? []) as readonly { readonly property: string; readonly other?: string }[]
  // An update of other members keeps names that were stored before the model declared types.
  const isNamed = current === null || body.validity_rules !== undefined || body.required_properties !== undefined
  if (isNamed)
    issues.push(
      ...undeclaredLabels(reader, parent.id, [['node_classification', type]]),
      ...undeclaredProperties(reader, parent.id, type, [
        ...((fields.required_properties ?? []) as readonly string[]).map(
          (name, i) => [`required_properties[${i}]`, name] as const,
        ),
        ...rules.flatMap(({ property, other }, i) => [
          [`validity_rules[${i}].property`, property] as const,
          ...(other === undefined ? [] : [[`validity_rules[${i}].other`, other] as const]),
        ]),
      ]),
    )
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const other = reader
    .inScope(trustScoreProfilesKind, parent.id)
    .find((profile) => profile.id !== current?.id && profile.fields.node_classification === type)
  // A node has one score: two profiles of a type would overwrite each other's.
  if (other !== undefined) {
    return err({ kind: 'conflict', message: `\`${type}\` nodes are scored already, by the profile \`${other.name}\`` })
  }
  return ok({ fields })
}

/** The members of a profile that decide about scores. */
export function scoringOptionsOf({ fields }: StoredDocument): ScoringOptions {
  return fields as unknown as ScoringOptions
}

/** The weights of the profile that scores a node type, by dimension in lower case. Null: no profile does. */
export function dimensionWeights(
  documents: ConfigReader,
  projectId: string,
  nodeType: string,
): ReadonlyMap<string, number> | null {
  const profile = documents
    .inScope(trustScoreProfilesKind, projectId)
    .find(({ fields }) => fields.node_classification === nodeType)
  if (profile === undefined) return null
  return new Map(scoringOptionsOf(profile).dimensions.map(({ name, weight }) => [name.toLowerCase(), weight]))
}
