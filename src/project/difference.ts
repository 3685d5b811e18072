// The difference between a project folder and the stored configuration of its project. Documents are the same if kind and name are.
import type { DocumentFields } from '../config/kind.ts'
import { applicationAgentsKind, applicationsKind, resolversKind } from '../config/kind.ts'
import { tokenIntrospectsKind } from '../identity/token-introspect.ts'
import { canonicalJson } from '../kernel/json/canonical-json.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { withoutSecretParameters } from '../kernel/text/url-secrets.ts'
import type { CurrentDocument, CurrentProject } from './current-project.ts'
import type { FileKind } from './file-kinds.ts'
import { fileKindOf, fileKinds } from './other-file-kinds.ts'
import type { DocumentReference, FolderDocument, ProjectFolder } from './project-folder.ts'

/**
 * What makes the stored configuration equal to the folder. `delete`: the folder does not have the document. `unmanaged`: nor has it
 * any application or agent, or for a token introspection any introspection, so these are left alone.
 */
export type DocumentAction = 'create' | 'update' | 'unchanged' | 'delete' | 'unmanaged'

/** A member that differs. */
export interface MemberDifference {
  /** The path in the file, such as `cypher` or `node_filter.source_node_types`. */
  readonly member: string
  /** Undefined: the stored document does not have the member. A secret is `(secret)`. */
  readonly before: unknown
  /** Undefined: the file does not have the member. A secret is the text of the file, with references. */
  readonly after: unknown
  readonly isSecret: boolean
}

/** A document of the folder, of the stored configuration, or of both. */
export interface DocumentDifference {
  readonly action: DocumentAction
  /** Kind, such as `authorization-policies`. */
  readonly kind: string
  /** Singular name of the kind, such as `authorization policy`. */
  readonly label: string
  readonly name: string
  /** Path of the file, relative to the folder; null: there is no file. */
  readonly file: string | null
  /** Id of the stored document; null: it is to be created. */
  readonly id: string | null
  /** The members that differ, for `create` and `update`; empty for others. */
  readonly members: readonly MemberDifference[]
  /** The paths of secrets that both have: stored secrets are not readable, so they are not compared. */
  readonly comparedLater: readonly (readonly string[])[]
  /** Number of credentials that a deletion deletes too. */
  readonly credentials: number
}

/** The difference: the project itself first, then documents before those that refer to them; deletions last, in reverse. */
export interface ProjectDifference {
  /** Null: the project is to be created. */
  readonly projectId: string | null
  readonly documents: readonly DocumentDifference[]
}

const HIDDEN_SECRET = '(secret)'

/** Compares a project folder with the stored configuration. `current`: null if the project does not exist. */
export function differenceOf(folder: ProjectFolder, current: CurrentProject | null): ProjectDifference {
  const stored = new Map(current?.documents.map((document) => [keyOf(document), document]))
  const inFolder = new Set(folder.documents.map(keyOf))
  const managed = new Set(folder.documents.map(({ kind }) => callerGroupOf(kind)))
  const extra = [...stored.values()].filter((document) => !inFolder.has(keyOf(document)))
  return {
    projectId: current?.project.id ?? null,
    documents: [
      compared(folder.project, current?.project ?? null),
      ...folder.documents.map((document) => compared(document, stored.get(keyOf(document)) ?? null)),
      ...inDeletionOrder(extra).map((document): DocumentDifference => {
        const group = callerGroupOf(document.kind)
        const action = group !== null && !managed.has(group) ? 'unmanaged' : 'delete'
        return { ...surplus(document, action), credentials: credentialsBelow(document, current) }
      }),
    ],
  }
}

/** Whether an apply without deletions would change anything. Secrets that are compared later do not count. */
export function hasChanges({ documents }: ProjectDifference): boolean {
  return documents.some(({ action }) => action === 'create' || action === 'update')
}

function keyOf({ kind, name }: Pick<CurrentDocument, 'kind' | 'name'>): string {
  return `${kind} ${name}`
}

/** The documents of a group are left alone if the folder has none of them: they may be managed elsewhere. Null: always managed. */
function callerGroupOf(kind: string): string | null {
  if (kind === applicationsKind || kind === applicationAgentsKind) return applicationsKind
  return kind === tokenIntrospectsKind ? kind : null
}

/** Documents before those that they refer to. */
function inDeletionOrder(documents: readonly CurrentDocument[]): readonly CurrentDocument[] {
  const rank = ({ kind }: CurrentDocument): number => fileKinds.findIndex((one) => one.kind === kind)
  return [...documents].sort((a, b) => rank(b) - rank(a) || (a.name < b.name ? -1 : 1))
}

function credentialsBelow(document: CurrentDocument, current: CurrentProject | null): number {
  const agents = [document, ...(current?.documents ?? [])].filter(
    ({ id, references }) =>
      id === document.id ||
      references.some(
        ({ kind, name }) => kind === applicationsKind && kind === document.kind && name === document.name,
      ),
  )
  return [...new Set(agents.map(({ id }) => id))].reduce((sum, id) => sum + (current?.credentials[id] ?? 0), 0)
}

function surplus(document: CurrentDocument, action: DocumentAction): DocumentDifference {
  const { kind, name, id } = document
  const { label } = knownKind(kind)
  return { action, kind, label, name, file: null, id, members: [], comparedLater: [], credentials: 0 }
}

function compared(document: FolderDocument, stored: CurrentDocument | null): DocumentDifference {
  const { kind, name, file } = document
  const fileKind = knownKind(kind)
  const before = stored === null ? {} : fileDataOf(fileKind, stored)
  const after = fileDataOf(fileKind, { ...document, secrets: document.secrets.map(({ path }) => secretPathOf(path)) })
  const members = [...differentMembers(before, after), ...differentSecrets(document, stored)]
  const action = stored === null ? 'create' : members.length > 0 ? 'update' : 'unchanged'
  const storedSecrets = new Set(stored?.secrets.map((path) => formatPath('', path)))
  const comparedLater = secretPathsOf(document).filter((path) => storedSecrets.has(formatPath('', path)))
  return {
    action,
    kind,
    label: fileKind.label,
    name,
    file,
    id: stored?.id ?? null,
    members: kind === resolversKind ? members.map(withoutUrlSecrets) : members,
    comparedLater,
    credentials: 0,
  }
}

/** The difference is printed. */
function withoutUrlSecrets(difference: MemberDifference): MemberDifference {
  if (difference.member !== 'url') return difference
  const shown = (url: unknown): unknown => (typeof url === 'string' ? withoutSecretParameters(url) : url)
  return { ...difference, before: shown(difference.before), after: shown(difference.after) }
}

function knownKind(kind: string): FileKind {
  const found = fileKindOf(kind)
  if (found === undefined) throw new Error(`no file has documents of the kind ${kind}`)
  return found
}

/** The members of the file of a document, without its name, secrets and defaults. */
export function fileDataOf(
  kind: FileKind,
  document: {
    readonly name: string
    readonly body: DocumentFields
    readonly references: readonly DocumentReference[]
    readonly secrets: readonly (readonly string[])[]
  },
): DocumentFields {
  const names = document.references.flatMap(({ member, name }) => {
    const naming = kind.references.find(({ bodyMember }) => bodyMember === member)
    return naming === undefined ? [] : [[naming.member, name] as const]
  })
  const { display_name, ...body } = kind.dataOf(document.secrets.reduce(withoutPath, document.body))
  return {
    // An unset display_name reads as the name.
    ...(display_name !== undefined && display_name !== document.name && { display_name }),
    ...Object.fromEntries(names),
    ...body,
  }
}

/** The path without the index of an item of a list of secrets. */
function secretPathOf(path: readonly (string | number)[]): readonly string[] {
  const index = path.findIndex((step) => typeof step === 'number')
  return (index < 0 ? path : path.slice(0, index)) as readonly string[]
}

/** Each path once: the items of a list have the same. */
function secretPathsOf({ secrets }: FolderDocument): readonly (readonly string[])[] {
  const paths = secrets.map(({ path }) => secretPathOf(path))
  return [...new Map(paths.map((path) => [formatPath('', path), path])).values()]
}

function withoutPath(fields: DocumentFields, [step = '', ...rest]: readonly string[]): DocumentFields {
  if (rest.length === 0) return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== step))
  const inner = fields[step]
  return isJsonObject(inner) ? { ...fields, [step]: withoutPath(inner, rest) } : fields
}

function differentMembers(
  before: DocumentFields,
  after: DocumentFields,
  path: readonly string[] = [],
): MemberDifference[] {
  const names = [...new Set([...Object.keys(after), ...Object.keys(before)])]
  return names.flatMap((name): MemberDifference[] => {
    const [old, next] = [before[name], after[name]]
    if (canonicalJson(old ?? null) === canonicalJson(next ?? null)) return []
    const at = [...path, name]
    if (isJsonObject(old) && isJsonObject(next)) return differentMembers(old, next, at)
    return [{ member: formatPath('', at), before: old, after: next, isSecret: false }]
  })
}

function differentSecrets(document: FolderDocument, stored: CurrentDocument | null): MemberDifference[] {
  const before = new Set(stored?.secrets.map((path) => formatPath('', path)))
  const after = new Set(secretPathsOf(document).map((path) => formatPath('', path)))
  const texts = new Map(document.secrets.map(({ path, text }) => [formatPath('', secretPathOf(path)), text]))
  return [
    ...[...after]
      .filter((member) => !before.has(member))
      .map((member) => ({ member, before: undefined, after: texts.get(member), isSecret: true })),
    ...[...before]
      .filter((member) => !after.has(member))
      .map((member) => ({ member, before: HIDDEN_SECRET, after: undefined, isSecret: true })),
  ]
}
