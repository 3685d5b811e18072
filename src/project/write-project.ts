// Writes stored configuration as the files of a project folder. Equal configuration gives equal files.
import { Document, Scalar, type YAMLMap } from 'yaml'
import type { DocumentFields } from '../config/kind.ts'
import { Float } from '../kernel/float.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { parseYaml } from '../kernel/json/yaml.ts'
import { MODEL_FILE, modelStart } from '../model/model-file.ts'
import type { CurrentDocument, CurrentProject } from './current-project.ts'
import { differenceOf, fileDataOf } from './difference.ts'
import { CYPHER_ENDING, type FileKind, MODEL_NAME, modelFile, PROJECT_FILE, projectFile } from './file-kinds.ts'
import { fileKindOf } from './other-file-kinds.ts'
import type { FolderDocument, ProjectFolder } from './project-folder.ts'

/** A file to write. */
export interface WrittenFile {
  /** Relative to the folder, with `/`. */
  readonly path: string
  readonly text: string
}

/** A secret that a file refers to. */
interface WrittenSecret {
  readonly kind: string
  readonly name: string
  /** The path in the file. */
  readonly member: string
  /** The text in the file, such as `${env:PRICE_AUTHORIZATION}`. */
  readonly text: string
}

/** A project as files. */
export interface WrittenProject {
  readonly files: readonly WrittenFile[]
  readonly secrets: readonly WrittenSecret[]
}

const PROJECT_COMMENT = ` The configuration of a project: one document in each file, see docs/reference/project-folder.md.
 Credentials of application agents and service accounts are not in these files: they are created in each
 project, with POST /configs/v1/application-agent-credentials.`

/** Members that come first, in this order; the others follow in the order in which they are stored. */
const leading = [
  'name',
  'display_name',
  'description',
  'version',
  'application',
  'agent',
  'introspection',
  'policy',
  'effect',
  'subject',
  'actions',
  'resource',
  'cypher',
  'filter',
  'token_filter',
]
const trailing = ['tags', 'status']

/**
 * The files of a project. `existing`: the folder that they replace, whose references to secrets, file names and comments are kept;
 * null: the project has no folder yet. `textOf`: the text of an existing file.
 */
export function writeProject(
  current: CurrentProject,
  existing: ProjectFolder | null,
  textOf: (file: string) => string,
): WrittenProject {
  const secrets: WrittenSecret[] = []
  const variables = new Set<string>()
  const paths = new Set<string>()
  const differences = existing === null ? [] : differenceOf(existing, current).documents
  const files = [current.project, ...current.documents].map((document): WrittenFile => {
    const kind = fileKindOf(document.kind) as FileKind
    const before = existing === null ? null : existingDocument(existing, document)
    const texts = secretTexts(document, before, variables)
    for (const [member, { text }] of texts) secrets.push({ kind: document.kind, name: document.name, member, text })
    const data = dataWithSecrets(kind, document, texts)
    if (before === null) return { path: freePath(kind, document.name, paths), text: textOfNew(kind, data) }
    if (before.file.endsWith(CYPHER_ENDING) && !isCypherFile(data)) {
      const path = `${before.file.slice(0, -CYPHER_ENDING.length)}${kind.ending}`
      paths.add(path.toLowerCase())
      return { path, text: textOfNew(kind, data) }
    }
    const difference = differences.find(({ file }) => file === before.file)
    const changed = new Set(difference?.members.map(({ member }) => member.split(/[.[]/)[0] ?? member))
    return { path: before.file, text: updatedText(textOf(before.file), before.file, data, changed) }
  })
  return { files, secrets }
}

function existingDocument({ project, documents }: ProjectFolder, wanted: CurrentDocument): FolderDocument | null {
  if (wanted.kind === project.kind) return project
  return documents.find(({ kind, name }) => kind === wanted.kind && name === wanted.name) ?? null
}

/**
 * Whether a file of Cypher with a front matter can have these members: reading it drops blanks at the end of the Cypher, and carriage
 * returns at the ends of lines.
 */
function isCypherFile({ cypher }: DocumentFields): boolean {
  return typeof cypher === 'string' && cypher === cypher.trimEnd() && !cypher.includes('\r\n')
}

/** Names that differ only in case would be one file where the file system ignores case. */
function freePath({ folder, ending }: FileKind, name: string, taken: Set<string>): string {
  if (folder === '') return ending === '' ? PROJECT_FILE : MODEL_FILE
  for (let number = 1; ; number++) {
    const path = `${folder}/${number === 1 ? '' : `${number}/`}${name}${ending}`
    if (taken.has(path.toLowerCase())) continue
    taken.add(path.toLowerCase())
    return path
  }
}

interface SecretValue {
  readonly path: readonly string[]
  /** The text, or for a list the text of each item. */
  readonly text: string
  readonly items: readonly string[] | null
}

/** The texts of the secrets of a document, by their path in the file. */
function secretTexts(
  { name, body, secrets }: CurrentDocument,
  before: FolderDocument | null,
  variables: Set<string>,
): ReadonlyMap<string, SecretValue> {
  const kept = new Map(before?.secrets.map(({ path, text }) => [formatPath('', path), text]))
  return new Map(
    secrets.map((path): [string, SecretValue] => {
      const member = formatPath('', path)
      const mask = memberAt(body, path)
      const reference = (at: string, words: readonly string[]): string => kept.get(at) ?? variable(words, variables)
      if (!Array.isArray(mask)) return [member, { path, text: reference(member, [name, ...path]), items: null }]
      const items = mask.map((_, i) => reference(`${member}[${i}]`, [name, ...path, String(i + 1)]))
      return [member, { path, text: items.join(', '), items }]
    }),
  )
}

/** A reference to an environment variable that no other secret uses. */
function variable(words: readonly string[], taken: Set<string>): string {
  const base = words
    .join('_')
    .replaceAll(/[^A-Za-z0-9]+/g, '_')
    .toUpperCase()
  for (let number = 1; ; number++) {
    const name = number === 1 ? base : `${base}_${number}`
    if (taken.has(name)) continue
    taken.add(name)
    return `\${env:${name}}`
  }
}

function dataWithSecrets(
  kind: FileKind,
  document: CurrentDocument,
  texts: ReadonlyMap<string, SecretValue>,
): DocumentFields {
  const data = fileDataOf(kind, document)
  const isNamed = kind === projectFile || (kind === modelFile && document.name !== MODEL_NAME)
  const own = isNamed ? { name: document.name, ...data } : data
  const whole = [...texts.values()].reduce(
    (filled, { path, text, items }) => withMember(filled, path, items ?? text),
    own as DocumentFields,
  )
  return inOrder(whole)
}

function inOrder(data: DocumentFields): DocumentFields {
  const rank = (name: string): number => {
    const first = leading.indexOf(name)
    return first >= 0 ? first : leading.length + 1 + trailing.indexOf(name)
  }
  return Object.fromEntries(Object.entries(data).sort(([a], [b]) => rank(a) - rank(b)))
}

function memberAt(fields: DocumentFields, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, step) => (isJsonObject(value) ? value[step] : undefined), fields)
}

function withMember(fields: DocumentFields, [step = '', ...rest]: readonly string[], value: unknown): DocumentFields {
  if (rest.length === 0) return { ...fields, [step]: value }
  const inner = fields[step]
  return { ...fields, [step]: withMember(isJsonObject(inner) ? inner : {}, rest, value) }
}

function textOfNew(kind: FileKind, data: DocumentFields): string {
  if (kind === modelFile) {
    const { model, ...members } = data
    return modelFileText(yamlOfNew(kind, members), `${String(model)}\n`)
  }
  return yamlOfNew(kind, data)
}

/** The file of a model. `members`: the lines of its front matter; empty: it needs none. */
function modelFileText(members: string, model: string): string {
  return members === '' && !model.startsWith('---') ? model : `---\n${members}---\n${model}`
}

function yamlOfNew(kind: FileKind, data: DocumentFields): string {
  const document = new Document({})
  for (const [name, value] of Object.entries(data)) document.set(name, nodeOf(document, value))
  if (kind === projectFile) document.commentBefore = PROJECT_COMMENT
  // A file without members is empty: its name says everything.
  return Object.keys(data).length === 0 ? '' : textOfDocument(document)
}

function textOfDocument(document: Document): string {
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** The text of a file with other values of some members. The rest keeps its spelling, comments and kind of line breaks. */
function updatedText(text: string, file: string, data: DocumentFields, changed: ReadonlySet<string>): string {
  if (changed.size === 0) return text
  const updated = updatedLines(text, file, data, changed)
  return /^[^\n]*\r\n/.test(text) ? updated.replace(/\r?\n/g, '\r\n') : updated
}

function updatedLines(text: string, file: string, data: DocumentFields, changed: ReadonlySet<string>): string {
  if (file === MODEL_FILE) {
    const { model, ...members } = data
    const start = modelStart(text)
    const header = text.slice(0, start).replace(/^---[^\n]*\n|---[^\n]*\n?$/g, '')
    const others = new Set([...changed].filter((name) => name !== 'model'))
    return modelFileText(
      updatedYaml(header, members, others),
      changed.has('model') ? `${String(model)}\n` : text.slice(start),
    )
  }
  if (!file.endsWith(CYPHER_ENDING)) return updatedYaml(text, data, changed)
  const [, header = '', body = ''] = /^---[ \t]*\r?\n([\s\S]*?)^---[ \t]*(?:\r?\n|$)([\s\S]*)$/m.exec(text) ?? []
  const { cypher, ...members } = data
  const { cypher: _, ...others } = Object.fromEntries([...changed].map((name) => [name, true]))
  const cypherText = typeof cypher === 'string' && changed.has('cypher') ? `${cypher.trimEnd()}\n` : body
  return `---\n${updatedYaml(header, members, new Set(Object.keys(others)))}---\n${cypherText}`
}

function updatedYaml(text: string, data: DocumentFields, changed: ReadonlySet<string>): string {
  if (changed.size === 0) return text
  const document = parseYaml(text, { intAsBigInt: true })
  for (const name of changed) {
    if (Object.hasOwn(data, name)) document.set(name, nodeOf(document, data[name]))
    else document.delete(name)
  }
  return textOfDocument(document)
}

/** A node of a value with exact numbers. Short lists of words are on one line. */
function nodeOf(document: Document, value: unknown): unknown {
  if (value instanceof Float) {
    const scalar = new Scalar(value.value)
    scalar.minFractionDigits = 1
    return scalar
  }
  if (Array.isArray(value)) {
    const isShort = value.every((item) => typeof item === 'string' && !item.includes('\n')) && value.join().length < 80
    const list = document.createNode([], { flow: isShort })
    for (const item of value) (list as unknown as { items: unknown[] }).items.push(nodeOf(document, item))
    return list
  }
  if (isJsonObject(value)) {
    const map = document.createNode({})
    for (const [name, member] of Object.entries(value)) (map as unknown as YAMLMap).set(name, nodeOf(document, member))
    return map
  }
  return document.createNode(value)
}
