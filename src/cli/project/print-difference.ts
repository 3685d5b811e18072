// Prints the difference between a project folder and the stored configuration.
import { tokenIntrospectsKind } from '../../identity/token-introspect.ts'
import { formatPath } from '../../kernel/json/format-path.ts'
import { writeJson } from '../../kernel/json/json.ts'
import type {
  DocumentAction,
  DocumentDifference,
  MemberDifference,
  ProjectDifference,
} from '../../project/difference.ts'
import { colours } from '../output/colours.ts'

/** Longer values have lines of their own. */
const INLINE_MAX = 60

const signs = {
  create: colours.green('+'),
  update: colours.yellow('~'),
  delete: colours.red('-'),
  unmanaged: ' ',
  unchanged: ' ',
} as const satisfies Record<DocumentAction, string>

/** The lines of a difference; unchanged documents have none. `deletes`: whether the documents without a file are to be deleted. */
export function differenceLines({ documents }: ProjectDifference, deletes: boolean): readonly string[] {
  return documents.flatMap((document) => {
    if (document.action === 'unchanged' || document.action === 'unmanaged') return []
    if (document.action === 'delete') return deletes ? [`${signs.delete} ${titleOf(document)}`] : []
    const title = `${signs[document.action]} ${titleOf(document)}`
    // The members of a new document are those of its file.
    return document.action === 'create' ? [title] : [title, ...document.members.flatMap(memberLines)]
  })
}

/** The lines about stored documents without a file that stay. */
export function keptLines({ documents }: ProjectDifference, deletes: boolean): readonly string[] {
  const kept = documents.filter(({ action }) => action === 'delete')
  const unmanaged = documents.filter(({ action }) => action === 'unmanaged')
  const listed = (all: readonly DocumentDifference[]): string =>
    all.map(({ label, name }) => `${label} ${name}`).join(', ')
  const isIntrospection = ({ kind }: DocumentDifference): boolean => kind === tokenIntrospectsKind
  const callers = unmanaged.filter((document) => !isIntrospection(document))
  const introspections = unmanaged.filter(isIntrospection)
  return [
    ...(deletes || kept.length === 0 ? [] : [`without a file, kept: ${listed(kept)}; --prune deletes them`]),
    ...(callers.length === 0
      ? []
      : [`without a file, left alone because the folder has no applications and agents: ${listed(callers)}`]),
    ...(introspections.length === 0
      ? []
      : [`without a file, left alone because the folder has no token introspections: ${listed(introspections)}`]),
  ]
}

/** How many documents are created, updated, deleted and unchanged. */
export function countsLine({ documents }: ProjectDifference, deletes: boolean, verbs: 'planned' | 'done'): string {
  const count = (wanted: DocumentAction): number => documents.filter(({ action }) => action === wanted).length
  const deleted = deletes ? count('delete') : 0
  const to = verbs === 'planned' ? 'to ' : ''
  const ending = verbs === 'planned' ? '' : 'd'
  return `${count('create')} ${to}create${ending}, ${count('update')} ${to}update${ending}, ${deleted} ${to}delete${ending}, ${count('unchanged')} unchanged`
}

/** The difference as JSON, for programs. */
export function differenceJson({ projectId, documents }: ProjectDifference): object {
  return {
    project_id: projectId,
    documents: documents.map(({ action, kind, name, file, id, members, comparedLater, credentials }) => ({
      action,
      kind,
      name,
      file,
      id,
      members: members.map(({ member, before, after, isSecret }) => ({
        member,
        ...(before !== undefined && { before }),
        ...(after !== undefined && { after }),
        is_secret: isSecret,
      })),
      secrets_not_compared: comparedLater.map((path) => formatPath('', path)),
      credentials,
    })),
  }
}

function titleOf({ label, name, file, credentials }: DocumentDifference): string {
  const where = file === null ? '' : ` (${file})`
  const also = credentials === 0 ? '' : ` with ${credentials} ${credentials === 1 ? 'credential' : 'credentials'}`
  return `${label} ${name}${where}${also}`
}

function memberLines({ member, before, after }: MemberDifference): readonly string[] {
  const [old, next] = [textOf(before), textOf(after)]
  const isShort = !`${old}${next}`.includes('\n') && old.length + next.length <= INLINE_MAX
  if (isShort) return [`    ${member}: ${old} → ${next}`]
  return [
    `    ${member}:`,
    ...(before === undefined ? [] : old.split('\n').map((line) => `      ${colours.red(`- ${line}`)}`)),
    ...(after === undefined ? [] : next.split('\n').map((line) => `      ${colours.green(`+ ${line}`)}`)),
  ]
}

function textOf(value: unknown): string {
  if (value === undefined) return 'absent'
  return typeof value === 'string' ? value.replace(/\n$/, '') : writeJson(value)
}
