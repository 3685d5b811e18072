// A naive model of trust scores, written from the text of docs/explanation/trust-scores.md alone. It shares no code with the service:
// it works on captured bodies, and computes with calendar dates and lists.

export interface ScoreModelProperty {
  readonly type: string
  readonly value: unknown
  readonly metadata?: { readonly source?: string; readonly assurance_level?: number; readonly verified_time?: string }
  /** When it was captured. */
  readonly updated: Date
}

export interface ScoreModelNode {
  readonly updated: Date
  readonly properties: readonly ScoreModelProperty[]
}

export interface ScoreModelRule {
  readonly property: string
  readonly rule: string
  readonly other?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly values?: readonly string[]
}

export interface ScoreModelProfile {
  readonly dimensions: readonly { readonly name: string; readonly weight: number }[]
  readonly freshness_half_life_days?: number
  readonly verification_half_life_days?: number
  readonly sources?: Readonly<Record<string, number>>
  readonly named_source_trust?: number
  readonly unnamed_source_trust?: number
  readonly required_properties?: readonly string[]
  readonly validity_rules?: readonly ScoreModelRule[]
}

const mean = (all: readonly number[]): number | null =>
  all.length === 0 ? null : all.reduce((a, b) => a + b, 0) / all.length

const midnight = (date: Date): number => Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate())
const days = (date: Date, now: Date): number => Math.max(0, Math.round((midnight(now) - midnight(date)) / 86_400_000))
const halved = (age: number, halfLife: number): number => Math.exp((-Math.LN2 * age) / halfLife)

/** The scores of all nodes of a type: by dimension in lower case, and `_final_score`. What is absent is left out. */
export function modelScores(
  nodes: readonly ScoreModelNode[],
  profile: ScoreModelProfile,
  now: Date,
): Record<string, number>[] {
  const listed = profile.required_properties ?? []
  const names = new Set(nodes.flatMap((node) => node.properties.map(({ type }) => type)))
  const having = (name: string): number =>
    nodes.filter(({ properties }) => properties.some(({ type }) => type === name)).length
  const required = listed.length > 0 ? listed : [...names].filter((name) => having(name) >= nodes.length / 2)
  return nodes.map((node) => scoreOf(node, profile, required, now))
}

function scoreOf(
  node: ScoreModelNode,
  profile: ScoreModelProfile,
  required: readonly string[],
  now: Date,
): Record<string, number> {
  const { properties } = node
  const values: Record<string, number | null> = {
    FRESHNESS: mean(
      [node.updated, ...properties.map(({ updated }) => updated)].map((time) =>
        halved(days(time, now), profile.freshness_half_life_days ?? 90),
      ),
    ),
    VERIFICATION: mean(
      properties.map(({ metadata }) => {
        if (metadata?.verified_time === undefined) return 0
        const time = new Date(metadata.verified_time)
        return time > now ? 0 : halved(days(time, now), profile.verification_half_life_days ?? 365)
      }),
    ),
    ORIGIN: mean(
      properties.map(({ metadata }) => {
        const { source = '', assurance_level } = metadata ?? {}
        let trust = profile.named_source_trust ?? 0.5
        if (source === '') trust = profile.unnamed_source_trust ?? 0
        else if (Object.keys(profile.sources ?? {}).includes(source)) trust = profile.sources![source]!
        return assurance_level === undefined ? trust : trust / 2 + assurance_level / 6
      }),
    ),
    COMPLETENESS: mean(
      required.map((name) => {
        const value = properties.find(({ type }) => type === name)?.value
        const isEmpty = value === undefined || (typeof value === 'string' && !/\S/.test(value))
        return isEmpty || (Array.isArray(value) && value.length === 0) ? 0 : 1
      }),
    ),
    VALIDITY: mean(verdicts(properties, profile.validity_rules ?? [], now).map((one) => (one ? 1 : 0))),
  }
  const score: Record<string, number> = {}
  let sum = 0
  let weights = 0
  for (const { name, weight } of profile.dimensions) {
    const value = values[name]
    if (value === null || value === undefined) continue
    score[name.toLowerCase()] = value
    sum += value * weight
    weights += weight
  }
  if (weights > 0) score._final_score = sum / weights
  return score
}

function verdicts(properties: readonly ScoreModelProperty[], rules: readonly ScoreModelRule[], now: Date): boolean[] {
  const found = (name: string | undefined): unknown => properties.find(({ type }) => type === name)?.value
  if (rules.length > 0) {
    return rules.flatMap((rule) => {
      const value = found(rule.property)
      if (value === undefined) return []
      if (rule.rule !== 'not_after') return [isFulfilled(rule, value, now)]
      const other = found(rule.other)
      return other === undefined ? [] : [inOrder(value, other)]
    })
  }
  const plain = ({ type }: ScoreModelProperty): string => type.replace(/[_-]/g, '').toLowerCase()
  const starts = properties.filter((one) =>
    ['issuedon', 'issuedat', 'issuedate', 'validfrom', 'validsince'].includes(plain(one)),
  )
  const ends = properties.filter(
    (one) =>
      ['validuntil', 'validto', 'validthrough', 'expirydate', 'expirationdate'].includes(plain(one)) ||
      plain(one).indexOf('expires') === 0,
  )
  return [
    ...starts.map(({ value }) => isFulfilled({ property: '', rule: 'past' }, value, now)),
    ...ends.map(({ value }) => isFulfilled({ property: '', rule: 'future' }, value, now)),
    ...starts.flatMap((start) => ends.map((end) => inOrder(start.value, end.value))),
  ]
}

function isFulfilled(rule: ScoreModelRule, value: unknown, now: Date): boolean {
  const date = range(value)
  if (rule.rule === 'past') return date !== null && date[0] <= now.getTime()
  if (rule.rule === 'future') return date !== null && date[1] >= now.getTime()
  if (rule.rule === 'date') return date !== null
  if (rule.rule === 'pattern') return typeof value === 'string' && new RegExp(`^(?:${rule.pattern})$`, 'u').test(value)
  if (rule.rule === 'one_of') return rule.values!.includes(value as string)
  return (
    typeof value === 'number' &&
    (rule.minimum === undefined || value >= rule.minimum) &&
    (rule.maximum === undefined || value <= rule.maximum)
  )
}

function inOrder(first: unknown, second: unknown): boolean {
  const [start, end] = [range(first), range(second)]
  return start !== null && end !== null && start[0] <= end[1]
}

/** The first and the last millisecond of a day or a timestamp. */
function range(value: unknown): readonly [number, number] | null {
  if (typeof value !== 'string') return null
  const parts = /^(\d\d\d\d)-(\d\d)-(\d\d)(T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))?$/.exec(value)
  if (parts === null) return null
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])]
  const date = new Date(Date.UTC(year, month - 1, day))
  // A day that does not exist becomes one of the next month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || month < 1) return null
  if (parts[4] === undefined) return [date.getTime(), date.getTime() + 86_399_999]
  const ms = new Date(value).getTime()
  return Number.isNaN(ms) ? null : [ms, ms]
}
