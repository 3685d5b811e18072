// Compiles a policy source to what the rules read, or to findings about its errors.
import type { Query, Span } from '../../../grammar/ast.ts'
import type { Diagnostic } from '../../../grammar/diagnostic.ts'
import { parse } from '../../../grammar/index.ts'
import type { BoundQuery } from '../../engine/bind/bound.ts'
import type { DialectName } from '../../engine/bind/dialect.ts'
import { compileText, findUnboundVariables } from '../../engine/prepared-query.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { ProjectModel } from '../../model/project-model.ts'
import { type ContextPolicy, compileContextDocument } from '../../policy/compile-context.ts'
import { compileDecisionDocument } from '../../policy/compile-policy.ts'
import { contextVersion } from '../../policy/context-document.ts'
import type { PolicyEffect } from '../../policy/decision-document.ts'
import { parseDocument } from '../../policy/document-json.ts'
import type { PolicyFilter } from '../../policy/policy-filter.ts'
import { readPolicyFilter } from '../../policy/read-policy-filter.ts'
import { plainText, spanInFile } from '../source/located-text.ts'
import { type MemberPath, type PolicySource, versionOf } from '../source/policy-source.ts'
import type { RawFinding } from './finding.ts'

/** A policy, or a Cypher text alone, that compiles. */
export interface CompiledSource {
  readonly source: PolicySource
  readonly kind: 'decision' | 'context' | 'cypher'
  readonly version: string
  readonly effect: PolicyEffect
  readonly query: Query
  readonly bound: BoundQuery
  readonly subjectType: string | null
  readonly resourceType: string | null
  readonly actions: readonly string[]
  readonly filter: PolicyFilter | null
  readonly filterSource: unknown
  readonly contextPolicy: ContextPolicy | null
  readonly inputParameters: readonly string[]
  /** The model of the project that it was compiled with. */
  readonly model: ProjectModel | null
  /** The span in the file of a span of the Cypher text. */
  place(span: Span): Span
}

/** Compiles a source. `model`: that of its project. The error holds one finding for each problem. */
export function compileSource(
  source: PolicySource,
  model: ProjectModel | null = null,
): Result<CompiledSource, readonly RawFinding[]> {
  if (source.policy === null) return compileCypher(source, model)
  const { document } = source
  const cypher = source.cypher ?? plainText('')
  const place = (span: Span): Span => spanInFile(cypher, span)
  const version = versionOf(source)
  const dialect = isPolicyVersion(version) ? version : null
  const text = compileCondition(source, dialect, model)
  const json = parseDocument(JSON.stringify(source.policy) ?? 'null', 'policy')
  const compiled = !json.ok
    ? json
    : version === contextVersion
      ? context(json.value, model)
      : decision(json.value, model)
  if (compiled.ok && text?.ok) {
    return ok({
      source,
      kind: version === contextVersion ? 'context' : 'decision',
      version,
      model,
      place,
      ...text.value,
      ...compiled.value,
    })
  }
  const ofText: RawFinding[] =
    text === null || text.ok
      ? []
      : text.error.map(({ message, span }) => ({
          rule: 'invalid-cypher',
          document,
          span: place(span),
          message,
          suggestion: suggestionIn(message),
        }))
  const issues = compiled.ok ? [] : compiled.error
  const others = issues.filter((issue) => ofText.length === 0 || !issue.startsWith('policy.condition.cypher: line'))
  return err([
    ...ofText,
    ...others.map((issue): RawFinding => {
      const { path, message } = splitIssue(issue)
      return { rule: 'invalid-document', document, span: source.spanOf(path), message, member: path }
    }),
  ])
}

type Errors = readonly string[]
type PolicyPart = Pick<
  CompiledSource,
  | 'effect'
  | 'subjectType'
  | 'resourceType'
  | 'actions'
  | 'filter'
  | 'filterSource'
  | 'contextPolicy'
  | 'inputParameters'
>

function decision(json: unknown, model: ProjectModel | null): Result<PolicyPart, Errors> {
  const compiled = compileDecisionDocument(json, model)
  if (!compiled.ok) return compiled
  const { effect, subjectType, resourceType, actions, filter, inputParameters, document } = compiled.value
  return ok({
    effect,
    subjectType,
    resourceType,
    actions,
    filter,
    filterSource: document.condition.filter,
    contextPolicy: null,
    inputParameters,
  })
}

function context(json: unknown, model: ProjectModel | null): Result<PolicyPart, Errors> {
  const compiled = compileContextDocument(json, model)
  if (!compiled.ok) return compiled
  const { document } = compiled.value
  const { token_filter } = document.condition
  const filter = readPolicyFilter(token_filter, 'policy.condition.token_filter', false)
  return ok({
    effect: 'permit',
    subjectType: document.subject.type,
    resourceType: null,
    actions: [],
    filter: filter.ok ? filter.value : null,
    filterSource: token_filter,
    contextPolicy: compiled.value,
    inputParameters: [],
  })
}

/** Null: there is no text to compile, which the policy compiler reports. */
function compileCondition(
  source: PolicySource,
  dialect: DialectName | null,
  model: ProjectModel | null,
): Result<Pick<CompiledSource, 'query' | 'bound'>, readonly Diagnostic[]> | null {
  if (source.cypher === null || dialect === null) return null
  const compiled = compileText(source.cypher.text, dialect, 'condition', model?.definitions ?? undefined)
  if (!compiled.ok) return compiled
  const { bound, query } = compiled.value
  const names = dialect === contextVersion ? ['subject'] : ['subject', 'resource']
  const unbound = findUnboundVariables(bound, names, query.span)
  return unbound.length > 0 ? err(unbound) : compiled
}

function compileCypher(
  source: PolicySource,
  model: ProjectModel | null,
): Result<CompiledSource, readonly RawFinding[]> {
  const cypher = source.cypher!
  const place = (span: Span): Span => spanInFile(cypher, span)
  const parsed = parse(cypher.text)
  // A text is a query with RETURN, or a condition without one.
  const isQuery = parsed.ok && parsed.query.parts[0]?.clauses.at(-1)?.kind === 'return'
  const compiled = compileText(cypher.text, 'open', isQuery ? 'rows' : 'condition', model?.definitions ?? undefined)
  if (!compiled.ok) {
    const { document } = source
    return err(
      compiled.error.map(({ message, span }) => ({
        rule: 'invalid-cypher',
        document,
        span: place(span),
        message,
        suggestion: suggestionIn(message),
      })),
    )
  }
  const part = {
    effect: 'permit',
    subjectType: null,
    resourceType: null,
    actions: [],
    filter: null,
    filterSource: undefined,
    contextPolicy: null,
    inputParameters: [],
  } as const
  return ok({ source, kind: 'cypher', version: 'open', model, place, ...compiled.value, ...part })
}

function isPolicyVersion(version: string): version is Exclude<DialectName, 'open' | 'query'> {
  return version === '2.0-kbac' || version === '3.0-kbac' || version === contextVersion
}

/** The path and the message of an issue of the policy compiler, such as `policy.actions[0]: expected …`. */
export function splitIssue(issue: string): { readonly path: MemberPath; readonly message: string } {
  const found = /^policy([^\s:]*): ([\s\S]*)$/.exec(issue)
  if (found === null) return { path: [], message: issue }
  const [, path = '', message = ''] = found
  const steps = [...path.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index))
  const where = steps.length === 0 ? '' : `\`${path.slice(path.startsWith('.') ? 1 : 0)}\`: `
  return { path: steps, message: `${where}${message.split('\n')[0]}` }
}

/** The name that a message of the compiler suggests. */
export function suggestionIn(message: string): string | null {
  return /did you mean `([^`]+)`\?/.exec(message)?.[1] ?? null
}
