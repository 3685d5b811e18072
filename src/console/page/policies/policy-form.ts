// A policy as fields. A document that the fields cannot hold without loss is edited as text.
import {
  blockLines,
  type DocumentKindView,
  type FormBody,
  type FormTexts,
  type PageStatusDocument,
  sharedLines,
} from './document-kind.ts'

/** A stored policy. */
export interface PagePolicy extends PageStatusDocument {
  /** JSON text; a DRAFT may hold any text. */
  readonly policy: string
  readonly tags: readonly string[]
}

type JsonMembers = Readonly<Record<string, unknown>>

/** Versions of policies, and what they decide. */
export const policyVersions = [
  { id: '3.0-kbac', title: 'Decisions' },
  { id: '2.0-kbac', title: 'Decisions' },
  { id: '1.0-ciq', title: 'Context' },
] as const

const kinds = {
  path: 'authorization-policies',
  noun: 'policy',
  parameter: 'policy',
  list: null,
} as const

/** The kind. */
export const policyKind: DocumentKindView<PagePolicy> = {
  ...kinds,
  empty: {
    name: '',
    display_name: '',
    description: '',
    status: 'DRAFT',
    tags: '',
    version: '3.0-kbac',
    effect: 'permit',
    subject: '',
    actions: '',
    resource: '',
    cypher: 'MATCH (subject)-[]->(resource)',
    filter: '',
    token_filter: '',
    allowed: '',
    document: '',
  },
  formOf,
  bodyOf,
  textOf,
}

function formOf(stored: PagePolicy): FormTexts {
  const { name, display_name, description, status, tags, policy } = stored
  const shared = { ...policyKind.empty, name, display_name, description, status, tags: tags.join(', ') }
  const fields = fieldsOf(policy)
  return fields === null ? { ...shared, cypher: '', document: indented(policy) } : { ...shared, ...fields }
}

/** The fields of a document; null: they cannot hold it, or numbers would lose digits. */
function fieldsOf(text: string): FormTexts | null {
  if (/\d{16}/.test(text)) return null
  try {
    const document = JSON.parse(text) as JsonMembers
    const { meta, effect = 'permit', subject, actions, resource, condition, ...allowed } = document
    const { cypher, filter, token_filter } = (condition ?? {}) as JsonMembers
    const fields = {
      version: String((meta as JsonMembers).policy_version),
      effect: String(effect),
      subject: String((subject as JsonMembers).type),
      actions: actions === undefined ? '' : (actions as readonly string[]).join(', '),
      resource: resource === undefined ? '' : String((resource as JsonMembers).type),
      cypher: String(cypher),
      filter: jsonText(filter),
      token_filter: jsonText(token_filter),
      allowed: Object.keys(allowed).length === 0 ? '' : jsonText(allowed),
      document: '',
    }
    const rebuilt = documentOf(fields)
    const { effect: rebuiltEffect = 'permit', ...rest } = 'document' in rebuilt ? rebuilt.document : {}
    const { effect: _, ...given } = document
    return rebuiltEffect === effect && sorted(rest) === sorted(given) ? fields : null
  } catch {
    return null
  }
}

function jsonText(value: unknown): string {
  return value === undefined ? '' : JSON.stringify(value, null, 2)
}

function indented(text: string): string {
  try {
    return /\d{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** JSON with the members in order, to compare documents. */
function sorted(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** The document of the fields, for a check or a comparison. */
export function documentOf(
  form: FormTexts,
): { readonly document: JsonMembers } | { readonly problems: readonly string[] } {
  const problems: string[] = []
  const json = (title: string, text: string | undefined): unknown => {
    if (text === undefined || text.trim() === '') return undefined
    try {
      return JSON.parse(text) as unknown
    } catch (failure) {
      problems.push(`${title}: this is not JSON: ${(failure as Error).message}`)
      return undefined
    }
  }
  if (form.document) {
    const document = json('Document', form.document)
    return problems.length > 0 ? { problems } : { document: document as JsonMembers }
  }
  const isContext = form.version === '1.0-ciq'
  const filter = json('Filter', form.filter)
  const tokenFilter = isContext ? json('Token filter', form.token_filter) : undefined
  const allowed = isContext ? json('Allowed reads and writes', form.allowed) : undefined
  if (problems.length > 0) return { problems }
  return {
    document: {
      meta: { policy_version: form.version },
      ...(!isContext && form.effect === 'forbid' && { effect: 'forbid' }),
      subject: { type: form.subject?.trim() },
      ...(!isContext && { actions: listOf(form.actions), resource: { type: form.resource?.trim() } }),
      condition: {
        cypher: form.cypher,
        ...(filter !== undefined && { filter }),
        ...(tokenFilter !== undefined && { token_filter: tokenFilter }),
      },
      ...(allowed !== undefined && (allowed as JsonMembers)),
    },
  }
}

/** The parts of a text with commas. */
export function listOf(text: string | undefined): readonly string[] {
  return (text ?? '')
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')
}

function bodyOf(form: FormTexts): FormBody {
  const { display_name, description, status, tags } = form
  const members = { display_name, description, status, tags: listOf(tags) }
  // A draft may hold any text.
  if (form.document && status === 'DRAFT') return { body: { ...members, policy: form.document } }
  const made = documentOf(form)
  if ('problems' in made) return made
  return { body: { ...members, policy: form.document ? form.document : JSON.stringify(made.document) } }
}

function textOf(form: FormTexts): string {
  const { tags, version, effect, subject, actions, resource, cypher, filter, token_filter, allowed, document } = form
  const lines = [...sharedLines(form), ...(tags ? [`tags: ${tags}`] : [])]
  if (document) return [...lines, 'document:', document].join('\n')
  return [
    ...lines,
    `version: ${version}`,
    ...(effect === 'forbid' ? ['effect: forbid'] : []),
    `subject: ${subject}`,
    ...(version === '1.0-ciq' ? [] : [`actions: ${actions}`, `resource: ${resource}`]),
    ...blockLines('cypher', cypher),
    ...blockLines('filter', filter),
    ...blockLines('token filter', token_filter),
    ...blockLines('allowed', allowed),
  ].join('\n')
}

/** The types and actions of a policy in one line; empty: the document cannot be read. */
export function headOf({ version, effect, subject, actions, resource, document }: FormTexts): string {
  if (document) return ''
  if (version === '1.0-ciq') return `Context of ${subject}`
  return `${subject} ${effect === 'forbid' ? 'may not' : 'may'} ${actions} ${resource}`
}
