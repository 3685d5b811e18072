// The command `plan`: the difference between a project folder and the stored configuration, and which decisions it would change.
import { suggestion } from '../../../grammar/suggest.ts'
import type { ComparisonInput, ComparisonOutput } from '../../authorizer/authorizer.ts'
import type { DocumentFields } from '../../config/kind.ts'
import { parseJson } from '../../kernel/json/json.ts'
import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import { isContextPolicy, policyHeader } from '../../policy/policy-header.ts'
import type { CurrentProject } from '../../project/current-project.ts'
import { differenceOf, hasChanges, type ProjectDifference } from '../../project/difference.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { ServiceRefusalError } from '../target/service-client.ts'
import type { TargetFlags } from '../target/target-place.ts'
import { checkFolder, printUrlSecrets, readFolder } from './apply.ts'
import { comparisonLines } from './print-comparison.ts'
import { countsLine, differenceJson, differenceLines, keptLines } from './print-difference.ts'
import { namedProject, refuseOtherProject, unknownProjectError } from './project-target.ts'
import { modelNotices, proposalOf } from './proposal.ts'

/** The options of `plan`. */
export interface PlanFlags extends TargetFlags {
  readonly create: boolean
  readonly prune: boolean
  readonly action?: string
  readonly subject?: string
  readonly resource?: string
  readonly param: readonly string[]
  readonly token?: string
  readonly tag: readonly string[]
  /** Seconds. */
  readonly budget: string
  readonly sample: string
  readonly exitCode: boolean
  readonly json: boolean
}

const MAX_BUDGET_S = 3600
const MAX_SAMPLE = 100

/** Runs `plan` and sets the exit code of the process. Rejects with CliError. */
export async function planFolder(path: string, flags: PlanFlags): Promise<void> {
  const { prune, json, create, exitCode } = flags
  const decisions = decisionsOf(flags)
  const folder = await readFolder(path)
  printUrlSecrets(folder)
  const named = namedProject(flags)
  const { target, settings } = named
  await checkFolder(folder, settings)
  const key = named.project ?? folder.project.name
  const current = await target.read(key)
  refuseOtherProject(named, folder, current)
  if (current === null && !create) throw await unknownProjectError(target, key, '; --create plans a new one')
  const graphTypes = (): Promise<readonly string[]> =>
    current === null ? Promise.resolve([]) : target.graphTypes(current.project.id)
  await refuseUnknownScope(flags, [...folder.documents, ...(current?.documents ?? [])], graphTypes)
  const difference = differenceOf(folder, current)
  const proposal = current === null ? null : proposalOf(folder, current, difference, prune)
  let compared: ComparisonOutput | null = null
  let refusal: ServiceRefusalError | null = null
  if (current !== null && proposal !== null) {
    try {
      compared = await target.compare(current.project.id, { ...decisions, ...proposal })
    } catch (failure) {
      if (!(failure instanceof ServiceRefusalError)) throw failure
      // The difference of the documents is known, and may be all that the caller may see.
      refusal = failure
    }
  }
  for (const line of modelNotices(folder, compared)) printNotice(line)
  if (json) printJson({ ...differenceJson(difference), comparison: compared })
  else {
    for (const line of differenceLines(difference, prune)) printLine(line)
    for (const line of keptLines(difference, prune)) printLine(line)
    printLine(countsLine(difference, prune, 'planned'))
    if (refusal === null)
      for (const line of comparisonLines(compared, noComparison(current, proposal !== null))) printLine(line)
  }
  if (refusal !== null) {
    throw new CliError(['the decisions are not compared: the service refused the comparison', ...refusal.lines])
  }
  if (exitCode && wouldChange(difference, prune, compared)) process.exitCode = exitCodes.changes.code
}

function noComparison(current: CurrentProject | null, isChanged: boolean): string {
  if (current === null) return 'the project is new, so it has no decisions that could change'
  return isChanged
    ? 'the project has no graph yet, so it has no decisions that could change'
    : 'no decision policy changes, so no decision does'
}

function wouldChange(difference: ProjectDifference, prune: boolean, compared: ComparisonOutput | null): boolean {
  const deletes = prune && difference.documents.some(({ action }) => action === 'delete')
  const isOther = compared !== null && (!compared.complete || compared.gained + compared.lost > 0)
  return hasChanges(difference) || deletes || isOther
}

/** Which decisions are compared. Throws UsageError. */
function decisionsOf({ action, subject, resource, param, token, tag, budget, sample }: PlanFlags): ComparisonInput {
  const parameters = param.map(parameterFrom)
  const names = parameters.map(([name]) => name)
  const repeated = names.find((name, at) => names.indexOf(name) < at)
  if (repeated !== undefined) throw new UsageError([`--param: \`${repeated}\` is given twice`])
  const context = {
    ...(parameters.length > 0 && { input_params: Object.fromEntries(parameters) }),
    ...(tag.length > 0 && { policy_tags: tag }),
  }
  return {
    ...(action !== undefined && { action: { name: action } }),
    ...(subject !== undefined && { subject: entitiesFrom('--subject', subject) }),
    ...(resource !== undefined && { resource: entitiesFrom('--resource', resource) }),
    ...(Object.keys(context).length > 0 && { context }),
    ...(token !== undefined && { token: { claims: claimsFrom(token) } }),
    budget: { time_ms: Math.round(1000 * numberFrom('--budget', budget, MAX_BUDGET_S, 'seconds')) },
    sample: sampleFrom(sample),
  }
}

/**
 * A misspelt name would compare nothing. Rejects with UsageError for an action that no policy has, and for a type that neither a policy
 * nor the graph has. `graphTypes`: reads the types of the graph, only if no policy has a type.
 */
async function refuseUnknownScope(
  { action, subject, resource }: PlanFlags,
  documents: readonly { readonly kind: string; readonly body: DocumentFields }[],
  graphTypes: () => Promise<readonly string[]>,
): Promise<void> {
  const headers = documents
    .filter(({ kind, body }) => kind === policiesKind && !isContextPolicy(body))
    .map(({ body }) => policyHeader(body))
  const isUnknown = (name: string | undefined, known: readonly string[]): name is string =>
    name !== undefined && known.length > 0 && !known.includes(name)
  const actions = headers.flatMap((header) => header.actions)
  if (isUnknown(action, actions))
    throw new UsageError([`--action: no policy has \`${action}\`${suggestion(action, new Set(actions))}`])
  const types = {
    '--subject': [subject?.split(':')[0], headers.map(({ subjectType }) => subjectType)],
    '--resource': [resource?.split(':')[0], headers.map(({ resourceType }) => resourceType)],
  } as const
  let inGraph: readonly string[] | null = null
  for (const [option, [type, known]] of Object.entries(types)) {
    if (!isUnknown(type, known)) continue
    inGraph ??= await graphTypes()
    if (inGraph.includes(type)) continue
    const near = suggestion(type, new Set([...known, ...inGraph]))
    throw new UsageError([`${option}: neither a policy nor the graph has \`${type}\`${near}`])
  }
}

function sampleFrom(text: string): number {
  const value = numberFrom('--sample', text, MAX_SAMPLE, 'examples', 0)
  if (Number.isInteger(value)) return value
  throw new UsageError([`--sample: expected an integer, found \`${text}\``])
}

function numberFrom(option: string, text: string, max: number, unit: string, min = 0.001): number {
  const value = Number(text)
  if (text.trim() !== '' && value >= min && value <= max) return value
  throw new UsageError([`${option}: expected ${min} to ${max} ${unit}, found \`${text}\``])
}

function entitiesFrom(option: string, text: string): { type: string; id?: string } {
  const [type = '', ...id] = text.split(':')
  if (type === '' || (id.length > 0 && id.join(':') === ''))
    throw new UsageError([`${option}: expected a type, or a type and an id such as Person:ann, found \`${text}\``])
  return id.length === 0 ? { type } : { type, id: id.join(':') }
}

function parameterFrom(text: string): [string, unknown] {
  const at = text.indexOf('=')
  if (at <= 0) throw new UsageError([`--param: expected name=value, found \`${text}\``])
  const value = text.slice(at + 1)
  const parsed = parseJson(value, 'exact')
  return [text.slice(0, at).replace(/^\$/, ''), parsed.ok ? parsed.value : value]
}

function claimsFrom(text: string): Readonly<Record<string, unknown>> {
  const parsed = parseJson(text, 'exact')
  if (parsed.ok && isJsonObject(parsed.value)) return parsed.value
  throw new UsageError([`--token: expected a JSON object with claims, found \`${text}\``])
}
