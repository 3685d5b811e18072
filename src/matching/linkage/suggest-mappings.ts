// Suggests which properties of two node types are compared, from their names and samples of their values.
import { detectKind, nameWords } from './kinds.ts'
import { normalise } from './normalise.ts'
import { Similarity } from './similarity.ts'
import type { LinkageValue, MappingReason, PropertySamples, SuggestedMapping, ValueKind } from './types.ts'
import { ValueDictionary } from './value-dictionary.ts'

/** Suggestions with a lower score are left out. */
const LOWEST_SCORE = 0.5
/** Properties that fewer nodes of the sample have are not compared. */
const LOWEST_PRESENCE = 0.02
/** Values of each sample that are compared. */
const SAMPLE_VALUES = 5_000
/** Different property names that mean the same, as joined words. */
const synonyms: readonly (readonly string[])[] = [
  ['givenname', 'firstname', 'forename', 'vorname', 'fname', 'prenom'],
  ['surname', 'lastname', 'familyname', 'nachname', 'lname', 'nom'],
  ['name', 'fullname', 'displayname', 'commonname'],
  ['dateofbirth', 'birthdate', 'birthday', 'dob', 'born', 'geburtsdatum'],
  ['email', 'mail', 'emailaddress', 'mailaddress'],
  ['phone', 'telephone', 'tel', 'phonenumber', 'mobile', 'mobilephone', 'telephonenumber', 'cell'],
  ['postcode', 'zip', 'zipcode', 'postalcode', 'plz'],
  ['city', 'town', 'suburb', 'locality', 'ort', 'place'],
  ['street', 'address', 'streetaddress', 'address1', 'addressline1', 'strasse'],
  ['company', 'organisation', 'organization', 'employer', 'firm'],
  ['ssn', 'socialsecuritynumber', 'socsecid', 'nationalid'],
]
const synonymOf: ReadonlyMap<string, number> = new Map(
  synonyms.flatMap((group, at) => group.map((word): [string, number] => [word, at])),
)
/** Kinds whose values can be compared as text, and as codes. */
const textKinds: ReadonlySet<ValueKind> = new Set(['name', 'text', 'address', 'tokens'])
const codeKinds: ReadonlySet<ValueKind> = new Set(['code', 'exact', 'number', 'phone'])
/** So many common values give half of the possible overlap. */
const FEW_COMMON_VALUES = 10
/** A name that is a synonym is nearly as good as an equal one. */
const SYNONYM_SIMILARITY = 0.95

/** A property with its samples in normal form. */
interface SampledProperty {
  readonly name: string
  readonly kind: ValueKind
  /** By normalised value, how many nodes have it. */
  readonly counts: ReadonlyMap<string, number>
  readonly count: number
  readonly meanLength: number
}

/** The context of suggestions. */
interface SuggestionOptions {
  /** True: each property is compared with itself. */
  readonly isSameType: boolean
}

/**
 * Suggests mappings from samples of both types, best first; equal scores by name. Each property is in at most one of them.
 * Properties that are nearly always absent, or whose values are all equal, cannot distinguish nodes and are left out.
 */
export function suggestMappings(
  source: PropertySamples,
  target: PropertySamples,
  { isSameType }: SuggestionOptions,
): SuggestedMapping[] {
  const sources = presentProperties(source)
  const targets = isSameType ? sources : presentProperties(target)
  const candidates: SuggestedMapping[] = []
  for (const a of sources) {
    for (const b of isSameType ? [a] : targets) {
      const suggestion = suggestionOf(a, b)
      if (suggestion.score >= LOWEST_SCORE) candidates.push(suggestion)
    }
  }
  return best(candidates)
}

function presentProperties({ nodes, properties }: PropertySamples): SampledProperty[] {
  const present: SampledProperty[] = []
  for (const [name, all] of properties) {
    const values = all.slice(0, SAMPLE_VALUES)
    if (values.length === 0 || all.length < LOWEST_PRESENCE * nodes) continue
    present.push(sampled(name, values))
  }
  return present
}

function sampled(name: string, values: readonly LinkageValue[]): SampledProperty {
  const kind = detectKind([name], values)
  const counts = new Map<string, number>()
  let count = 0
  let length = 0
  for (const value of values) {
    const normal = normalise(kind, value)
    if (normal === null) continue
    counts.set(normal, (counts.get(normal) ?? 0) + 1)
    count += 1
    length += normal.length
  }
  return { name, kind, counts, count, meanLength: length / Math.max(1, count) }
}

function suggestionOf(a: SampledProperty, b: SampledProperty): SuggestedMapping {
  const reason: MappingReason = {
    names: nameSimilarity(a.name, b.name),
    values: overlap(a, b),
    form: formSimilarity(a, b),
  }
  // Names that are little alike say nothing; either equal names or common values are sufficient.
  const names = Math.max(0, (reason.names - 0.7) / 0.3)
  const isConstant = a.counts.size <= 1 && b.counts.size <= 1 && (a.counts.size === 0 || isSubset(a, b))
  const evidence = 1 - (1 - 0.9 * names) * (1 - 0.9 * reason.values)
  const score = isConstant ? 0 : evidence * (0.5 + 0.5 * reason.form)
  return { sourceProperty: a.name, targetProperty: b.name, kind: commonKind(a, b), cutoff: 0, score, reason }
}

function isSubset(a: SampledProperty, b: SampledProperty): boolean {
  for (const value of a.counts.keys()) if (!b.counts.has(value)) return false
  return true
}

/** Similarity of two property names, from 0 to 1: equal words, synonyms, or Jaro-Winkler. */
function nameSimilarity(a: string, b: string): number {
  const wordsA = nameWords(a)
  const wordsB = nameWords(b)
  const joinedA = wordsA.join('')
  const joinedB = wordsB.join('')
  if (joinedA === joinedB) return 1
  const group = synonymOf.get(joinedA)
  if (group !== undefined && group === synonymOf.get(joinedB)) return SYNONYM_SIMILARITY
  const dictionary = new ValueDictionary()
  const first = dictionary.intern(wordsA.join(' '))
  const second = dictionary.intern(wordsB.join(' '))
  // Numbers distinguish names: address_1 and address_2.
  if (digits(joinedA) !== digits(joinedB)) return 0.7 * new Similarity().of('name', dictionary, first, second)
  return new Similarity().of('name', dictionary, first, second)
}

function digits(text: string): string {
  return text.replace(/\P{N}+/gu, '')
}

/** The mean share of the nodes of a sample whose value occurs in the other sample. A few common values say little. */
function overlap(a: SampledProperty, b: SampledProperty): number {
  let common = 0
  let nodesA = 0
  let nodesB = 0
  for (const [value, count] of a.counts) {
    const other = b.counts.get(value)
    if (other === undefined) continue
    common += 1
    nodesA += count
    nodesB += other
  }
  if (common === 0) return 0
  return ((nodesA / a.count + nodesB / b.count) / 2) * (common / (common + FEW_COMMON_VALUES))
}

function formSimilarity(a: SampledProperty, b: SampledProperty): number {
  const lengths = Math.min(a.meanLength, b.meanLength) / Math.max(a.meanLength, b.meanLength, 1)
  if (a.kind === b.kind) return 0.5 + 0.5 * lengths
  const isText = [a, b].every(({ kind }) => textKinds.has(kind))
  const isCode = [a, b].every(({ kind }) => codeKinds.has(kind))
  return isText || isCode ? 0.5 * lengths : 0
}

/** The kind with which values of both properties can be compared. */
function commonKind(a: SampledProperty, b: SampledProperty): ValueKind {
  if (a.kind === b.kind) return a.kind
  for (const kind of ['tokens', 'text', 'address', 'name'] as const) if (a.kind === kind || b.kind === kind) return kind
  return 'code'
}

/** Each property once: the mappings with the highest scores. */
function best(candidates: SuggestedMapping[]): SuggestedMapping[] {
  candidates.sort(
    (a, b) =>
      b.score - a.score ||
      compareText(a.sourceProperty, b.sourceProperty) ||
      compareText(a.targetProperty, b.targetProperty),
  )
  const sources = new Set<string>()
  const targets = new Set<string>()
  return candidates.filter(({ sourceProperty, targetProperty }) => {
    if (sources.has(sourceProperty) || targets.has(targetProperty)) return false
    sources.add(sourceProperty)
    targets.add(targetProperty)
    return true
  })
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
