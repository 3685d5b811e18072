// A question, as its form and the address hold it, and the same question for other programs.
import type { NodeName } from '../graph-api.ts'
import { parseNodeName } from '../graph-api.ts'
import { shellQuoted } from '../shell-text.ts'

/** Texts of the form. `parameters`: names without `$`, with values as the user typed them. */
export interface QuestionForm {
  readonly subject: string
  readonly action: string
  readonly resource: string
  readonly parameters: readonly (readonly [name: string, value: string])[]
  /** Whether the policies that are drafts decide too. */
  readonly drafts: boolean
}

/** A complete question. */
export interface AskedQuestion {
  readonly subject: NodeName
  readonly action: string
  readonly resource: NodeName
  readonly parameters: Readonly<Record<string, unknown>>
  readonly drafts?: boolean
}

/** The form that an address describes. */
export function formOf(address: URLSearchParams): QuestionForm {
  const parameters = [...address].filter(([name]) => name.startsWith('$'))
  return {
    subject: address.get('subject') ?? '',
    action: address.get('action') ?? '',
    resource: address.get('resource') ?? '',
    parameters: parameters.map(([name, value]) => [name.slice(1), value]),
    drafts: address.get('drafts') === 'yes',
  }
}

/** The parameters of the address that describes a form. */
export function addressOf({ subject, action, resource, parameters, drafts }: QuestionForm): Record<string, string> {
  const named = parameters.filter(([name]) => name !== '').map(([name, value]) => [`$${name}`, value])
  return { subject, action, resource, ...(drafts && { drafts: 'yes' }), ...Object.fromEntries(named) }
}

/** A value as typed: JSON, such as `5`, `true` or `["a"]`; any other text is a string. */
export function parseValue(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The question of a form, or what is missing, by the name of a field. */
export function questionOf(form: QuestionForm): AskedQuestion | { readonly missing: readonly string[] } {
  const subject = parseNodeName(form.subject)
  const resource = parseNodeName(form.resource)
  const action = form.action.trim()
  const missing = [
    ...(subject.type === '' || subject.id === '' ? ['Subject: write it as Type:id, such as Person:ann.'] : []),
    ...(action === '' ? ['Action: write the name of an action, such as read.'] : []),
    ...(resource.type === '' || resource.id === '' ? ['Resource: write it as Type:id, such as Document:plan.'] : []),
  ]
  if (missing.length > 0) return { missing }
  const entries = form.parameters.filter(([name]) => name.trim() !== '')
  return {
    subject,
    action,
    resource,
    parameters: Object.fromEntries(entries.map(([name, value]) => [name.trim().replace(/^\$/, ''), parseValue(value)])),
    ...(form.drafts && { drafts: true }),
  }
}

/** The body of the request. */
export function bodyOf({ subject, action, resource, parameters, drafts = false }: AskedQuestion): object {
  const context = {
    ...(Object.keys(parameters).length > 0 && { input_params: parameters }),
    ...(drafts && { policy_status: 'DRAFT' }),
  }
  return {
    subject,
    action: { name: action },
    resource,
    ...(Object.keys(context).length > 0 && { context }),
  }
}

/** The question as a curl command; it expects the key of an agent in `KEY`. */
export function curlOf(question: AskedQuestion, origin: string): string {
  return [
    `curl ${shellQuoted(`${origin}/access/v1/evaluation`)} \\`,
    `  -H "X-SVC-ClientKey: $KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${shellQuoted(JSON.stringify(bodyOf(question)))}`,
  ].join('\n')
}

/** The question in TypeScript. */
export function typescriptOf(question: AskedQuestion, origin: string): string {
  const { subject, action, resource, parameters } = question
  const entity = ({ type, id }: NodeName): string => `{ ${memberName(type)}: ${JSON.stringify(id)} }`
  const more = Object.keys(parameters).length === 0 ? '' : `, ${JSON.stringify(parameters)}`
  return [
    "import { createClient } from 'verdigraph/client'",
    '',
    `const client = createClient({ url: ${JSON.stringify(origin)}, key: process.env.KEY })`,
    `await client.may(${entity(subject)}, ${JSON.stringify(action)}, ${entity(resource)}${more})`,
  ].join('\n')
}

/** The question as a command. */
export function commandOf(
  { subject, action, resource, parameters }: AskedQuestion,
  origin: string,
  project: string,
): string {
  const text = ({ type, id }: NodeName): string => shellQuoted(`${type}:${id}`)
  const given = Object.entries(parameters).map(
    ([name, value]) =>
      ` --param ${shellQuoted(`${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)}`,
  )
  return `verdigraph why ${text(subject)} ${shellQuoted(action)} ${text(resource)}${given.join('')} \\\n  --url ${shellQuoted(origin)} --project ${shellQuoted(project)}`
}

function memberName(type: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(type) ? type : JSON.stringify(type)
}
