// The kinds of files in a project folder, each once: its folder, its name, its schema, derived from that of the configuration kind,
// and how its members become the body of a create request. This file declares that of policies, query-files.ts that of
// queries, other-file-kinds.ts the others.
import { z } from 'zod'
import { withoutNulls } from '../config/fields.ts'
import type { ConfigKind, DocumentFields } from '../config/kind.ts'
import { projectKinds } from '../config/project-kinds.ts'
import { validate } from '../config/validate.ts'
import { canonicalJson } from '../kernel/json/canonical-json.ts'
import { parseJson, writeJson } from '../kernel/json/json.ts'
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { models } from '../model/model-kind.ts'
import { authorizationPolicies, policiesKind } from '../policy/authorization-policy.ts'
import { contextDocument, contextVersion } from '../policy/context-document.ts'
import { decisionDocument, decisionVersions } from '../policy/decision-document.ts'

/** A member of a file that names another document of the project. */
export interface NamingMember {
  /** The member in the file, such as `policy`. */
  readonly member: string
  /** The member of the create body, such as `policy_id`. */
  readonly bodyMember: string
  /** Kind of the named document. */
  readonly kind: string
}

/** One kind of file. */
export interface FileKind {
  /** The folder; empty for the file of the project itself. */
  readonly folder: string
  /** The ending of file names after the name of the document, such as `.policy.yaml`. */
  readonly ending: string
  /** The configuration kind: `authorization-policies`. */
  readonly kind: string
  /** Singular name for messages. */
  readonly label: string
  /** The schema of a file, for editors. */
  readonly schema: z.ZodType
  /** The schema for a file with these data: the alternative of `schema` that its members select. */
  schemaFor(data: DocumentFields): z.ZodType
  readonly references: readonly NamingMember[]
  /** As `ConfigKind.secrets`. */
  readonly secrets: readonly string[]
  /**
   * The create body without the members of `references`. `exact`: the same data with exact numbers, for the texts of policies and
   * queries.
   */
  bodyOf(data: DocumentFields, exact: DocumentFields): DocumentFields
  /**
   * The members of a file, with exact numbers, whose create body is `body`: the inverse of `bodyOf`. Members that have their
   * default are left out.
   */
  dataOf(body: DocumentFields): DocumentFields
  /** The path in the file of a path in messages of the configuration interface. */
  pathInFile(path: string): string
}

// The factories use their collaborators in checks and effects only, and these kinds serve as declarations of schemas.
const unused = {} as never
/** The kinds of a project and of its applications and agents, as declarations. */
export const [projectKind, applicationKind, agentKind] = projectKinds(unused) as [ConfigKind, ConfigKind, ConfigKind]
const policies = authorizationPolicies(Number.MAX_SAFE_INTEGER, () => [])

/** The ending of the file of a model. */
const MODEL_ENDING = '.gql'
/** The name of a model whose file names none. */
export const MODEL_NAME = 'model'

/** Members that a file never has: a file belongs to one project, and its name is that of the document. */
const implied = new Set(['name', 'project_id', 'organization_id'])

/** The members of the create body that a file can have. */
export function ownMembers({ createSchema }: ConfigKind, without: readonly string[]): z.ZodRawShape {
  const members = Object.entries(createSchema.shape)
  return Object.fromEntries(members.filter(([name]) => !implied.has(name) && !without.includes(name)))
}

/** The name of a document that a file refers to. */
export const documentName = z.string().min(1).max(256)

/** A kind whose files have the members of the create body, and names in place of ids. */
export function plainKind(
  folder: string,
  ending: string,
  kind: ConfigKind,
  references: readonly NamingMember[] = [],
): FileKind {
  const schema = z.strictObject({
    ...ownMembers(
      kind,
      references.map(({ bodyMember }) => bodyMember),
    ),
    ...Object.fromEntries(
      references.map(({ member, kind: named }) => [
        member,
        documentName.describe(`the name of a document of ${named}`),
      ]),
    ),
  })
  return {
    folder,
    ending,
    kind: kind.path,
    label: kind.label,
    schema,
    schemaFor: () => schema,
    references,
    secrets: kind.secrets,
    bodyOf: (data) => without(data, new Set(references.map(({ member }) => member))),
    dataOf: (body) => normalised(kind, body),
    pathInFile: (path) => renamed(path, references),
  }
}

/** The body in the spelling in which it is stored, without members that have their default. `more`: further defaults of files. */
function normalised(kind: ConfigKind, body: DocumentFields, more: DocumentFields = {}): DocumentFields {
  const given = withoutNulls(body)
  return withoutDefaults(kind.normaliseBody?.(given) ?? given, { ...kind.defaults, ...kind.storedDefaults, ...more })
}

/** The members that differ from what an absent member means. */
export function withoutDefaults(data: DocumentFields, defaults: DocumentFields): DocumentFields {
  const isDefault = (name: string, value: unknown): boolean =>
    value === '' ||
    value === null ||
    (Object.hasOwn(defaults, name) && canonicalJson(value) === canonicalJson(defaults[name]))
  return Object.fromEntries(Object.entries(data).filter(([name, value]) => !isDefault(name, value)))
}

/** The path in a file, with the names of `references`. */
export function renamed(path: string, references: readonly NamingMember[]): string {
  return references.find(({ bodyMember }) => bodyMember === path)?.member ?? path
}

/** The data without some members. */
export function without(data: DocumentFields, members: ReadonlySet<string>): DocumentFields {
  return Object.fromEntries(Object.entries(data).filter(([name]) => !members.has(name)))
}

/** The version of a policy without the member `version`. */
export const DEFAULT_POLICY_VERSION = '3.0-kbac'

const policyShape = ownMembers(policies, ['policy', 'status'])
/** The status of a policy or a query. */
export const status = policies.createSchema.shape.status as z.ZodType
const withStatus = { ...policyShape, status: status.optional().describe('default: ACTIVE') }

const { condition: decisionCondition, subject: decisionSubject } = decisionDocument.shape
const { condition: contextCondition, meta: _meta, subject: _subject, ...contextMembers } = contextDocument.shape
const nodeType = decisionSubject.shape.type.describe('a node type')

const decisionFile = z
  .strictObject({
    ...withStatus,
    version: z
      .enum([...decisionVersions, '1.0-svc'])
      .optional()
      .describe(`default: ${DEFAULT_POLICY_VERSION}`),
    effect: decisionDocument.shape.effect,
    subject: nodeType,
    actions: decisionDocument.shape.actions,
    resource: nodeType,
    ...decisionCondition.shape,
  })
  .meta({ id: 'DecisionPolicyFile' })

const contextFile = z
  .strictObject({
    ...withStatus,
    version: z.literal(contextVersion),
    subject: nodeType,
    ...contextCondition.shape,
    ...contextMembers,
  })
  .meta({ id: 'ContextPolicyFile' })

/** A draft may hold any text. */
const policyTextFile = z
  .strictObject({
    ...withStatus,
    text: z.string().describe('the text of the policy as it is stored, for drafts that are not valid'),
  })
  .meta({ id: 'PolicyTextFile' })

const conditionMembers = new Set([...Object.keys(decisionCondition.shape), ...Object.keys(contextCondition.shape)])
const envelopeMembers = new Set(Object.keys(withStatus))

/** The JSON text of the document in a policy file. */
function policyText(data: DocumentFields): string {
  const { version = DEFAULT_POLICY_VERSION, subject, resource, ...rest } = without(data, envelopeMembers)
  const entries = Object.entries(rest)
  const condition = Object.fromEntries(entries.filter(([name]) => conditionMembers.has(name)))
  return writeJson({
    meta: { policy_version: version },
    subject: { type: subject },
    ...(rest.actions !== undefined && { actions: rest.actions }),
    ...(resource !== undefined && { resource: { type: resource } }),
    condition,
    ...Object.fromEntries(entries.filter(([name]) => name !== 'actions' && !conditionMembers.has(name))),
  })
}

/** The members of a policy file for a stored text; the text itself if no members give it. */
function policyData(text: string): DocumentFields {
  const parsed = parseJson(text)
  if (!parsed.ok || !isJsonObject(parsed.value)) return { text }
  const { meta, subject, resource, condition, ...rest } = parsed.value
  if (!isJsonObject(meta) || !isJsonObject(subject) || !isJsonObject(condition)) return { text }
  const data = {
    version: meta.policy_version,
    subject: subject.type,
    ...(isJsonObject(resource) && { resource: resource.type }),
    ...rest,
    ...condition,
  }
  return isFileOf(policyFiles, data, 'policy', parsed.value)
    ? withoutDefaults(data, { version: DEFAULT_POLICY_VERSION })
    : { text }
}

/** Whether a file with these members is valid, and `member` of its body has the stored value. */
export function isFileOf(kind: FileKind, data: DocumentFields, member: string, stored: unknown): boolean {
  // Schemas check data with plain numbers.
  const plain = parseJson(writeJson(data), 'plain')
  if (!plain.ok || !isJsonObject(plain.value) || !validate(kind.schemaFor(plain.value), plain.value).ok) return false
  const text = parseJson(kind.bodyOf(plain.value, data)[member] as string)
  return text.ok && canonicalJson(text.value) === canonicalJson(stored)
}

/** The members of a file that are not part of the text. */
export function envelopeOf(data: DocumentFields, members: ReadonlySet<string>): DocumentFields {
  return { status: 'ACTIVE', ...Object.fromEntries(Object.entries(data).filter(([name]) => members.has(name))) }
}

/** Policies. */
export const policyFiles: FileKind = {
  folder: 'policies',
  ending: '.policy.yaml',
  kind: policiesKind,
  label: policies.label,
  schema: z.union([decisionFile, contextFile, policyTextFile]),
  schemaFor: ({ version, text }) =>
    text !== undefined ? policyTextFile : version === contextVersion ? contextFile : decisionFile,
  references: [],
  secrets: [],
  bodyOf: (data, exact) => ({
    ...envelopeOf(data, envelopeMembers),
    policy: typeof data.text === 'string' ? data.text : policyText(exact),
  }),
  dataOf({ policy, ...members }) {
    return {
      ...withoutDefaults(members, { status: 'ACTIVE', ...policies.storedDefaults }),
      ...policyData(policy as string),
    }
  },
  pathInFile(path) {
    const inDocument = path.replace(/^policy\.?/, '')
    if (inDocument === path) return path
    if (inDocument.startsWith('meta')) return 'version'
    return inDocument.replace(/^(subject|resource)\.type\b/, '$1').replace(/^condition\.?/, '')
  },
}

const projectMembers = ownMembers(projectKind, [])

const projectSchema = z.strictObject({
  name: projectKind.createSchema.shape.name as z.ZodType,
  ...projectMembers,
  region: (projectMembers.region as z.ZodType).optional().describe('default: `local`'),
})

/** The file of the project itself, `verdigraph.yaml`. */
export const projectFile: FileKind = {
  ...plainKind('', '', projectKind),
  schema: projectSchema,
  schemaFor: () => projectSchema,
  bodyOf: (data) => ({ region: 'local', ...without(data, new Set(['name'])) }),
  dataOf: (body) => normalised(projectKind, body, { region: 'local' }),
}

const modelKind = models(Number.MAX_SAFE_INTEGER, () => [])
const modelSchema = z.strictObject({
  name: (modelKind.createSchema.shape.name as z.ZodType).optional().describe(`default: \`${MODEL_NAME}\``),
  ...ownMembers(modelKind, []),
})

/** The file of the model, `model.gql`: the text of the model, after a front matter with the other members if there are any. */
export const modelFile: FileKind = {
  ...plainKind('', MODEL_ENDING, modelKind),
  schema: modelSchema,
  schemaFor: () => modelSchema,
  bodyOf: (data) => without(data, new Set(['name'])),
}

/** The folder and the ending of knowledge queries, which `query-files.ts` declares. */
export const QUERIES = { folder: 'queries', ending: '.query.yaml' } as const

/** The folders and endings of further kinds, which `other-file-kinds.ts` declares: it loads much that decisions do not need. */
export const otherFiles = {
  applications: '.application.yaml',
  agents: '.agent.yaml',
  introspections: '.introspection.yaml',
  resolvers: '.resolver.yaml',
  'mcp-servers': '.mcp-server.yaml',
  'trust-scores': '.trust-score.yaml',
  pipelines: '.pipeline.yaml',
  sinks: '.sink.yaml',
  signings: '.signing.yaml',
} as const satisfies Readonly<Record<string, string>>

/** Exists while `pull` replaces the files of a folder: if it was killed, the folder has files of two states. Hidden, so no document. */
export const PULL_MARKER = '.verdigraph-pull'
/** The name of the file of the project itself. */
export const PROJECT_FILE = 'verdigraph.yaml'
/** The folder of scenarios, and the ending of their files. */
export const SCENARIOS = { folder: 'scenarios', ending: '.scenario.yaml' } as const
/** The ending of a policy that is written as Cypher with a front matter. */
export const CYPHER_ENDING = '.cypher'
