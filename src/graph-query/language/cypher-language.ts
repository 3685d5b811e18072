// Checks and completes Cypher for editors: the rules of `verdigraph lint` and the completion of the language server, over a graph.
import type { Span } from '../../../grammar/ast.ts'
import { compileConditionRows } from '../../engine/condition-rows.ts'
import { compileCondition } from '../../engine/conditions.ts'
import { compileRowsQuery } from '../../engine/rows-query.ts'
import type { Snapshot } from '../../engine/store.ts'
import { UnknownSymbols } from '../../engine/unknown-symbols.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { namesDefinedIn } from '../../kernel/text/cypher-names.ts'
import { type CompiledSource, compileSource } from '../../language/lint/compile-source.ts'
import type { DataNames } from '../../language/lint/data-names.ts'
import type { RawFinding } from '../../language/lint/finding.ts'
import { lintPolicy } from '../../language/lint/lint-policy.ts'
import { lintRules } from '../../language/lint/rules.ts'
import { completionsAt } from '../../language/server/complete.ts'
import { plainText } from '../../language/source/located-text.ts'
import type { MemberPath, PolicySource } from '../../language/source/policy-source.ts'
import { definitionRemarks } from '../../model/definition-remarks.ts'
import { compileModel, type ProjectModel } from '../../model/project-model.ts'
import { modelSymbols, type StoredModel } from '../../model/stored-model.ts'
import {
  type CheckAnswer,
  type CheckFinding,
  type CheckRequest,
  COMPLETIONS_MAX,
  type CompletionAnswer,
  type CompletionRequest,
  type CypherLanguage,
} from '../check-schema.ts'
import type { GraphNames } from '../graph-names.ts'
import { countsOf, stepOf } from '../run-graph-query.ts'

/** The language of the service. */
export function cypherLanguage(): CypherLanguage {
  return { check, complete }
}

const cypherMember = 'condition.cypher'

function check({ query, policy, model }: CheckRequest, snapshot: Snapshot, stored: StoredModel): CheckAnswer {
  if (model !== undefined) return { findings: modelErrors(model), plans: [], parameters: [] }
  // Without the definitions, the text could mean another thing.
  if (!stored.ok) return { findings: stored.error.map(modelFault), plans: [], parameters: [] }
  const project = stored.value
  const refused = query === undefined ? [] : queryErrors(query, project)
  if (refused.length > 0) return { findings: refused, plans: [], parameters: [] }
  const source = sourceOf(query ?? cypherOf(policy), policy ?? null)
  const compiled = compileSource(source, project)
  const toFinding = (raw: RawFinding): CheckFinding => findingOf(raw, policy === undefined ? '' : cypherMember)
  if (!compiled.ok) return { findings: inOrder(compiled.error.map(toFinding)), plans: [], parameters: [] }
  return {
    findings: inOrder(lintPolicy(compiled.value, new UnknownSymbols([snapshot, modelSymbols(stored)])).map(toFinding)),
    ...planned(compiled.value, snapshot),
  }
}

/** A query over a graph has a dialect of its own: clauses that write are refused. */
function queryErrors(text: string, model: ProjectModel | null): CheckFinding[] {
  const compiled = compileRowsQuery(text, undefined, 'query', model?.definitions ?? undefined)
  if (compiled.ok) return []
  return compiled.error.map(({ message, span }) =>
    findingOf({ rule: 'invalid-cypher', document: null, span: shown(span), message }, ''),
  )
}

function modelErrors(text: string): CheckFinding[] {
  const compiled = compileModel(text)
  if (compiled.ok) {
    return inOrder(definitionRemarks(text).map((remark) => findingOf({ ...remark, document: null }, '')))
  }
  return inOrder(
    compiled.error.map(({ message, span }) =>
      findingOf({ rule: 'invalid-model', document: null, span: shown(span), message }, ''),
    ),
  )
}

/** An issue of the stored model, in a text that uses it. */
function modelFault(issue: string): CheckFinding {
  const [message = ''] = issue.split('\n')
  return { rule: 'invalid-model', severity: 'error', message, suggestion: null, member: '', start: 0, end: 1 }
}

/** Other members first, then the text from its start. */
function inOrder(findings: readonly CheckFinding[]): CheckFinding[] {
  return [...findings].sort((a, b) => (a.start ?? -1) - (b.start ?? -1))
}

/** An editor can only show a span with a character. */
function shown({ start, end }: Span): Span {
  return { start, end: Math.max(end, start + 1) }
}

function cypherOf(policy: unknown): string | null {
  const condition = isJsonObject(policy) ? policy.condition : undefined
  const cypher = isJsonObject(condition) ? condition.cypher : undefined
  return typeof cypher === 'string' ? cypher : null
}

/** A source whose document is the Cypher text alone, so that places in the document are places in the text. */
function sourceOf(cypher: string | null, policy: unknown): PolicySource {
  const text = cypher ?? ''
  return {
    document: { file: '', text },
    name: '',
    policy,
    status: 'ACTIVE',
    tags: [],
    cypher: cypher === null ? null : plainText(cypher),
    replaceCypher: (replaced) => ({ span: { start: 0, end: text.length }, text: replaced }),
    spanOf: () => ({ start: 0, end: 0 }),
  }
}

function findingOf({ rule, span, message, suggestion = null, member }: RawFinding, textMember: string): CheckFinding {
  const shared = { rule, severity: lintRules[rule].severity, message, suggestion }
  return member === undefined
    ? { ...shared, member: textMember, start: span.start, end: span.end }
    : { ...shared, member: pathText(member), start: null, end: null }
}

/** A path as text: `condition.filter.operands[0]`. */
function pathText(path: MemberPath): string {
  return path.map((step, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('')
}

type Planned = Pick<CheckAnswer, 'plans' | 'parameters'>

function planned(compiled: CompiledSource, snapshot: Snapshot): Planned {
  const definitions = compiled.model?.definitions ?? undefined
  const { source, kind, version, subjectType, resourceType, inputParameters } = compiled
  const text = source.cypher?.text ?? ''
  const counts = countsOf(snapshot)
  if (kind === 'cypher') {
    const rows = compileRowsQuery(text, undefined, 'query', definitions)
    if (!rows.ok) return { plans: [], parameters: [] }
    return {
      plans: [{ use: 'rows', plan: stepOf(rows.value.describe(counts)) }],
      parameters: [...rows.value.parameters],
    }
  }
  if (subjectType === null) return { plans: [], parameters: [...inputParameters] }
  if (kind === 'context') {
    const filterable = compileConditionRows({
      text,
      dialect: '1.0-ciq',
      subjectType,
      ...(definitions !== undefined && { definitions }),
    })
    const rows = filterable.ok ? filterable.value.withFilter(null) : filterable
    return rows.ok
      ? { plans: [{ use: 'rows', plan: stepOf(rows.value.describe(counts)) }], parameters: [...rows.value.parameters] }
      : { plans: [], parameters: [] }
  }
  const dialect = version === '2.0-kbac' ? version : '3.0-kbac'
  const condition = compileCondition({
    text,
    dialect,
    subjectType,
    resourceType: resourceType ?? '',
    ...(definitions !== undefined && { definitions }),
  })
  if (!condition.ok) return { plans: [], parameters: [...inputParameters] }
  const plans = (['check', 'resources', 'subjects'] as const).map((use) => ({
    use,
    plan: stepOf(condition.value.describe(use, counts)),
  }))
  return { plans, parameters: [...inputParameters] }
}

function complete({ text, offset }: CompletionRequest, found: GraphNames, model: StoredModel): CompletionAnswer {
  const declared = modelSymbols(model)
  const names: DataNames = {
    label: new Set([...declared.symbolNames('label'), ...withoutOwn(found.labels)]),
    type: new Set([...declared.symbolNames('type'), ...namesDefinedIn(text), ...withoutOwn(found.relationship_types)]),
    property: new Set([...declared.symbolNames('property'), ...withoutOwn(found.properties)]),
  }
  const word = /[\p{L}\p{M}\p{N}_$]*$/u.exec(text.slice(0, offset))?.[0].toLowerCase() ?? ''
  const all = completionsAt(text, offset, names)
  // Names that begin with the word come before those that contain it.
  const ranked = [
    ...all.filter((one) => one.text.toLowerCase().startsWith(word)),
    ...all.filter((one) => one.text.toLowerCase().indexOf(word) > 0),
  ]
  const completions = ranked.slice(0, COMPLETIONS_MAX).map(({ text: completed, kind }) => ({ text: completed, kind }))
  return { completions, truncated: ranked.length > COMPLETIONS_MAX }
}

/** Names that begin with an underscore are those of the service's own nodes. */
function withoutOwn(names: readonly string[]): ReadonlySet<string> {
  return new Set(names.filter((name) => !name.startsWith('_')))
}
