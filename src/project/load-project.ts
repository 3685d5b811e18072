// Reads a project folder: one configuration document in each file. Reports all errors of all files, each with its place and, for a
// misspelt name, the nearest right one. It checks syntax, members and names; stored-project.ts checks what needs a compiler.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, resolve, sep } from 'node:path'
import { suggestion } from '../../grammar/suggest.ts'
import { type DocumentFields, envelope } from '../config/kind.ts'
import { validate } from '../config/validate.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type FileDiagnostic, ProjectFolderError } from './file-diagnostic.ts'
import {
  CYPHER_ENDING,
  decisionFileKinds,
  type FileKind,
  otherFiles,
  PROJECT_FILE,
  projectFile,
  SCENARIOS,
} from './file-kinds.ts'
import type { FolderDocument, ProjectFolder } from './project-folder.ts'
import { type DocumentSource, documentOf } from './read-document.ts'
import { YamlFile } from './yaml-file.ts'

/** Reads the project folder at `path`. Rejects with ProjectFolderError for all errors. */
export async function loadProject(path: string): Promise<ProjectFolder> {
  const folder = resolve(path)
  const errors: FileDiagnostic[] = []
  const read = projectOf(folder, errors)
  const isWhole = Object.keys(otherFiles).some((name) => existsSync(join(folder, name)))
  const fileKinds = isWhole ? (await import('./other-file-kinds.ts')).fileKinds : decisionFileKinds
  const documents = [
    ...(read === null ? [] : [read]),
    ...fileKinds.flatMap((kind) => documentsOf(folder, kind, errors)),
  ]
  errors.push(...unknownFolders(folder), ...duplicateNames(documents), ...unknownNames(documents, fileKinds))
  const scenarios = filesBelow(folder, SCENARIOS.folder).filter((file) => file.endsWith(SCENARIOS.ending))
  if (read === null || errors.length > 0) throw new ProjectFolderError(sorted(errors))
  return { folder, project: read, documents: documents.slice(1), scenarios }
}

/** The create body of a document: with the ids of the documents that it names. */
export function createBody(
  { name, body, references }: FolderDocument,
  idOf: (kind: string, name: string) => string,
): DocumentFields {
  const ids = references.map(({ member, kind, name: named }) => [member, idOf(kind, named)] as const)
  return { name, ...body, ...Object.fromEntries(ids) }
}

function projectOf(folder: string, errors: FileDiagnostic[]): FolderDocument | null {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    errors.push(startOf('.', `there is no folder \`${folder}\``))
    return null
  }
  if (!existsSync(join(folder, PROJECT_FILE))) {
    errors.push(startOf(PROJECT_FILE, 'the file is missing: a project folder begins with it'))
    return null
  }
  const parsed = parseFile(folder, PROJECT_FILE)
  if (!parsed.ok) {
    errors.push(...parsed.error)
    return null
  }
  const { plain } = parsed.value
  const name = isJsonObject(plain) && typeof plain.name === 'string' ? plain.name : ''
  return documentOf(projectFile, name, parsed.value, errors)
}

function documentsOf(folder: string, kind: FileKind, errors: FileDiagnostic[]): readonly FolderDocument[] {
  const isPolicy = kind.folder === 'policies'
  return filesBelow(folder, kind.folder).flatMap((file) => {
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
    const parsed = parseFile(folder, file)
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
  const [whole, members = ''] = matter
  const header = parseYamlFile(file, text.slice(0, whole.lastIndexOf('---')))
  if (!header.ok) return header
  const { yaml, plain, exact } = header.value
  if (!isJsonObject(plain) || !isJsonObject(exact)) {
    return err([startOf(file, `expected members in the front matter, found ${jsonKindOf(plain)}`)])
  }
  if (plain.cypher !== undefined) {
    const message = '`cypher` is the text after the front matter'
    return err([{ ...yaml.position([], 'cypher'), message }])
  }
  const cypher = text.slice(whole.length).trimEnd()
  const added = { cypher }
  const cypherLine = members.split('\n').length + 2
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
function unknownFolders(folder: string): FileDiagnostic[] {
  if (!existsSync(folder)) return []
  const endings = new Map<string, string>([
    ...decisionFileKinds.map(({ ending, folder: of }) => [ending, of] as const),
    ...Object.entries(otherFiles).map(([of, ending]) => [ending, of] as const),
    [SCENARIOS.ending, SCENARIOS.folder],
  ])
  const known = [...endings.values()]
  const endingOf = (file: string): string | undefined => [...endings.keys()].find((ending) => file.endsWith(ending))
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) {
      const ending = endingOf(entry.name)
      if (ending === undefined) return []
      return [startOf(entry.name, `expected this file in the folder \`${endings.get(ending)}\``)]
    }
    if (known.includes(entry.name) || entry.name.startsWith('.') || entry.name === 'node_modules') return []
    const [file] = readdirSync(join(folder, entry.name)).filter((name) => endingOf(name) !== undefined)
    if (file === undefined) return []
    const message = `the folder \`${entry.name}\` is not read${suggestion(entry.name, known)}`
    return [startOf(`${entry.name}/${file}`, message)]
  })
}

/** The files below a folder that may be documents, sorted: no hidden files, and no texts for people. */
function filesBelow(folder: string, name: string): readonly string[] {
  const path = join(folder, name)
  if (!existsSync(path)) return []
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith('.') && !/\.(?:md|txt)$/.test(entry.name))
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .split(sep)
        .join('/'),
    )
    .sort()
}

function startOf(file: string, message: string): FileDiagnostic {
  return { file, line: 1, column: 1, message }
}

function sorted(errors: readonly FileDiagnostic[]): readonly FileDiagnostic[] {
  const order = (a: FileDiagnostic, b: FileDiagnostic): number =>
    a.file === b.file ? a.line - b.line || a.column - b.column : a.file < b.file ? -1 : 1
  return [...errors].sort(order)
}
