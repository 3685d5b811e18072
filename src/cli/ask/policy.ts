// The commands `policy list` and `policy show`.
import { suggestion } from '../../../grammar/suggest.ts'
import type { ListedPolicy } from '../../authorizer/authorizer.ts'
import { policyHeader } from '../../policy/policy-header.ts'
import { CliError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { printable } from '../output/show-values.ts'
import { tableLines } from '../output/table.ts'
import { asking } from '../target/asking.ts'
import type { TargetFlags } from '../target/target.ts'

/** The options of the commands. */
export interface PolicyFlags extends TargetFlags {
  readonly json: boolean
}

/** Runs `policy list`. */
export async function listPolicies(flags: PolicyFlags): Promise<void> {
  const policies = await asking(flags, (target) => target.policies())
  if (flags.json) {
    printJson({ policies: policies.map((policy) => ({ ...identityOf(policy), ...headerOf(policy) })) })
    return
  }
  if (policies.length === 0) printNotice('the project has no policies')
  else for (const line of tableLines(columns, policies.map(cellsOf))) printLine(line)
}

const columns = ['NAME', 'STATUS', 'SUBJECT', 'ACTIONS', 'RESOURCE', 'TAGS']

function cellsOf(policy: ListedPolicy): readonly string[] {
  const { subject, actions, resource } = headerOf(policy)
  const { name, status, tags } = policy
  const [who, acts, what, tagged] = [subject, actions.join(' ') || '–', resource || '–', tags.join(' ')].map(printable)
  return [printable(name), statusCell(status), who ?? '', acts ?? '', what ?? '', tagged ?? '']
}

function statusCell(status: string): string {
  return status === 'ACTIVE' ? colours.green(status) : colours.yellow(status)
}

/** Runs `policy show`. */
export async function showPolicy(name: string, flags: PolicyFlags): Promise<void> {
  const policies = await asking(flags, (target) => target.policies())
  const found = policies.find((policy) => policy.name === name || policy.id === name)
  if (found === undefined) {
    const names = policies.map((policy) => policy.name)
    throw new CliError([`no policy is named \`${name}\`${suggestion(name, names)}`], exitCodes.usage.code)
  }
  if (flags.json) printJson({ ...identityOf(found), policy: parsed(found.policy) })
  else for (const line of shownLines(found)) printLine(line)
}

function shownLines(policy: ListedPolicy): readonly string[] {
  const { version, subject, actions, resource } = headerOf(policy)
  const document = parsed(policy.policy)
  const { cypher, filter, token_filter } = partsOf(document)
  return [
    `${colours.bold(policy.name)} ${colours.dim(policy.id)}`,
    `${statusCell(policy.status)} ${version}${policy.tags.length === 0 ? '' : ` tags: ${policy.tags.join(', ')}`}`,
    actions.length === 0 ? `for ${subject}` : `${subject} may ${actions.join(', ')} ${resource} if`,
    '',
    ...(typeof cypher === 'string' ? cypher.trimEnd().split('\n') : jsonLines(document)),
    ...(filter === undefined ? [] : ['', ...jsonLines(filter, 'filter: ')]),
    ...(token_filter === undefined ? [] : ['', ...jsonLines(token_filter, 'token filter: ')]),
  ]
}

function jsonLines(value: unknown, title = ''): readonly string[] {
  return `${title}${JSON.stringify(value, null, 2)}`.split('\n')
}

function partsOf(document: unknown): { cypher?: unknown; filter?: unknown; token_filter?: unknown } {
  const { condition } = (document ?? {}) as { readonly condition?: unknown }
  return (condition ?? {}) as { cypher?: unknown; filter?: unknown; token_filter?: unknown }
}

/** The document; a DRAFT may hold any text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function identityOf({ id, name, status, tags }: ListedPolicy) {
  return { id, name, status, tags }
}

function headerOf({ policy }: ListedPolicy) {
  const { version, effect, subjectType, actions, resourceType } = policyHeader({ policy })
  return { version, ...(effect === 'forbid' && { effect }), subject: subjectType, actions, resource: resourceType }
}
