// Runs a scenario: asks each question of the file in an authorizer of its own, and compares the answers. A check with a
// name that does not exist, or of a policy that fails, is an error, unless it expects that. A failed check shows the outcome of each policy. With coverage, it also finds the policies, operators and conditions that no check has reached.
import type {
  Authorizer,
  CallOptions,
  EntitySearchOutput,
  EvaluationInput,
  ExplanationOutput,
  InspectedRequest,
  RequestEntity,
  RequestIssue,
  RequestParameters,
} from '../authorizer/authorizer.ts'
import { AuthorizerError } from '../authorizer/authorizer-error.ts'
import {
  hintFor,
  type Intention,
  isIntention,
  unintendedFault,
  unintendedIssues,
} from '../authorizer/intended-issues.ts'
import { openProjectAuthorizer, type StoredProjects } from '../authorizer/memory-authorizer.ts'
import { describeExplanation } from '../authorizer/nearest-miss.ts'
import { Float } from '../kernel/float.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isFaultReason } from '../pdp/denial-reasons.ts'
import { compileDecisionDocument } from '../policy/compile-policy.ts'
import { type FileDiagnostic, type FilePosition, ProjectFolderError } from '../project/file-diagnostic.ts'
import { defaultSecretLookup, type SecretLookup } from '../project/secret-references.ts'
import { defaultSettings, type Settings } from '../settings.ts'
import { CoverageRecorder, type PolicyVariants, type ScenarioCoverage } from './coverage.ts'
import { loadScenario, positionInScenario } from './load-scenario.ts'
import type { DecisionEntry, RefusedEntry, RowsEntry, ScenarioCall, ScenarioFile } from './scenario.ts'
import type { AnswerList } from './scenario-schema.ts'

/** The result of one expected answer. */
export interface ScenarioCheck {
  /** The list of the file that contains the entry. */
  readonly list: AnswerList
  /** The question in one line: `Person:ann drive Car:c1 {"min":4}`. */
  readonly title: string
  readonly position: FilePosition
  readonly passed: boolean
  /** In one line. */
  readonly expected: string
  /** In one line. */
  readonly actual: string
  /** Of a failed check: why the answer is as it is. */
  readonly details: readonly string[]
  readonly durationMs: number
}

/** The result of a scenario. */
export interface ScenarioRun {
  readonly name: string
  readonly file: string
  readonly checks: readonly ScenarioCheck[]
  /** What of the graph the declared types of an `OPEN` model do not allow. */
  readonly warnings: readonly FileDiagnostic[]
  /** Null: not requested. */
  readonly coverage: ScenarioCoverage | null
  readonly durationMs: number
}

/** Shared by the scenarios of a project, so that each policy is compiled once. */
export interface SharedByScenarios {
  readonly stored: StoredProjects
  readonly variants: PolicyVariants
}

/** Nothing is shared so far. */
export function newlyShared(): SharedByScenarios {
  return { stored: new WeakMap(), variants: new WeakMap() }
}

/** Options of a run. */
export interface ScenarioRunOptions {
  /** Default: false. Coverage explains each decision, which takes several times as long. */
  readonly coverage?: boolean
  readonly secrets?: SecretLookup
  /** Default: each check runs. */
  readonly isSelected?: (check: Pick<ScenarioCheck, 'list' | 'title'>) => boolean
  /** Shared with other scenarios. Default: nothing. */
  readonly shared?: SharedByScenarios
  /** Ends the scenario after its first failed check. Default: false. */
  readonly bail?: boolean
  /** The limits of decisions and queries. Default: those of the default settings. */
  readonly settings?: Settings
}

export async function runScenarioFile(path: string, options: ScenarioRunOptions = {}): Promise<ScenarioRun> {
  return runScenario(await loadScenario(path), options)
}

/** Runs a scenario that was read. Rejects as `runScenarioFile` does. */
export async function runScenario(
  scenario: ScenarioFile,
  {
    coverage = false,
    secrets = defaultSecretLookup(),
    isSelected = () => true,
    bail = false,
    shared = newlyShared(),
    settings = defaultSettings,
  }: ScenarioRunOptions = {},
): Promise<ScenarioRun> {
  const startedMs = performance.now()
  const unfit: string[] = []
  const authorizer = await openScenario(scenario, secrets, shared.stored, settings, (each) => unfit.push(...each))
  try {
    const recorder = coverage ? new CoverageRecorder(scenario, shared.variants) : null
    const checks: ScenarioCheck[] = []
    for (const question of new ScenarioRunner(authorizer, recorder).questions(scenario)) {
      if (!isSelected(question)) continue
      const check = await question.ask()
      checks.push(check)
      if (bail && !check.passed) break
    }
    const found = recorder === null ? null : await recorder.result(secrets)
    const durationMs = performance.now() - startedMs
    const warnings = unfit.map((text) => ({
      ...scenario.graphPosition,
      message: `graph: ${withElement(scenario, text)}`,
    }))
    return { name: scenario.name, file: scenario.file, checks, warnings, coverage: found, durationMs }
  } finally {
    await authorizer.close()
  }
}

/** The text with the element in place of its number in the lists of the graph. */
export function withElement({ items }: Pick<ScenarioFile, 'items'>, text: string): string {
  return text.replace(/^(nodes|relationships)\[(\d+)\]/, (place, list: string, at: string) => {
    const node = list === 'nodes' ? items.nodes?.[Number(at)] : undefined
    const relationship = list === 'nodes' ? undefined : items.relationships?.[Number(at)]
    if (node !== undefined) return `(${node.external_id}:${node.type})`
    if (relationship === undefined) return place
    const { source, type, target } = relationship
    return `(${source.external_id}:${source.type})-[:${type}]->(${target.external_id}:${target.type})`
  })
}

/**
 * Opens an authorizer with the policies and the graph of a scenario. The caller closes it. `onWarnings`: what of the graph the model
 * does not allow. Rejects as `runScenarioFile` does.
 */
export async function openScenario(
  scenario: ScenarioFile,
  secrets: SecretLookup = defaultSecretLookup(),
  stored: StoredProjects = new WeakMap(),
  settings: Settings = defaultSettings,
  onWarnings: (warnings: readonly string[]) => void = () => undefined,
): Promise<Authorizer> {
  const authorizer = await openWithPlaces(scenario, secrets, stored, settings)
  try {
    const { warnings } = await authorizer.write(scenario.items)
    if (warnings !== undefined) onWarnings(warnings)
    return authorizer
  } catch (error) {
    await authorizer.close()
    throw error
  }
}

/** Opens the policies. Errors have the paths of the files from the working folder. */
async function openWithPlaces(
  scenario: ScenarioFile,
  secrets: SecretLookup,
  stored: StoredProjects,
  settings: Settings,
): Promise<Authorizer> {
  try {
    return await openProjectAuthorizer(scenario.project, null, { secrets, report: () => undefined, stored, settings })
  } catch (error) {
    if (!(error instanceof ProjectFolderError)) throw error
    throw new ProjectFolderError(error.diagnostics.map((one) => ({ ...one, ...positionInScenario(scenario, one) })))
  }
}

/** The finding of a check: its answer in one line, and whether it is the expected one. */
interface FoundAnswer {
  readonly actual: string
  readonly passed: boolean
  /** Details that make an explanation of the decision superfluous. */
  readonly issues?: readonly string[]
  /** A last line for the author of the test. */
  readonly hint?: string
}

/** An expected answer that was not asked yet. */
interface Question extends Pick<ScenarioCheck, 'list' | 'title'> {
  ask(): Promise<ScenarioCheck>
}

class ScenarioRunner {
  private readonly authorizer: Authorizer
  private readonly recorder: CoverageRecorder | null

  constructor(authorizer: Authorizer, recorder: CoverageRecorder | null) {
    this.authorizer = authorizer
    this.recorder = recorder
  }

  /** The expected answers of a scenario, in the order of the lists. Each is asked by the caller. */
  questions(scenario: ScenarioFile): readonly Question[] {
    const { decisions, resources, subjects, actions, rows, explanations, refused } = scenario
    const { search } = this.authorizer
    return [
      ...decisions.map((entry): Question => {
        const request = decisionRequest(entry, entry.action)
        return this.question('decisions', titleOf(request), (title) =>
          this.check('decisions', entry, title, entry.expect, request, () => this.decide(request, entry)),
        )
      }),
      ...resources.map((entry): Question => {
        const { subject, type } = entry
        const action = { name: entry.action }
        const about = `${keyOf(subject)} ${entry.action} ${type}${paramsText(entry)}`
        const found = () =>
          allResults((page) =>
            search.resource({ subject, action, resource: { type }, context: contextOf(entry), page }, optionsOf(entry)),
          )
        return this.question('resources', about, async (title) => {
          for (const id of entry.ids) this.record({ ...entry, resource: { type, id } }, entry.action)
          const pairOf = (id: string) => decisionRequest({ ...entry, resource: { type, id } }, entry.action)
          return this.checkIds('resources', entry, title, entry.ids, found, pairOf, {
            subject,
            action,
            resource: { type },
          })
        })
      }),
      ...subjects.map((entry): Question => {
        const { resource, type } = entry
        const action = { name: entry.action }
        const about = `${type} ${entry.action} ${keyOf(resource)}${paramsText(entry)}`
        const found = () =>
          allResults((page) =>
            search.subject({ subject: { type }, action, resource, context: contextOf(entry), page }, optionsOf(entry)),
          )
        return this.question('subjects', about, async (title) => {
          for (const id of entry.ids) this.record({ ...entry, subject: { type, id } }, entry.action)
          const pairOf = (id: string) => decisionRequest({ ...entry, subject: { type, id } }, entry.action)
          return this.checkIds('subjects', entry, title, entry.ids, found, pairOf, {
            subject: { type },
            action,
            resource,
          })
        })
      }),
      ...actions.map((entry): Question => {
        const { subject, resource } = entry
        const about = `${keyOf(subject)} ${keyOf(resource)}${paramsText(entry)}`
        const found = (): FoundList => {
          const answer = search.action({ subject, resource, context: contextOf(entry) }, optionsOf(entry))
          return { ids: answer.results.map(({ name }) => name), reason: answer.context?.reason }
        }
        const pairOf = (name: string) => decisionRequest(entry, name)
        return this.question('actions', about, (title) =>
          this.checkIds('actions', entry, title, entry.actions, found, pairOf, { subject, resource }),
        )
      }),
      ...rows.map((entry): Question => {
        const about = `${entry.query}${paramsText(entry)}`
        return this.question('rows', about, (title) => this.checkRows(entry, title))
      }),
      ...explanations.map((entry): Question => {
        const request = decisionRequest(entry, entry.action)
        const { outcomes, reached, stopped } = entry
        const expected = writeJson({
          ...(outcomes !== null && { outcomes }),
          ...(reached !== null && { reached }),
          ...(stopped !== null && { stopped }),
        })
        return this.question('explanations', titleOf(request), (title) =>
          this.check('explanations', entry, title, expected, request, () => {
            const issues = unintendedIssues(this.authorizer.inspect(request, optionsOf(entry)), null, {
              isDecision: true,
              grants: false,
            })
            if (issues.length > 0) return withIssues(issues)
            const explained = this.authorizer.explain(request, optionsOf(entry))
            return explanationFound(explained, outcomes, reached, stopped)
          }),
        )
      }),
      ...refused.map((entry) => this.question('refused', entry.cypher, async () => checkRefused(entry))),
    ]
  }

  private question(list: AnswerList, title: string, ask: (title: string) => Promise<ScenarioCheck>): Question {
    return { list, title, ask: () => ask(title) }
  }

  /** Records a decision that a search implies. */
  private record(entry: ScenarioCall & Pick<EvaluationInput, 'subject' | 'resource'>, action: string): void {
    this.recorder?.record(this.authorizer, decisionRequest(entry, action), optionsOf(entry))
  }

  /** Decides a request. A name that the check does not mean fails it, whatever the decision is. */
  private decide(request: EvaluationInput, entry: DecisionEntry): FoundAnswer {
    const { expect } = entry
    const options = optionsOf(entry)
    const issues = this.authorizer.inspect(request, options)
    const intention = isIntention(expect) ? expect : null
    const unintended = unintendedIssues(issues, intention, { isDecision: true, grants: expect === 'yes' })
    if (unintended.length > 0) return withIssues(unintended)
    const decided = orRefusal(() => this.authorizer.evaluate(request, options))
    if (decided instanceof AuthorizerError) {
      const passed = expect === 'refused'
      const isMissing = issues.some(({ kind }) => kind === 'missing-parameter')
      const actual = passed ? expect : `refused: ${decided.message}`
      return { actual, passed, ...(!passed && isMissing && { issues: [hintFor('refused')] }) }
    }
    const { decision, context } = decided
    const fault = decision ? null : unintendedFault(context?.reason, intention)
    if (fault !== null) return withFault(fault)
    // What is unknown on purpose, or fails, must be denied.
    const wanted = intention === null || intention === 'refused' ? expect : 'no'
    const answer = decision ? 'yes' : 'no'
    return { actual: answer === wanted ? expect : answer, passed: answer === wanted }
  }

  private async check(
    list: AnswerList,
    entry: ScenarioCall,
    title: string,
    expected: string,
    request: EvaluationInput | null,
    ask: () => FoundAnswer | Promise<FoundAnswer>,
  ): Promise<ScenarioCheck> {
    const startedMs = performance.now()
    const { issues = [], actual, passed, hint } = await answered(ask)
    const durationMs = performance.now() - startedMs
    if (request !== null) this.recorder?.record(this.authorizer, request, optionsOf(entry))
    const isExplained = !passed && request !== null && issues.length === 0
    const explained = isExplained ? this.details(request, optionsOf(entry)) : []
    const details = [...issues, ...explained, ...(hint === undefined ? [] : [hint])]
    return { list, title, position: entry.position, expected, actual, passed, details, durationMs }
  }

  private async checkIds(
    list: AnswerList,
    entry: ScenarioCall & { readonly because: Intention | null },
    title: string,
    expected: readonly string[],
    find: () => FoundList,
    pairOf: (result: string) => EvaluationInput,
    search: InspectedRequest,
  ): Promise<ScenarioCheck> {
    let found: readonly string[] = []
    const inspected = { ...search, context: contextOf(entry) }
    const check = await this.check(list, entry, title, entry.because ?? `[${expected.join(', ')}]`, null, () =>
      this.listed(this.authorizer.inspect(inspected, optionsOf(entry)), entry.because, expected.length > 0, () => {
        const { ids, reason } = find()
        found = [...ids].sort()
        // A list with items shows that the request is a right one.
        const fault = found.length > 0 ? null : unintendedFault(reason, entry.because)
        if (fault !== null) return withFault(fault)
        return { actual: `[${found.join(', ')}]`, passed: `${found}` === `${expected}` }
      }),
    )
    if (check.passed || check.details.length > 0 || !check.actual.startsWith('[')) return check
    const missing = expected.filter((id) => !found.includes(id))
    const others = found.filter((id) => !expected.includes(id))
    // One explanation of each kind: the others usually have the same reason.
    const explained = [...missing.slice(0, 1), ...others.slice(0, 1)].flatMap((result) => {
      const request = pairOf(result)
      return [`${titleOf(request)}:`, ...this.details(request, optionsOf(entry)).map((line) => `  ${line}`)]
    })
    const details = [
      ...(missing.length === 0 ? [] : [`not found: ${missing.join(', ')}`]),
      ...(others.length === 0 ? [] : [`not expected: ${others.join(', ')}`]),
      ...explained,
    ]
    return { ...check, details }
  }

  /** Compares an answer that is a list. A name that the check does not mean fails it, whatever is found. */
  private async listed(
    issues: readonly RequestIssue[],
    because: Intention | null,
    grants: boolean,
    compare: () => FoundAnswer | Promise<FoundAnswer>,
  ): Promise<FoundAnswer> {
    const unintended = unintendedIssues(issues, because, { isDecision: false, grants })
    if (unintended.length > 0) return withIssues(unintended)
    try {
      const answer = await compare()
      if (because === null || !answer.passed) return answer
      const isMeant = because !== 'refused'
      return { actual: isMeant ? because : answer.actual, passed: isMeant }
    } catch (error) {
      if (because === 'refused' && error instanceof AuthorizerError) return { actual: because, passed: true }
      throw error
    }
  }

  private async checkRows(entry: RowsEntry, title: string): Promise<ScenarioCheck> {
    const { query, params, token, because } = entry
    const expected = rowsText(entry.rows)
    const request = { id: query, input_params: params, page_size: ROWS_MAX }
    const options = token === undefined ? {} : { token }
    return this.check('rows', { ...entry, tags: null }, title, because ?? expected, null, async () =>
      this.listed(await this.authorizer.inspectQuery(request, options), because, entry.rows.length > 0, async () => {
        const { data } = await this.authorizer.execute(request, options)
        const actual = rowsText(
          data.map(({ nodes, relationships, aggregate_values }) => ({
            ...nodes,
            ...relationships,
            ...aggregate_values,
          })),
        )
        return { actual, passed: actual === expected }
      }),
    )
  }

  private details(request: EvaluationInput, options: CallOptions): readonly string[] {
    try {
      return describeExplanation(this.authorizer.explain(request, options))
    } catch (error) {
      if (error instanceof AuthorizerError) return [error.message]
      throw error
    }
  }
}

/** Records of one answer. */
const ROWS_MAX = 10_000

/** The answer if a policy failed and the check does not expect it, or the reverse. */
function withFault(reason: string): FoundAnswer {
  return { actual: reason, passed: false, ...(isFaultReason(reason) && { hint: hintFor('failed') }) }
}

/** The answer to a request with issues: the first of them. */
function withIssues([first = '', ...others]: readonly string[]): FoundAnswer {
  return { actual: first, passed: false, issues: others }
}

function orRefusal<T>(ask: () => T): T | AuthorizerError {
  try {
    return ask()
  } catch (error) {
    if (error instanceof AuthorizerError) return error
    throw error
  }
}

/** An error of the request is an answer like others. */
async function answered(ask: () => FoundAnswer | Promise<FoundAnswer>): Promise<FoundAnswer> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AuthorizerError) return { actual: error.message, passed: false }
    throw error
  }
}

/** The results of a search. */
interface FoundList {
  readonly ids: readonly string[]
  /** As in the answer. */
  readonly reason: string | undefined
}

function allResults(search: (page: { token?: string }) => EntitySearchOutput): FoundList {
  const ids: string[] = []
  let reason: string | undefined
  for (let token = ''; ; ) {
    const { page, context, results } = search(token === '' ? {} : { token })
    reason ??= context?.reason
    ids.push(...results.map(({ id }) => id))
    if (page === undefined || page.next_token === '') return { ids, reason }
    token = page.next_token
  }
}

function explanationFound(
  { policies }: ExplanationOutput,
  outcomes: Readonly<Record<string, string>> | null,
  reached: string | null,
  stopped: string | null,
): FoundAnswer {
  const actual = {
    ...(outcomes !== null && {
      outcomes: Object.fromEntries(
        Object.keys(outcomes).map((name) => [name, policies.find((one) => one.name === name)?.outcome ?? 'not asked']),
      ),
    }),
    ...(reached !== null && { reached: policies.map((one) => one.nearest_miss?.reached?.step ?? '').filter(Boolean) }),
    ...(stopped !== null && { stopped: policies.map((one) => one.nearest_miss?.stopped.says ?? '').filter(Boolean) }),
  }
  const has = (part: string | null, texts: readonly string[] | undefined): boolean =>
    part === null || texts?.some((text) => text.includes(part)) === true
  const passed =
    (outcomes === null || writeJson(actual.outcomes) === writeJson(outcomes)) &&
    has(reached, actual.reached) &&
    has(stopped, actual.stopped)
  return { actual: writeJson(actual), passed }
}

function checkRefused({ cypher, version, subject, resource, messageContains, position }: RefusedEntry): ScenarioCheck {
  const startedMs = performance.now()
  const compiled = compileDecisionDocument({
    meta: { policy_version: version },
    subject: { type: subject },
    actions: ['act'],
    resource: { type: resource },
    condition: { cypher },
  })
  const text = compiled.ok ? 'accepted' : compiled.error.join('; ')
  return {
    list: 'refused',
    title: cypher,
    position,
    expected: `an error with \`${messageContains}\``,
    actual: text.split('\n')[0] ?? '',
    passed: !compiled.ok && text.includes(messageContains),
    details: [],
    durationMs: performance.now() - startedMs,
  }
}

function rowsText(rows: readonly Readonly<Record<string, unknown>>[]): string {
  const lines = rows.map((row) => {
    const members = Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1))
    return writeJson(Object.fromEntries(members.map(([name, value]) => [name, normalized(value)])))
  })
  return `[${lines.sort().join(', ')}]`
}

/** A float that is written with a point in a file is boxed, and one of a JSON answer may not be. */
function normalized(value: unknown): unknown {
  return typeof value === 'number' && !Number.isInteger(value) ? new Float(value) : value
}

/** The request of an entry about one subject and one resource. */
export function decisionRequest(
  entry: ScenarioCall & { readonly subject: RequestEntity; readonly resource: RequestEntity },
  action: string,
): EvaluationInput {
  const { subject, resource } = entry
  return { subject, action: { name: action }, resource, context: contextOf(entry) }
}

/** The `context` of the requests of an entry. */
export function contextOf({ params, tags }: ScenarioCall): RequestParameters {
  return { input_params: params, ...(tags !== null && { policy_tags: tags }) }
}

/** The options of the calls of an entry. */
export function optionsOf({ token }: ScenarioCall): CallOptions {
  return token === undefined ? {} : { token }
}

function titleOf({ subject, action, resource, context }: EvaluationInput): string {
  return `${keyOf(subject)} ${action.name} ${keyOf(resource)}${paramsText({ params: context?.input_params ?? {} })}`
}

function paramsText({ params }: Pick<ScenarioCall, 'params'>): string {
  return Object.keys(params).length === 0 ? '' : ` ${writeJson(params)}`
}

function keyOf({ type, id }: RequestEntity): string {
  return `${type}:${id}`
}
