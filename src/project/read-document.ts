// Reads one configuration document from the data of a file, or of a part of it, with the place of each member.
import type { z } from 'zod'
import { suggestion } from '../../grammar/suggest.ts'
import type { DocumentFields } from '../config/kind.ts'
import { issueMessage, validateValue } from '../config/validate.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import type { FileDiagnostic, FilePosition } from './file-diagnostic.ts'
import type { FileKind } from './file-kinds.ts'
import type { DocumentReference, FolderDocument, SecretText } from './project-folder.ts'
import { secretReferencesIn } from './secret-references.ts'
import type { YamlFile } from './yaml-file.ts'

/** The data of a document, and its place. */
export interface DocumentSource {
  readonly yaml: YamlFile
  /** The path of the document in the file: empty for the whole file, `['policies', 0]` for a part of it. */
  readonly base: readonly (string | number)[]
  readonly plain: unknown
  /** The same data with exact numbers. */
  readonly exact: unknown
  /** The line of the file with the first line of the Cypher, or of the model; null: it is a member. */
  readonly cypherLine: number | null
}

/** Reads a document. Adds its errors to `errors`, and then returns null. */
export function documentOf(
  kind: FileKind,
  name: string,
  source: DocumentSource,
  errors: FileDiagnostic[],
): FolderDocument | null {
  const { yaml, base, plain, exact } = source
  if (!isJsonObject(plain) || !isJsonObject(exact)) {
    errors.push({ ...yaml.position(base), message: `expected the members of a document, found ${jsonKindOf(plain)}` })
    return null
  }
  const issues = memberIssues(kind.schemaFor(plain), plain, yaml, base)
  const secrets = issues.length > 0 ? [] : secretsOf(kind, plain, source, issues)
  errors.push(...issues)
  if (issues.length > 0) return null
  const references = kind.references.flatMap(({ member, bodyMember, kind: named }): DocumentReference[] =>
    typeof plain[member] === 'string' ? [{ member: bodyMember, kind: named, name: plain[member] }] : [],
  )
  return {
    kind: kind.kind,
    name,
    file: yaml.file,
    body: kind.bodyOf(plain, exact),
    references,
    secrets,
    locate: (path) => locate(kind, source, path),
    pathInFile: (path) => kind.pathInFile(path),
  }
}

/** The errors of data at `base` of a file by a schema, with suggestions for unknown names. */
export function memberIssues(
  schema: z.ZodType,
  data: unknown,
  yaml: YamlFile,
  base: readonly (string | number)[],
): FileDiagnostic[] {
  const read = validateValue(schema, data, describeIssue)
  if (read.ok) return []
  return read.error.flatMap(({ path, message, unknownMembers }) => {
    const at = formatPath('', [...base, ...path])
    const text = at === '' ? message : `${at}: ${message}`
    if (unknownMembers.length === 0) return [{ ...yaml.position([...base, ...path]), message: text }]
    return [{ ...yaml.position([...base, ...path], unknownMembers[0]), message: text }]
  })
}

/** Adds the nearest right name to the usual message. */
function describeIssue(issue: z.core.$ZodRawIssue): string | null {
  const usual = issueMessage(issue)
  if (usual === undefined) return null
  if (issue.code === 'unrecognized_keys') {
    const schema = issue.inst as z.ZodType | undefined
    const known = schema?._zod.def.type === 'object' ? Object.keys((schema as z.ZodObject).shape) : []
    return `${usual}${suggestion(issue.keys[0] ?? '', known)}`
  }
  if (issue.code === 'invalid_value' && typeof issue.input === 'string') {
    return `${usual}${suggestion(issue.input, issue.values.map(String))}`
  }
  return usual
}

/** The texts at the secret paths of a kind. A text without a reference is an error. */
function secretsOf(
  kind: FileKind,
  data: DocumentFields,
  { yaml, base }: DocumentSource,
  issues: FileDiagnostic[],
): SecretText[] {
  const found: SecretText[] = []
  const visit = (value: unknown, steps: readonly string[], path: readonly (string | number)[]): void => {
    const [step, ...rest] = steps
    if (step !== undefined) {
      if (!isJsonObject(value) && !Array.isArray(value)) return
      const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
        ? [...value.entries()]
        : Object.entries(value)
      for (const [name, member] of entries) {
        if (step === '*' || step === String(name)) visit(member, rest, [...path, name])
      }
    } else if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) visit(item, [], [...path, i])
    } else if (typeof value === 'string') {
      if (secretReferencesIn(value).length > 0) found.push({ path, text: value })
      else {
        const message = `${formatPath('', path)}: expected a reference to a secret, \`\${env:NAME}\` or \`secret://NAME\`: a file must not contain the secret`
        issues.push({ ...yaml.position([...base, ...path]), message })
      }
    }
  }
  for (const secret of kind.secrets) visit(data, secret.split('.'), [])
  return found
}

/** The place of a path of a message; with `line 1, column 2` in it, the place in the Cypher. */
function locate(kind: FileKind, { yaml, base, cypherLine }: DocumentSource, path: string): FilePosition {
  const [, member = '', line, column] = /^([^:]*)(?:: line (\d+), column (\d+))?/.exec(path) ?? []
  const inFile = kind.pathInFile(member)
  if (cypherLine !== null && (inFile === 'cypher' || inFile === 'model')) {
    return { file: yaml.file, line: cypherLine + Number(line ?? 1) - 1, column: Number(column ?? 1) }
  }
  const exact = line === undefined ? null : yaml.positionInText([...base, inFile], Number(line), Number(column))
  return exact ?? yaml.locate(inFile, base)
}
