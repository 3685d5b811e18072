// The inputs of `lint`, `fmt` and `lsp`: files and folders, and the policies and names of a project in a data folder or service.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { projectsKind, type StoredDocument } from '../../config/kind.ts'
import { validate } from '../../config/validate.ts'
import { type DataSchema, dataSchema } from '../../graph-statistics/schema.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS, EVENTS_FOLDER } from '../../kernel/folder/data-folder.ts'
import { isGid } from '../../kernel/ids.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { type DataNames, namesIn } from '../../language/lint/data-names.ts'
import type { FindModel } from '../../language/lint/project-models.ts'
import { isLanguageFile, type LanguageDocument } from '../../language/source/policy-source.ts'
import { MODEL_FILE } from '../../model/model-file.ts'
import { modelsKind } from '../../model/stored-model.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import { PROJECT_FILE } from '../../project/file-kinds.ts'
import type { Settings } from '../../settings.ts'
import { openCollections } from '../../store/documents/collections.ts'
import { openEnvironment } from '../../store/graph/environment.ts'
import { auditIndexFolder, databaseFolders } from '../../transfer/files/database-folders.ts'
import { projectIdIn, unknownProject } from '../folder/project-id.ts'
import { UsageError } from '../output/cli-error.ts'
import { agentKeyVariable } from '../settings/environment-variables.ts'
import { sendRequest, unreachable } from '../target/send-request.ts'
import { ServiceClient } from '../target/service-client.ts'
import { filesBelow, reading } from './files-below.ts'

/** Where the names of the data come from. */
export interface NameFlags {
  /** A file with the answer of `GET /data-schema/v1`. */
  readonly schema?: string
  readonly project?: string
  readonly url?: string
}

/** The files of a folder that hold policies, scenarios, resolvers, models or Cypher by their names; other YAML and JSON files must be named. */
const found = /\.(?:cypher|gql|(?:policy|resolver)\.(?:ya?ml|json)|scenario\.ya?ml)$/

/** Reads files, and the policy files below folders. Throws UsageError if it finds no file. */
export function readDocuments(paths: readonly string[]): readonly LanguageDocument[] {
  const files = paths.flatMap((path) => {
    if (reading(path, () => statSync(path)).isDirectory()) return policyFilesBelow(path)
    if (!isLanguageFile(path))
      throw new UsageError([`${path}: expected a file that ends with .cypher, .gql, .yaml, .yml or .json`])
    return [path]
  })
  if (paths.length > 0 && files.length === 0)
    throw new UsageError([`${paths.join(', ')}: no file ends with .cypher, .policy.yaml or .scenario.yaml`])
  return [...new Set(files)].map((file) => ({ file, text: reading(file, () => readFileSync(file, 'utf8')) }))
}

/** Finds models in the folders of files, and in those around them. */
export function modelsAround(): FindModel {
  const known = new Map<string, LanguageDocument | null>()
  const inFolder = (folder: string): LanguageDocument | null => {
    const found = known.get(folder)
    if (found !== undefined) return found
    const file = join(folder, MODEL_FILE)
    const parent = dirname(folder)
    const isLast = parent === folder || existsSync(join(folder, PROJECT_FILE))
    const model = existsSync(file)
      ? { file, text: reading(file, () => readFileSync(file, 'utf8')) }
      : isLast
        ? null
        : inFolder(parent)
    known.set(folder, model)
    return model
  }
  return (file) => inFolder(dirname(resolve(file)))
}

/** The policy files below a folder, by their names. */
export function policyFilesBelow(folder: string): readonly string[] {
  return filesBelow(folder, found)
}

/** The names of the data; null: no option says where they are. */
export async function readNames(settings: () => Settings, flags: NameFlags): Promise<DataNames | null> {
  const { schema, project, url } = flags
  if (schema === undefined && project !== undefined && url === undefined)
    return namesInFolder(settings().dataDir, project)
  const read = await readDataSchema(settings, flags)
  return read === null ? null : namesIn(read)
}

/** The data schema of a project: of a file, of a service, or counted in the data folder; null: there is no data, or no option says where. */
export async function readDataSchema(
  settings: () => Settings,
  { schema, project, url }: NameFlags,
): Promise<DataSchema | null> {
  if (schema !== undefined) return schemaInFile(schema)
  if (project === undefined) return null
  if (url === undefined) return schemaInFolder(settings().dataDir, project)
  const key = process.env[agentKeyVariable] ?? ''
  if (key === '') return null
  const response = await sendRequest(`${url.replace(/\/+$/, '')}/data-schema/v1`, {
    headers: { 'x-svc-clientkey': key },
    timeMs: null,
  }).catch((failure: unknown) => {
    throw new UsageError([unreachable(url, failure)])
  })
  // Nothing was captured yet.
  if (response.status === 404) return null
  if (!response.ok)
    throw new UsageError([
      `${url}/data-schema/v1 answered ${response.status}; ${agentKeyVariable} needs the permission ReadDataSchema`,
    ])
  return schemaFrom(await response.json(), `${url}/data-schema/v1`)
}

function schemaInFile(path: string): DataSchema {
  const text = reading(path, () => readFileSync(path, 'utf8'))
  try {
    return schemaFrom(JSON.parse(text), path)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new UsageError([`${path}: ${error.message}`])
  }
}

function schemaFrom(json: unknown, at: string): DataSchema {
  const read = validate(dataSchema, json, 'schema')
  if (!read.ok) throw new UsageError(read.error.slice(0, 3).map((issue) => `${at}: ${issue}`))
  return read.value
}

/** Counts the graph of a project in a data folder, the default one of several. Null: nothing was captured. */
async function schemaInFolder(dataDir: string, project: string): Promise<DataSchema | null> {
  const { collectDataSchema } = await import('../../graph-statistics/data-schema.ts')
  const projectId = await projectIdIn(dataDir, project)
  for (const folder of graphFolders(dataDir, projectId)) {
    const environment = openEnvironment(folder, { clock: systemClock, readOnly: true })
    try {
      const schema = await collectDataSchema(environment)
      if (schema !== null) return schema
    } finally {
      await environment.close()
    }
  }
  return null
}

function graphFolders(dataDir: string, projectId: string): readonly string[] {
  const others = [CONFIGURATION_FOLDER, EVENTS_FOLDER]
    .map((name) => join(dataDir, name))
    .concat(auditIndexFolder(dataDir))
  return databaseFolders(dataDir, projectId).filter((folder) => !others.includes(folder))
}

/** Reads the dictionaries of names only, so it takes the same time for every graph. Null: nothing was captured. */
async function namesInFolder(dataDir: string, project: string): Promise<DataNames | null> {
  const projectId = await projectIdIn(dataDir, project)
  const names = { label: new Set<string>(), type: new Set<string>(), property: new Set<string>() }
  for (const folder of graphFolders(dataDir, projectId)) {
    const environment = openEnvironment(folder, { clock: systemClock, readOnly: true })
    try {
      const snapshot = environment.snapshot()
      // Markers of the store begin with a control character.
      for (const kind of ['label', 'type', 'property'] as const)
        for (const name of snapshot.symbolNames(kind)) if (name >= ' ') names[kind].add(name)
      snapshot.close()
    } finally {
      await environment.close()
    }
  }
  return [...names.label].some((name) => !name.startsWith('_')) ? names : null
}

/** The policies and the model that a project stores, as files of their names. */
export async function readStoredPolicies(
  settings: () => Settings,
  project: string,
  url: string | undefined,
): Promise<readonly LanguageDocument[]> {
  const stored =
    url === undefined
      ? await policiesInFolder(settings().dataDir, project)
      : await policiesOfService(settings(), project, url)
  return stored.map(({ name, model, ...policy }) =>
    model !== undefined
      ? { file: MODEL_FILE, text: String(model) }
      : { file: `${policiesKind}/${name}.json`, text: `${JSON.stringify({ name, ...policy }, null, 2)}\n` },
  )
}

interface StoredPolicyText {
  readonly name: string
  readonly status?: unknown
  readonly tags?: unknown
  readonly policy?: unknown
  /** Of the model of the project alone. */
  readonly model?: unknown
}

async function policiesInFolder(dataDir: string, project: string): Promise<readonly StoredPolicyText[]> {
  const projectId = await projectIdIn(dataDir, project)
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), { readOnly: true })
  try {
    const documents = collections.all(CURRENT_DOCUMENTS).map(([, value]) => value as StoredDocument)
    return documents
      .filter(({ kind, project_id }) => (kind === policiesKind || kind === modelsKind) && project_id === projectId)
      .map(({ name, fields: { status, tags, policy, model } }) => ({
        ...{ name, status, tags, policy },
        ...(model !== undefined && { model }),
      }))
  } finally {
    await collections.close()
  }
}

async function policiesOfService(
  settings: Settings,
  project: string,
  url: string,
): Promise<readonly StoredPolicyText[]> {
  const client = new ServiceClient(settings, url)
  const query = new URLSearchParams({ project_id: await projectIdOf(client, project), full_fetch: 'true' })
  const [policies, models] = (await Promise.all(
    [policiesKind, modelsKind].map((kind) => client.call('GET', `${kind}?${query}`)),
  )) as [ListedPolicies, ListedPolicies]
  return [
    ...policies.data.map(({ name, status, tags, policy }) => ({ name, status, tags, policy })),
    ...models.data.map(({ name, model }) => ({ name, model })),
  ]
}

/** The id of a project of a service, which may be named by its name. */
async function projectIdOf(client: ServiceClient, project: string): Promise<string> {
  if (isGid(project)) return project
  const { data } = (await client.call('GET', projectsKind)) as ListedNames
  const found = data.find(({ name }) => name === project)
  if (found === undefined)
    throw new UsageError([
      unknownProject(
        client.url,
        project,
        data.map(({ name }) => name),
      ),
    ])
  return found.id
}

interface ListedNames {
  readonly data: readonly { readonly id: string; readonly name: string }[]
}

interface ListedPolicies {
  readonly data: readonly StoredPolicyText[]
}
