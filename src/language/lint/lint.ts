// `verdigraph lint`: checks the policies and Cypher texts of files, each alone and all together.
import { nearestName } from '../../../grammar/suggest.ts'
import { UnknownSymbols } from '../../engine/unknown-symbols.ts'
import { ok } from '../../kernel/result.ts'
import type { ProjectModel } from '../../model/project-model.ts'
import { modelSymbols } from '../../model/stored-model.ts'
import { type AskedAction, isModelFile, type LanguageDocument, readPolicies } from '../source/policy-source.ts'
import { type CompiledSource, compileSource } from './compile-source.ts'
import { type AnalysedPolicy, isCoveredBy } from './covered-by.ts'
import { asKnownSymbols, type DataNames } from './data-names.ts'
import { type LintFinding, type RawFinding, toFinding } from './finding.ts'
import { ignoreCommentsOf } from './ignore-comments.ts'
import { analysed, lintPolicy } from './lint-policy.ts'
import { type FindModel, nearestModel, ProjectModels } from './project-models.ts'
import { urlSecrets } from './url-secrets.ts'

/** The input of a check. */
interface LintInput {
  readonly documents: readonly LanguageDocument[]
  /** Finds the model of a document. Default: among the documents. */
  readonly modelOf?: FindModel
  /** The names of the data; null: unknown names are not looked for. */
  readonly names: DataNames | null
  /** Actions that callers ask for, besides those of scenarios. */
  readonly actions: readonly string[]
}

/** Pairs of policies of one question that one check compares. */
const PAIRS_MAX = 20_000

/** Checks documents. Returns the findings in the order of files and places. */
export function lint({
  documents,
  names,
  actions,
  modelOf = nearestModel(documents),
}: LintInput): readonly LintFinding[] {
  const unknown =
    names === null
      ? null
      : (model: ProjectModel | null) => new UnknownSymbols([asKnownSymbols(names), modelSymbols(ok(model))])
  const granting: CompiledSource[] = []
  const never: CompiledSource[] = []
  const asked: AskedAction[] = actions.map((name) => ({ name, document: null, span: { start: 0, end: 0 } }))
  const raw: RawFinding[] = []
  const comments = new Map(documents.map((document) => [document.file, ignoreCommentsOf(document)]))
  const models = new ProjectModels(modelOf)
  for (const document of documents) {
    if (isModelFile(document)) {
      raw.push(...models.faultsOf(document))
      continue
    }
    const read = readPolicies(document)
    asked.push(...read.asked)
    raw.push(...read.issues.map((issue): RawFinding => ({ rule: 'invalid-document', document, ...issue })))
    raw.push(...(comments.get(document.file)?.issues ?? []), ...urlSecrets(document))
    for (const source of read.policies) {
      // The service does not check a draft either.
      if (source.status === 'DRAFT') continue
      const model = models.of(document.file)
      const result = compileSource(source, model)
      if (result.ok) {
        const findings = lintPolicy(result.value, unknown?.(model) ?? null)
        raw.push(...findings)
        // Every policy covers one that grants nothing.
        if (!findings.some(({ rule }) => rule === 'never-grants')) granting.push(result.value)
        else never.push(result.value)
      } else raw.push(...result.error)
    }
  }
  const active = ({ source, kind }: CompiledSource): boolean => source.status === 'ACTIVE' && kind === 'decision'
  const used = [...granting, ...never].filter(active)
  const grants = ({ effect }: CompiledSource): boolean => effect === 'permit'
  raw.push(
    ...covered(granting.filter((one) => active(one) && grants(one))),
    ...unnamedActions(used, asked),
    ...forbiddenInVain(used, used.filter(grants)),
  )
  const order = new Map(documents.map(({ file }, i) => [file, i]))
  return raw
    .map(toFinding)
    .filter((finding) => comments.get(finding.file)?.isIgnored(finding) !== true)
    .sort(
      (a, b) =>
        (order.get(a.file) ?? -1) - (order.get(b.file) ?? -1) ||
        a.line - b.line ||
        a.column - b.column ||
        (a.rule < b.rule ? -1 : 1),
    )
}

/** Of two policies that cover each other, the later one is reported. */
function covered(policies: readonly CompiledSource[]): RawFinding[] {
  const byTypes = Map.groupBy(policies, ({ subjectType, resourceType }) => JSON.stringify([subjectType, resourceType]))
  let pairsLeft = PAIRS_MAX
  return [...byTypes.values()].flatMap((group) => {
    const candidates = group.map((compiled) => ({ compiled, policy: analysedPolicy(compiled) }))
    return candidates.flatMap(({ compiled, policy }, i): RawFinding[] => {
      const other = candidates.find((candidate, j) => {
        // With another model, equal texts may mean different things.
        if (i === j || candidate.compiled.model !== compiled.model || pairsLeft-- <= 0) return false
        return isCoveredBy(policy, candidate.policy) && (j < i || !isCoveredBy(candidate.policy, policy))
      })
      if (other === undefined) return []
      const { source } = compiled
      const { name, document } = other.compiled.source
      const where = document === source.document ? '' : ` (${document.file})`
      const message = `the policy \`${name}\`${where} grants everything that this policy grants`
      return [{ rule: 'covered-policy', document: source.document, span: source.spanOf(['subject']), message }]
    })
  })
}

/** The actions of policies that forbid which no policy grants for the two types. */
function forbiddenInVain(policies: readonly CompiledSource[], grants: readonly CompiledSource[]): RawFinding[] {
  const keysOf = ({ subjectType, resourceType, actions }: CompiledSource): readonly (readonly [string, string])[] =>
    actions.map((action) => [action, JSON.stringify([subjectType, action, resourceType])])
  const granted = new Set(grants.flatMap((one) => keysOf(one).map(([, key]) => key)))
  return policies.flatMap((one): RawFinding[] => {
    if (one.effect !== 'forbid') return []
    const { source, subjectType, resourceType } = one
    return keysOf(one).flatMap(([action, key], i): RawFinding[] => {
      if (granted.has(key)) return []
      const message = `no active policy grants \`${action}\` for ${subjectType} and ${resourceType}, so there is nothing to forbid`
      return [
        { rule: 'forbid-without-permit', document: source.document, span: source.spanOf(['actions', i]), message },
      ]
    })
  })
}

function analysedPolicy(compiled: CompiledSource): AnalysedPolicy {
  const { version, actions, source, inputParameters, query, filterSource } = compiled
  return { ...analysed(compiled), version, actions, tags: source.tags, inputParameters, query, filterSource }
}

function unnamedActions(policies: readonly CompiledSource[], asked: readonly AskedAction[]): RawFinding[] {
  const named = new Set(policies.flatMap(({ actions }) => actions))
  return asked.flatMap(({ name, document, span }): RawFinding[] => {
    if (named.has(name)) return []
    const suggestion = nearestName(name, named)
    const message = `no active policy names the action \`${name}\`${suggestion === null ? '' : `; did you mean \`${suggestion}\`?`}`
    return [{ rule: 'unnamed-action', document, span, message, suggestion }]
  })
}
