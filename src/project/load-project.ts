// Reads a project folder: one configuration document in each file. Reports all errors of all files, each with its place and, for a
// misspelt name, the nearest right one. It checks syntax, members and names; stored-project.ts checks what needs a compiler.
import { lstatSync, readdirSync, readFileSync, type Stats, statSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { suggestion } from '../../grammar/suggest.ts'
import { type DocumentFields, envelope } from '../config/kind.ts'
import { validate } from '../config/validate.ts'
import { fileIssueOf } from '../kernel/folder/file-issue.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { MODEL_FILE, modelStart } from '../model/model-file.ts'
import { type FileDiagnostic, ProjectFolderError } from './file-diagnostic.ts'
import {
  CYPHER_ENDING,
  type FileKind,
  MODEL_NAME,
  modelFile,
  otherFiles,
  PROJECT_FILE,
  PULL_MARKER,
  policyFiles,
  projectFile,
  QUERIES,
  SCENARIOS,
} from './file-kinds.ts'
import type { FolderDocument, ProjectFolder } from './project-folder.ts'
import { type DocumentSource, documentOf } from './read-document.ts'
import { YamlFile } from './yaml-file.ts'

const NOT_READ = 'symbolic links and special files are not read'

/**
 * Reads the project folder at `path`. `isPulled`: also reads a folder whose `pull` was interrupted: names may be missing or
 * taken twice. Rejects with ProjectFolderError for all errors.
 */
export async function loadProject(path: string, isPulled = false): Promise<ProjectFolder> {
  const folder = resolve(path)
  const issue = folderIssue(folder)
  if (issue !== null) throw new ProjectFolderError([startOf('.', issue)])
  const errors: FileDiagnostic[] = []
  if (!isPulled && statusOf(join(folder, PULL_MARKER)) !== undefined) {
    const message = 'a `pull` into this folder was interrupted, so the folder has old and new files: run it again'
    throw new ProjectFolderError([startOf(PULL_MARKER, message)])
  }
  const read = projectOf(folder, errors)
  const fileKinds = await kindsIn(folder)
  const documents = [
    ...(read === null ? [] : [read]),
    ...modelOf(folder, errors),
    ...fileKinds.filter((kind) => kind !== modelFile).flatMap((kind) => documentsOf(folder, kind, errors)),
  ]
  errors.push(...unknownFolders(folder, errors))
  if (!isPulled) errors.push(...duplicateNames(documents), ...unknownNames(documents, fileKinds))
  const scenarios = filesBelow(folder, SCENARIOS.folder, errors).filter((file) => file.endsWith(SCENARIOS.ending))
  if (read === null || errors.length > 0) throw new ProjectFolderError(sorted(errors))
  return { folder, project: read, documents: documents.slice(1), scenarios }
}

/** The kinds of the files in a folder. Each is loaded only if the folder has files of it, because most programs have policies alone. */
async function kindsIn(folder: string): Promise<readonly FileKind[]> {
  const has = (name: string): boolean => statusOf(join(folder, name)) !== undefined
  if (Object.keys(otherFiles).some(has)) return (await import('./other-file-kinds.ts')).fileKinds
  return has(QUERIES.folder) ? [policyFiles, (await import('./query-files.ts')).queryFiles] : [policyFiles]
}

/** The create body of a document: with the ids of the documents that it names. */
export function createBody(
  { name, body, references }: FolderDocument,
  idOf: (kind: string, name: string) => string,
): DocumentFields {
  const ids = references.map(({ member, kind, name: named }) => [member, idOf(kind, named)] as const)
  return { name, ...body, ...Object.fromEntries(ids) }
}

/** Whether a folder has the file of a project, or what should be that file. */
export function isProjectFolder(folder: string): boolean {
  try {
    return statusOf(join(folder, PROJECT_FILE)) !== undefined
  } catch {
    return false
  }
}

/** Why the folder cannot be read; null: it can. */
function folderIssue(folder: string): string | null {
  try {
    const status = statSync(folder, { throwIfNoEntry: false })
    if (status === undefined) return `there is no folder \`${folder}\``
    if (!status.isDirectory()) return `\`${folder}\`: expected a folder, found a file`
    readdirSync(folder)
    // Fails if the names in the folder may be listed and nothing more.
    statusOf(join(folder, PROJECT_FILE))
    return null
  } catch (failure) {
    const issue = fileIssueOf(failure)
    if (issue === null) throw failure
    return `\`${folder}\`: ${issue}`
  }
}

/** Null, and an error about `file`, if it cannot be read. */
function attempt<T>(file: string, errors: FileDiagnostic[], read: () => T): T | null {
  try {
    return read()
  } catch (failure) {
    const issue = fileIssueOf(failure)
    if (issue === null) throw failure
    errors.push(startOf(file, issue))
    return null
  }
}

function projectOf(folder: string, errors: FileDiagnostic[]): FolderDocument | null {
  const status = statusOf(join(folder, PROJECT_FILE))
  if (status?.isFile() !== true) {
    const missing = 'the file is missing: a project folder begins with it'
    errors.push(
      startOf(
        PROJECT_FILE,
        status === undefined ? missing : status.isDirectory() ? 'expected a file, found a folder' : NOT_READ,
      ),
    )
    return null
  }
  const parsed = attempt(PROJECT_FILE, errors, () => parseFile(folder, PROJECT_FILE))
  if (parsed === null) return null
  if (!parsed.ok) {
    errors.push(...parsed.error)
    return null
  }
  const { plain } = parsed.value
  const name = isJsonObject(plain) && typeof plain.name === 'string' ? plain.name : ''
  return documentOf(projectFile, name, parsed.value, errors)
}

/** The document of the model; none if there is no file. */
function modelOf(folder: string, errors: FileDiagnostic[]): readonly FolderDocument[] {
  const status = statusOf(join(folder, MODEL_FILE))
  if (status === undefined) return []
  if (!status.isFile()) {
    errors.push(startOf(MODEL_FILE, status.isDirectory() ? 'expected a file, found a folder' : NOT_READ))
    return []
  }
  const parsed = attempt(MODEL_FILE, errors, () => {
    const text = readFileSync(join(folder, MODEL_FILE), 'utf8')
    return parseTextFile(MODEL_FILE, text, 'model', modelStart(text))
  })
  if (parsed === null) return []
  if (!parsed.ok) {
    errors.push(...parsed.error)
    return []
  }
  const { plain } = parsed.value
  const name = isJsonObject(plain) && typeof plain.name === 'string' ? plain.name : MODEL_NAME
  const document = documentOf(modelFile, name, parsed.value, errors)
  return document === null ? [] : [document]
}

function documentsOf(folder: string, kind: FileKind, errors: FileDiagnostic[]): readonly FolderDocument[] {
  const isPolicy = kind.folder === 'policies'
  return filesBelow(folder, kind.folder, errors).flatMap((file) => {
    const ending = file.endsWith(kind.ending)
      ? kind.ending
      : isPolicy && file.endsWith(CYPHER_ENDING)
        ? CYPHER_ENDING
        : null
    if (ending === null) {
      const expected = isPolicy ? `\`NAME${kind.ending}\` or \`NAME${CYPHER_ENDING}\`` : `\`NAME${kind.ending}\``
      errors.push(startOf(file, `expected a file ${expected} in this folder`))
      return []
    }
    const name = basename(file, ending)
    const nameIssues = validate(envelope.name, name, 'the file name')
    if (!nameIssues.ok) {
      errors.push(...nameIssues.error.map((message) => startOf(file, message)))
      return []
    }
    const parsed = attempt(file, errors, () => parseFile(folder, file))
    if (parsed === null) return []
    if (!parsed.ok) {
      errors.push(...parsed.error)
      return []
    }
    const document = documentOf(kind, name, parsed.value, errors)
    return document === null ? [] : [document]
  })
}

function parseFile(folder: string, file: string): Result<DocumentSource, readonly FileDiagnostic[]> {
  const text = readFileSync(join(folder, ...file.split('/')), 'utf8')
  return file.endsWith(CYPHER_ENDING) ? parseCypherFile(file, text) : parseYamlFile(file, text)
}

function parseYamlFile(file: string, text: string): Result<DocumentSource, readonly FileDiagnostic[]> {
  const yaml = new YamlFile(file, text)
  if (yaml.errors.length > 0) return err(yaml.errors)
  // An empty file is a document without members of its own.
  return ok({ yaml, base: [], plain: yaml.value('plain') ?? {}, exact: yaml.value('exact') ?? {}, cypherLine: null })
}

const FRONT_MATTER = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)/m

function parseCypherFile(file: string, text: string): Result<DocumentSource, readonly FileDiagnostic[]> {
  const matter = text.startsWith('---') ? FRONT_MATTER.exec(text) : null
  if (matter === null) {
    return err([startOf(file, 'expected a front matter: a line `---`, the members of the policy, and a line `---`')])
  }
  return parseTextFile(file, text, 'cypher', matter[0].length)
}

/** A file whose text, from `start` on, is a member, and which has the other members in the front matter before it. */
function parseTextFile(
  file: string,
  text: string,
  member: 'cypher' | 'model',
  start: number,
): Result<DocumentSource, readonly FileDiagnostic[]> {
  const matter = text.slice(0, start)
  const header = parseYamlFile(file, matter.slice(0, Math.max(0, matter.lastIndexOf('---'))))
  if (!header.ok) return header
  const { yaml, plain, exact } = header.value
  if (!isJsonObject(plain) || !isJsonObject(exact)) {
    return err([startOf(file, `expected members in the front matter, found ${jsonKindOf(plain)}`)])
  }
  if (plain[member] !== undefined) {
    const message = `\`${member}\` is the text after the front matter`
    return err([{ ...yaml.position([], member), message }])
  }
  // As YAML reads line breaks: git may check a file out with those of the system.
  const added = { [member]: text.slice(start).replaceAll('\r\n', '\n').trimEnd() }
  const cypherLine = matter.split('\n').length
  return ok({
    yaml,
    base: [],
    plain: { ...plain, ...added },
    exact: { ...exact, ...added },
    cypherLine,
  })
}

function duplicateNames(documents: readonly FolderDocument[]): FileDiagnostic[] {
  const first = new Map<string, string>()
  return documents.flatMap(({ kind, name, file }) => {
    const key = `${kind} ${name}`
    const other = first.get(key)
    if (other !== undefined) return [startOf(file, `the name \`${name}\` is taken by ${other}`)]
    first.set(key, file)
    return []
  })
}

function unknownNames(documents: readonly FolderDocument[], fileKinds: readonly FileKind[]): FileDiagnostic[] {
  return documents.flatMap(({ references, locate: place }) =>
    references.flatMap(({ member, kind, name }) => {
      const names = documents.filter((one) => one.kind === kind).map((one) => one.name)
      if (names.includes(name)) return []
      const label = fileKinds.find((one) => one.kind === kind)?.label ?? kind
      return [{ ...place(member), message: `no ${label} is named \`${name}\`${suggestion(name, names)}` }]
    }),
  )
}

/** A folder of an unknown name with configuration files in it is a mistake; any other folder is not a part of the project. */
function unknownFolders(folder: string, errors: FileDiagnostic[]): FileDiagnostic[] {
  const endings = new Map<string, string>([
    ...[policyFiles, QUERIES].map(({ ending, folder: of }) => [ending, of] as const),
    ...Object.entries(otherFiles).map(([of, ending]) => [ending, of] as const),
    [SCENARIOS.ending, SCENARIOS.folder],
  ])
  const known = [...endings.values()]
  const endingOf = (file: string): string | undefined => [...endings.keys()].find((ending) => file.endsWith(ending))
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) {
      const isModel = entry.name.endsWith('.gql')
      if (isModel) return entry.name === MODEL_FILE ? [] : [startOf(entry.name, `expected the name \`${MODEL_FILE}\``)]
      const ending = endingOf(entry.name)
      if (ending === undefined) return []
      return [startOf(entry.name, `expected this file in the folder \`${endings.get(ending)}\``)]
    }
    if (known.includes(entry.name) || entry.name.startsWith('.') || entry.name === 'node_modules') return []
    const names = attempt(entry.name, errors, () => readdirSync(join(folder, entry.name))) ?? []
    const file = names.find((name) => endingOf(name) !== undefined)
    if (file === undefined) return []
    const message = `the folder \`${entry.name}\` is not read${suggestion(entry.name, known)}`
    return [startOf(`${entry.name}/${file}`, message)]
  })
}

/**
 * The files below a folder that may be documents, sorted: no hidden files, and no texts for people. A link or a special file is an
 * error: without it, its document would be one that has no file.
 */
function filesBelow(folder: string, path: string, errors: FileDiagnostic[]): readonly string[] {
  const status = statusOf(join(folder, ...path.split('/')))
  if (status === undefined) return []
  if (!status.isDirectory()) {
    errors.push(startOf(path, status.isFile() ? 'expected a folder, found a file' : NOT_READ))
    return []
  }
  const list = () => readdirSync(join(folder, ...path.split('/')), { withFileTypes: true })
  const entries = attempt(path, errors, list) ?? []
  return entries
    .flatMap((entry): readonly string[] => {
      const inner = `${path}/${entry.name}`
      if (entry.isDirectory()) return filesBelow(folder, inner, errors)
      if (entry.name.startsWith('.') || /\.(?:md|txt)$/.test(entry.name)) return []
      if (entry.isFile()) return [inner]
      errors.push(startOf(inner, NOT_READ))
      return []
    })
    .sort()
}

/** Of the link itself, if it is one. */
function statusOf(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false })
}

function startOf(file: string, message: string): FileDiagnostic {
  return { file, line: 1, column: 1, message }
}

function sorted(errors: readonly FileDiagnostic[]): readonly FileDiagnostic[] {
  const order = (a: FileDiagnostic, b: FileDiagnostic): number =>
    a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1
  return [...errors].sort(order)
}
