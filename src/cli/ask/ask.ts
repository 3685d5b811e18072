// The commands `check`, `why`, `who`, `what` and `actions`. The exit code is 0 if the answer is yes or has results, and 1 otherwise.
import type {
  DecisionOutput,
  EvaluationInput,
  ExplanationOutput,
  PageInput,
  PageOutput,
  RequestEntity,
} from '../../authorizer/authorizer.ts'
import { describeExplanation } from '../../authorizer/nearest-miss.ts'
import { assertNever } from '../../kernel/assert.ts'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { printable } from '../output/show-values.ts'
import { asking } from '../target/asking.ts'
import type { Target, TargetFlags } from '../target/target.ts'
import { askOptions, entityFrom, limitFrom, type QuestionFlags, requestParameters } from './ask-arguments.ts'
import { checkTypes, type KnownNames, knownNames, noticeUnknownAction } from './known-names.ts'

/** The options of the commands. */
export interface AskFlags extends TargetFlags, QuestionFlags {
  readonly json: boolean
}

/** The options of searches. */
export interface SearchFlags extends AskFlags {
  /** The type to look for; undefined: all types that a policy has. */
  readonly type?: string
  /** Maximum results. */
  readonly limit?: string
}

/** Runs `check`. */
export async function check(subject: string, action: string, resource: string, flags: AskFlags): Promise<void> {
  await asking(flags, async (target) => {
    const request = evaluationOf(subject, action, resource, flags)
    const decision = await target.evaluate(request, askOptions(flags, request.subject))
    if (!decision.decision) await checkNames(target, request)
    if (flags.json) printJson(decision)
    else for (const line of decisionLines(request, decision)) printLine(line)
    setExitCode(decision.decision)
  })
}

/** The decision for a person: one line, and what the policies say about a denial. */
export function decisionLines(
  { subject, action, resource }: EvaluationInput,
  answer: DecisionOutput,
): readonly string[] {
  const names = [shown(subject), colours.bold(printable(action.name)), shown(resource)]
  if (answer.decision) return [`${colours.green('✓ granted')}  ${names.join(' ')}`]
  const { reason, advice = [] } = answer.context ?? {}
  return [
    `${colours.red('✗ denied')}   ${names.join(' ')}`,
    ...(reason === undefined ? [] : [`  ${printable(reason)}`]),
    ...advice.map((one) => `  advice: ${JSON.stringify(one)}`),
  ]
}

/** Runs `why`. */
export async function explain(subject: string, action: string, resource: string, flags: AskFlags): Promise<void> {
  await asking(flags, async (target) => {
    const request = evaluationOf(subject, action, resource, flags)
    const explanation = await target.explain(request, askOptions(flags, request.subject))
    if (!explanation.decision) await checkNames(target, request)
    if (flags.json) printJson(explanation)
    else for (const line of explanationLines(request, explanation)) printLine(line)
    setExitCode(explanation.decision)
  })
}

/** The decision and the outcome of each policy, for a person. */
export function explanationLines(request: EvaluationInput, explanation: ExplanationOutput): readonly string[] {
  const { decision } = explanation
  const [head = ''] = decisionLines(request, { decision })
  return [head, ...describeExplanation(explanation).map((line) => `  ${colouredLine(printable(line))}`)]
}

function colouredLine(line: string): string {
  if (/^policy .* grants/.test(line)) return colours.green(line)
  if (/^policy .* (?:forbids|failed, so it forbids)/.test(line)) return colours.red(line)
  return /^\s/.test(line) ? line : colours.dim(line)
}

/** The searches, each with what it finds. */
const searches = { who: 'subject', what: 'resource', actions: 'action' } as const

/** The name of a search. */
type SearchVerb = keyof typeof searches

/** Runs `who`, `what` or `actions`. `first` and `second`: its operands. */
export async function search(kind: SearchVerb, first: string, second: string, flags: SearchFlags): Promise<void> {
  await asking(flags, async (target) => {
    const found = await find(target, kind, first, second, flags)
    const { results, truncated } = found
    if (flags.json) printJson({ results: found.results, truncated })
    else {
      for (const result of results) printLine(resultText(result))
      if (results.length === 0 || truncated) printNotice(countText(found, kind))
      else if (process.stdout.isTTY === true) printNotice(colours.dim(countText(found, kind)))
    }
    setExitCode(results.length > 0)
  })
}

/** A search as lines for a person. */
export async function searchLines(
  target: Target,
  kind: SearchVerb,
  first: string,
  second: string,
  flags: SearchOptions,
): Promise<readonly string[]> {
  const found = await find(target, kind, first, second, flags)
  return [...found.results.map(resultText), colours.dim(countText(found, kind))]
}

/** The options of a search that do not name the graph. */
type SearchOptions = QuestionFlags & Pick<SearchFlags, 'type' | 'limit'>

type SearchedItem = { readonly type: string; readonly id: string } | { readonly name: string }

function resultText(result: SearchedItem): string {
  return 'name' in result ? printable(result.name) : shown(result)
}

function countText({ results, truncated }: CollectedResults<SearchedItem>, kind: SearchVerb): string {
  const noun = searches[kind]
  if (results.length === 0) return `no ${noun}s`
  const count = `${results.length} ${noun}${results.length === 1 ? '' : 's'}`
  return truncated ? `${count}, and there are more: raise the limit` : count
}

function find(
  target: Target,
  kind: SearchVerb,
  first: string,
  second: string,
  flags: SearchOptions,
): Promise<CollectedResults<SearchedItem>> {
  switch (kind) {
    case 'who':
      return findSubjects(target, first, entityFrom(second, 'RESOURCE'), flags)
    case 'what':
      return findResources(target, entityFrom(first, 'SUBJECT'), second, flags)
    case 'actions':
      return findActions(target, entityFrom(first, 'SUBJECT'), entityFrom(second, 'RESOURCE'), flags)
    default:
      return assertNever(kind)
  }
}

async function findSubjects(
  target: Target,
  action: string,
  resource: RequestEntity,
  flags: SearchOptions,
): Promise<CollectedResults<SearchedItem>> {
  const limit = limitFrom(flags.limit)
  const names = await knownNames(target)
  checkTypes(names, [resource.type, ...(flags.type === undefined ? [] : [flags.type])])
  const types = typesToSearch(names, flags.type, (policy) =>
    policy.actions.includes(action) && policy.resource === resource.type ? policy.subject : null,
  )
  const common = { action: { name: action }, resource, ...contextOf(flags) }
  const found = await collect(types, limit, (type, page) =>
    target.search.subject({ ...common, subject: { type }, page }, askOptions(flags, null)),
  )
  if (found.results.length === 0) noticeUnknownAction(names, action)
  return found
}

async function findResources(
  target: Target,
  subject: RequestEntity,
  action: string,
  flags: SearchOptions,
): Promise<CollectedResults<SearchedItem>> {
  const limit = limitFrom(flags.limit)
  const names = await knownNames(target)
  checkTypes(names, [subject.type, ...(flags.type === undefined ? [] : [flags.type])])
  const types = typesToSearch(names, flags.type, (policy) =>
    policy.actions.includes(action) && policy.subject === subject.type ? policy.resource : null,
  )
  const common = { subject, action: { name: action }, ...contextOf(flags) }
  const found = await collect(types, limit, (type, page) =>
    target.search.resource({ ...common, resource: { type }, page }, askOptions(flags, subject)),
  )
  if (found.results.length === 0) noticeUnknownAction(names, action)
  return found
}

async function findActions(
  target: Target,
  subject: RequestEntity,
  resource: RequestEntity,
  flags: SearchOptions,
): Promise<CollectedResults<SearchedItem>> {
  const common = { subject, resource, ...contextOf(flags) }
  const found = await collect([''], limitFrom(flags.limit), (_type, page) =>
    target.search.action({ ...common, page }, askOptions(flags, subject)),
  )
  if (found.results.length === 0) checkTypes(await knownNames(target), [subject.type, resource.type])
  return found
}

/** Builds the request of a decision. Throws UsageError. */
export function evaluationOf(subject: string, action: string, resource: string, flags: QuestionFlags): EvaluationInput {
  return {
    subject: entityFrom(subject, 'SUBJECT'),
    action: { name: action },
    resource: entityFrom(resource, 'RESOURCE'),
    ...contextOf(flags),
  }
}

/** Refuses unknown types of a denied request, and notices an unknown action. */
export async function checkNames(target: Target, { subject, action, resource }: EvaluationInput): Promise<void> {
  const names = await knownNames(target)
  checkTypes(names, [subject.type, resource.type])
  noticeUnknownAction(names, action.name)
}

function contextOf(flags: QuestionFlags): Pick<EvaluationInput, 'context'> {
  const context = requestParameters(flags)
  return context === null ? {} : { context }
}

/** Without `--type`, the types of the policies that concern the question. */
function typesToSearch(
  { policies }: KnownNames,
  type: string | undefined,
  typeOf: (policy: NonNullable<KnownNames['policies']>[number]) => string | null,
): readonly string[] {
  if (type !== undefined) return [type]
  if (policies === null) {
    throw new UsageError(['the policies cannot be read with this credential: pass the type to look for with --type'])
  }
  return [...new Set(policies.map(typeOf))].filter((one) => one !== null).sort()
}

interface CollectedResults<T> {
  readonly results: readonly T[]
  /** There are more results. */
  readonly truncated: boolean
}

/** Reads the pages of one search after another, until the limit. */
async function collect<T>(
  types: readonly string[],
  limit: number | undefined,
  read: (
    type: string,
    page: PageInput,
  ) => Promise<{ readonly page?: PageOutput | undefined; readonly results: readonly T[] }>,
): Promise<CollectedResults<T>> {
  const results: T[] = []
  for (const type of types) {
    let token: string | undefined
    do {
      const found = await read(type, token === undefined ? {} : { token })
      results.push(...found.results)
      if (limit !== undefined && results.length > limit) return { results: results.slice(0, limit), truncated: true }
      token = found.page?.next_token
    } while (token !== undefined && token !== '')
  }
  return { results, truncated: false }
}

function shown({ type, id }: Pick<RequestEntity, 'type' | 'id'>): string {
  return printable(`${type}:${id}`)
}

function setExitCode(isYes: boolean): void {
  process.exitCode = isYes ? exitCodes.success.code : exitCodes.failure.code
}
