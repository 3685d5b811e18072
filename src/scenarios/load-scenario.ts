// Reads scenario files. Nothing in a file is skipped: an invalid entry is an error with its place.
import { readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { suggestion } from '../../grammar/suggest.ts'
import type {
  AuthorizerToken,
  RequestEntity,
  WriteInput,
  WrittenNode,
  WrittenRelationship,
} from '../authorizer/authorizer.ts'
import { type Intention, isIntention } from '../authorizer/intended-issues.ts'
import { fileIssueOf } from '../kernel/folder/file-issue.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { type PolicyHeader, policyHeader } from '../policy/policy-header.ts'
import { type FileDiagnostic, type FilePosition, ProjectFolderError } from '../project/file-diagnostic.ts'
import {
  DEFAULT_POLICY_VERSION,
  type FileKind,
  MODEL_NAME,
  modelFile,
  policyFiles,
  SCENARIOS,
} from '../project/file-kinds.ts'
import { isProjectFolder, loadProject } from '../project/load-project.ts'
import type { FolderDocument, ProjectFolder } from '../project/project-folder.ts'
import { queryFiles } from '../project/query-files.ts'
import { documentOf, memberIssues } from '../project/read-document.ts'
import { YamlFile } from '../project/yaml-file.ts'
import { NotationError, type NotationGraph, type NotationNode, readGraphNotation } from './graph-notation.ts'
import type { ScenarioCall, ScenarioFile } from './scenario.ts'
import { type AnswerList, entryForms, listFormOf, scenarioSchema } from './scenario-schema.ts'

type ScenarioData = Readonly<Record<string, unknown>>

/**
 * Reads the scenario file at `path`, and the project that it names. `load`: reads a project folder; a caller that runs many scenarios
 * reads each folder once. Rejects with ProjectFolderError for all errors, with paths from the working folder.
 */
export async function loadScenario(
  path: string,
  load: (folder: string) => Promise<ProjectFolder> = loadProject,
): Promise<ScenarioFile> {
  const yaml = new YamlFile(path, scenarioText(path))
  const data = yaml.errors.length > 0 ? null : yaml.value('plain')
  const folder = isJsonObject(data) ? projectFolderOf(path, data) : null
  return readScenarioYaml(path, yaml, folder === null ? null : await loadFrom(folder, load))
}

async function loadFrom(folder: string, load: (folder: string) => Promise<ProjectFolder>): Promise<ProjectFolder> {
  try {
    return await load(folder)
  } catch (error) {
    if (!(error instanceof ProjectFolderError)) throw error
    throw new ProjectFolderError(
      error.diagnostics.map((one) => ({ ...one, file: pathFromWorkingFolder(folder, one.file) })),
    )
  }
}

/** A position in a file of the scenario or of its project, with the path from the working folder. */
export function positionInScenario({ file, project }: ScenarioFile, position: FilePosition): FilePosition {
  if (position.file === file) return position
  return { ...position, file: pathFromWorkingFolder(project.folder, position.file) }
}

/** The path of a file of a project folder: from the working folder if it is below that, otherwise absolute. */
function pathFromWorkingFolder(folder: string, file: string): string {
  const absolute = join(folder, file)
  const path = relative(process.cwd(), absolute)
  return path.startsWith('..') ? absolute : path
}

/** Reads the scenario file at `path` over the documents of a project. Throws ProjectFolderError for all errors. */
export function readScenarioFile(path: string, project: ProjectFolder): ScenarioFile {
  return readScenarioText(path, scenarioText(path), project)
}

function scenarioText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (failure) {
    const message = fileIssueOf(failure)
    if (message === null) throw failure
    throw new ProjectFolderError([{ file, line: 1, column: 1, message }])
  }
}

/**
 * Reads the text of a scenario. `file`: its path for messages and its name. `project`: the documents that it uses; null: only its
 * own. Throws ProjectFolderError with all errors.
 */
export function readScenarioText(file: string, text: string, project: ProjectFolder | null): ScenarioFile {
  return readScenarioYaml(file, new YamlFile(file, text), project)
}

function readScenarioYaml(file: string, yaml: YamlFile, project: ProjectFolder | null): ScenarioFile {
  if (yaml.errors.length > 0) throw new ProjectFolderError(yaml.errors)
  return new ScenarioReader(file, yaml, project).read()
}

/** The project folder that a scenario uses; null: none. */
function projectFolderOf(path: string, data: ScenarioData): string | null {
  const folder = dirname(resolve(path))
  if (typeof data.project === 'string') return resolve(folder, data.project)
  if (data.policies !== undefined) return null
  for (let above = folder; ; above = dirname(above)) {
    if (isProjectFolder(above)) return above
    if (above === dirname(above)) return null
  }
}

class ScenarioReader {
  private readonly file: string
  private readonly yaml: YamlFile
  private readonly given: ProjectFolder | null
  private readonly errors: FileDiagnostic[] = []
  private readonly plain: ScenarioData
  private readonly exact: ScenarioData
  private readonly documents: FolderDocument[] = []

  constructor(file: string, yaml: YamlFile, given: ProjectFolder | null) {
    this.file = file
    this.yaml = yaml
    this.given = given
    const plain = yaml.value('plain') ?? {}
    this.errors.push(...memberIssues(scenarioSchema, plain, yaml, []))
    if (this.errors.length > 0) throw new ProjectFolderError(this.errors)
    this.plain = plain as ScenarioData
    this.exact = (yaml.value('exact') ?? {}) as ScenarioData
  }

  read(): ScenarioFile {
    const { description = '' } = this.plain
    this.ownModel()
    this.ownDocuments('policies', 'policy', policyFiles)
    this.ownDocuments('queries', 'query', queryFiles)
    const { items, notation } = this.graph()
    const headers = [...(this.given?.documents ?? []), ...this.documents].flatMap(({ kind, body }) =>
      kind === policyFiles.kind ? [policyHeader(body)] : [],
    )
    const scenario: ScenarioFile = {
      name: basename(this.file).replace(SCENARIOS.ending, ''),
      file: this.file,
      description: String(description),
      items,
      graphPosition: this.yaml.position(['graph']),
      notation,
      project: this.project(),
      ownDocuments: this.documents,
      decisions: this.entries('decisions', (data, exact, call) => ({
        ...call(entityOf(data.subject, exact.subject)),
        subject: entityOf(data.subject, exact.subject),
        action: textOf(data.action),
        resource: entityOf(data.resource, exact.resource),
        expect: (data.expect === 'error' ? 'refused' : data.expect) as 'yes' | Intention,
      })),
      resources: this.entries('resources', (data, exact, call) => {
        const subject = entityOf(data.subject, exact.subject)
        const action = textOf(data.action)
        const type = this.soughtType(data, headers, subject.type, action, call(subject).position)
        return { ...call(subject), subject, action, type, ids: idsOf(data.ids), because: becauseOf(data.ids) }
      }),
      subjects: this.entries('subjects', (data, exact, call) => ({
        ...call(null),
        type: textOf(data.type),
        action: textOf(data.action),
        resource: entityOf(data.resource, exact.resource),
        ids: idsOf(data.ids),
        because: becauseOf(data.ids),
      })),
      actions: this.entries('actions', (data, exact, call) => ({
        ...call(entityOf(data.subject, exact.subject)),
        subject: entityOf(data.subject, exact.subject),
        resource: entityOf(data.resource, exact.resource),
        actions: idsOf(data.actions),
        because: becauseOf(data.actions),
      })),
      rows: this.entries('rows', (data, exact, call) => ({
        ...call(null),
        query: textOf(data.query),
        rows: Array.isArray(exact.rows) ? (exact.rows as readonly ScenarioData[]) : [],
        because: becauseOf(data.rows),
      })),
      explanations: this.entries('explanations', (data, exact, call) => ({
        ...call(entityOf(data.subject, exact.subject)),
        subject: entityOf(data.subject, exact.subject),
        action: textOf(data.action),
        resource: entityOf(data.resource, exact.resource),
        outcomes: (data.outcomes ?? null) as Readonly<Record<string, string>> | null,
        reached: (data.reached ?? null) as string | null,
        stopped: (data.stopped ?? null) as string | null,
      })),
      refused: this.entries('refused', (data, _exact, call) => ({
        position: call(null).position,
        cypher: textOf(data.cypher),
        version: textOf(data.version ?? this.plain.version ?? DEFAULT_POLICY_VERSION),
        subject: textOf(data.subject ?? 'Person'),
        resource: textOf(data.resource ?? 'Document'),
        messageContains: textOf(data['message-contains']),
      })),
    }
    if (this.errors.length > 0) throw new ProjectFolderError(this.errors)
    return scenario
  }

  /** The project itself if the file adds nothing, so that scenarios can share what is made of it. */
  private project(): ProjectFolder {
    const { documents = [], ...given } = this.given ?? {
      folder: dirname(resolve(this.file)),
      project: {
        kind: 'projects',
        name: 'scenario',
        file: this.file,
        body: { region: 'local' },
        references: [],
        secrets: [],
        locate: () => this.yaml.position([]),
        pathInFile: (path: string) => path,
      },
      scenarios: [],
    }
    if (this.given !== null && this.documents.length === 0) return this.given
    const all = [...documents, ...this.documents]
    const model = all.findLast(({ kind }) => kind === modelFile.kind)
    // Policies are compiled with the model, so it is the first document.
    const others = all.filter(({ kind }) => kind !== modelFile.kind)
    return { ...given, documents: model === undefined ? others : [model, ...others] }
  }

  private ownModel(): void {
    const { model } = this.plain
    if (model === undefined) return
    const source = { yaml: this.yaml, base: [], plain: { model }, exact: { model }, cypherLine: null }
    const document = documentOf(modelFile, MODEL_NAME, source, this.errors)
    if (document !== null) this.documents.push(document)
  }

  private ownDocuments(member: 'policies' | 'queries', label: string, kind: FileKind): void {
    const listed = (this.plain[member] ?? []) as readonly unknown[]
    const exacts = (this.exact[member] ?? []) as readonly unknown[]
    for (const [i, plain] of listed.entries()) {
      const name = isJsonObject(plain) && typeof plain.name === 'string' ? plain.name : `${label}-${i + 1}`
      const base = [member, i]
      if (isJsonObject(plain) && plain.name !== undefined && typeof plain.name !== 'string') {
        this.fail(this.yaml.position([...base, 'name']), 'name: expected a name')
        continue
      }
      if (isJsonObject(plain) && member === 'policies' && plain.action !== undefined && plain.actions !== undefined) {
        this.fail(this.yaml.position(base), 'expected either `action` or `actions`')
        continue
      }
      const source = {
        yaml: this.yaml,
        base,
        plain: this.documentData(plain, member),
        exact: this.documentData(exacts[i], member),
        cypherLine: null,
      }
      const document = documentOf(kind, name, source, this.errors)
      if (document === null) continue
      const isTaken = [...(this.given?.documents ?? []), ...this.documents].some(
        (other) => other.kind === kind.kind && other.name === name,
      )
      if (isTaken) this.fail(this.yaml.position(base), `the name \`${name}\` is taken by another ${label}`)
      this.documents.push(document)
      this.checkNames(document)
    }
  }

  /** The data of a document in the form of a file of a project folder. */
  private documentData(data: unknown, member: 'policies' | 'queries'): unknown {
    if (!isJsonObject(data)) return data
    const { name: _name, ...own } = data
    if (member === 'queries') return own
    const { action, ...policy } = own
    return {
      ...policy,
      ...(policy.text === undefined && { version: policy.version ?? this.plain.version ?? DEFAULT_POLICY_VERSION }),
      ...(action !== undefined && { actions: [action] }),
    }
  }

  private checkNames({ references, locate }: FolderDocument): void {
    for (const { member, kind, name } of references) {
      const known = [...(this.given?.documents ?? []), ...this.documents].filter((one) => one.kind === kind)
      const names = known.map((one) => one.name)
      if (!names.includes(name)) this.fail(locate(member), `no policy is named \`${name}\`${suggestion(name, names)}`)
    }
  }

  private graph(): { items: WriteInput; notation: NotationGraph | null } {
    const { graph } = this.exact
    if (graph === undefined || graph === null) return { items: {}, notation: null }
    if (typeof graph !== 'string') return { items: graph as WriteInput, notation: null }
    try {
      const notation = readGraphNotation(graph)
      return { items: itemsOf(notation), notation }
    } catch (error) {
      if (!(error instanceof NotationError)) throw error
      const place = this.yaml.positionInText(['graph'], error.line, error.column)
      this.fail(place ?? this.yaml.position(['graph']), `graph: ${place === null ? error.message : error.problem}`)
      return { items: {}, notation: null }
    }
  }

  /** Reads the entries of a list: each as a list of cells or as an object. */
  private entries<T>(
    name: AnswerList,
    read: (data: ScenarioData, exact: ScenarioData, call: (subject: RequestEntity | null) => ScenarioCall) => T,
  ): readonly T[] {
    const listed = (this.plain[name] ?? []) as readonly unknown[]
    const exacts = (this.exact[name] ?? []) as readonly unknown[]
    return listed.flatMap((plain, i) => {
      const data = this.entryOf(name, i, plain)
      const exact = this.cellsOf(name, exacts[i])
      if (data === null || exact === null) return []
      const position = this.yaml.position([name, i])
      const before = this.errors.length
      const entry = read(data, exact, (subject) => ({
        position,
        params: (exact.params ?? {}) as ScenarioData,
        tags: (data.tags ?? null) as readonly string[] | null,
        token: this.token(data.token, exact.token, subject, this.yaml.position([name, i, 'token'])),
      }))
      return this.errors.length === before ? [entry] : []
    })
  }

  private entryOf(name: AnswerList, index: number, plain: unknown): ScenarioData | null {
    const { object, lists } = entryForms[name]
    if (!Array.isArray(plain)) return this.isValid(object, plain, [name, index]) ? (plain as ScenarioData) : null
    const form = listFormOf(entryForms[name], plain)
    if (form === undefined) {
      const expected = lists.map(({ members }) => `[${members.join(', ')}]`).join(' or ')
      const found = `found ${plain.length} cells`
      const text = expected === '' ? 'expected an object' : `expected ${expected}, ${found}`
      this.fail(this.yaml.position([name, index]), `${name}[${index}]: ${text}`)
      return null
    }
    return this.isValid(form.schema, plain, [name, index]) ? this.cellsOf(name, plain) : null
  }

  private isValid(schema: Parameters<typeof memberIssues>[0], data: unknown, base: [string, number]): boolean {
    const issues = memberIssues(schema, data, this.yaml, base)
    this.errors.push(...issues)
    return issues.length === 0
  }

  /** An entry as an object. */
  private cellsOf(name: AnswerList, entry: unknown): ScenarioData | null {
    if (!Array.isArray(entry)) return isJsonObject(entry) ? entry : null
    const form = listFormOf(entryForms[name], entry)
    if (form === undefined) return null
    const cells = Object.fromEntries(form.members.map((member, i) => [member, entry[i] as unknown]))
    const { type } = cells
    return isJsonObject(type) ? { ...cells, type: type.type } : cells
  }

  private token(
    token: unknown,
    exact: unknown,
    subject: RequestEntity | null,
    place: FilePosition,
  ): AuthorizerToken | null | undefined {
    if (token === undefined || token === null) return token
    const named = (this.exact.tokens ?? {}) as Readonly<Record<string, ScenarioData>>
    const data = typeof token === 'string' ? named[token] : (exact as ScenarioData)
    if (data === undefined) {
      this.fail(place, `no token is named \`${String(token)}\`${suggestion(String(token), Object.keys(named))}`)
      return null
    }
    const { type = subject?.type, id = subject?.id, claims, delegation } = data
    if (typeof type !== 'string' || typeof id !== 'string') {
      this.fail(place, 'token: expected `type` and `id`, because the request has no subject')
      return null
    }
    return {
      type,
      id,
      ...(claims !== undefined && { claims: claims as ScenarioData }),
      ...(delegation !== undefined && { delegation: delegation as ScenarioData }),
    }
  }

  private soughtType(
    { type }: ScenarioData,
    headers: readonly PolicyHeader[],
    subjectType: string,
    action: string,
    place: FilePosition,
  ): string {
    if (typeof type === 'string') return type
    const types = new Set(
      headers
        .filter((header) => header.subjectType === subjectType && header.actions.includes(action))
        .map(({ resourceType }) => resourceType),
    )
    const [first] = types
    if (types.size === 1 && first !== undefined) return first
    const actions = headers.filter((header) => header.subjectType === subjectType).flatMap((header) => header.actions)
    const found =
      types.size === 0
        ? `no policy for ${subjectType} names the action \`${action}\`${suggestion(action, actions)}`
        : [...types].join(', ')
    this.fail(place, `the resource type is not clear (${found}): add {type: …}`)
    return ''
  }

  private fail(place: FilePosition, message: string): void {
    this.errors.push({ ...place, message })
  }
}

function entityOf(plain: unknown, exact: unknown): RequestEntity {
  if (typeof plain !== 'string') return exact as RequestEntity
  const colon = plain.indexOf(':')
  return { type: plain.slice(0, colon), id: plain.slice(colon + 1) }
}

function textOf(value: unknown): string {
  return String(value)
}

function idsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String).sort() : []
}

function becauseOf(value: unknown): Intention | null {
  return isIntention(value) ? value : null
}

/** The items to capture for a graph. */
function itemsOf({ nodes, relationships }: NotationGraph): WriteInput {
  const keyOf = ({ type, externalId }: NotationNode) => ({ type, external_id: externalId })
  const propertiesOf = (properties: NotationNode['properties']) =>
    [...properties].map(([type, value]) => ({ type, value: storable(value) }))
  return {
    nodes: nodes.map(
      (node): WrittenNode => ({
        ...keyOf(node),
        is_identity: node.isIdentity,
        ...(node.labels.length > 0 && { labels: node.labels }),
        properties: propertiesOf(node.properties),
      }),
    ),
    relationships: relationships.map(
      ({ source, target, type, properties }): WrittenRelationship => ({
        source: keyOf(source),
        target: keyOf(target),
        type,
        properties: propertiesOf(properties),
      }),
    ),
  }
}

/** An integer as a request has it: a number if it is exact. */
function storable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(storable)
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}
