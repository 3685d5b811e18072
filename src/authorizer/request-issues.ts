// Finds the names in a request that a test must not pass over: a misspelt name is denied like a real one. Scenario files, matchers
// and runs over HTTP judge their requests by this rule (docs/reference/scenario-files.md#names).
import { nearestName, suggestion } from '../../grammar/suggest.ts'
import { type ConfigSource, queriesKind, type StoredDocument } from '../config/kind.ts'
import { platformParameters } from '../engine/conditions.ts'
import { readGraphsNow, type Views } from '../engine/read-graph.ts'
import { createChunk, type GraphStore, type Snapshot } from '../engine/store.ts'
import { formatPath } from '../kernel/json/format-path.ts'
import type { DecisionDeps } from '../pdp/decision-deps.ts'
import { policiesOfStatus } from '../pdp/policy-status.ts'
import { policiesKind } from '../policy/authorization-policy.ts'
import { type CompiledPolicy, compiledIn, isForbidding } from '../policy/compile-policy.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { AuthorizerToken, InspectedRequest, RequestEntity, RequestIssue } from './authorizer.ts'
import {
  absentMembers,
  type MemberReads,
  type ParameterReads,
  readsOf,
  readsOfDocument,
  readsOfText,
  unreadMembers,
} from './member-reads.ts'

/** The project and the graph with which the names of a request are compared. */
export interface KnownToProject {
  readonly decisions: DecisionDeps
  readonly documents: ConfigSource
  readonly projectId: string
  graphs(): ProjectGraphs
}

/** Names that a message lists. */
const NAMES_SHOWN = 6
/** Nodes that are read for a suggestion. */
const NODES_MAX = 10_000
/** Usual claims of tokens. */
const usualClaims: readonly string[] =
  'acr act amr aud auth_time azp client_id exp iat iss jti nbf nonce scope scp sid sub'.split(' ')
/** Its nodes are made by the service, with ids that a test cannot know. */
const APPLICATION_TYPE = '_Application'

type EntityOrType = Pick<RequestEntity, 'type' | 'properties'> & { readonly id?: string | undefined }

/** Returns the issues of a decision or a search: types, nodes, action and tags first, then parameters. */
export function requestIssues(
  known: KnownToProject,
  { subject, action, resource, context = {} }: InspectedRequest,
  token: AuthorizerToken | null | undefined,
): readonly RequestIssue[] {
  const policies = compiledIn(
    policiesOfStatus(known.decisions, { policy_status: context.policy_status }).all(known.projectId),
  )
  const ofPair = policies.filter(
    ({ subjectType, resourceType }) => subjectType === subject.type && resourceType === resource.type,
  )
  return readGraphsNow((views) => {
    const names = new NamesInGraphs(known, views, policies, context.input_params ?? {})
    const entities = [subject, resource, ...(token == null ? [] : [token])]
    const types = names.typeIssues(entities)
    const given = context.input_params ?? {}
    const parts = { subject, resource, ...(action !== undefined && { action }) }
    return [
      ...types,
      ...names.nodeIssues(entities),
      ...(types.length > 0 ? [] : actionIssues(ofPair, subject.type, action?.name, resource.type)),
      ...tagIssues(policies, context.policy_tags ?? []),
      ...unreadParameters(given, parametersOf(ofPair), `no policy for ${subject.type} and ${resource.type}`),
      ...unreadProperties(ofPair, parts),
      ...memberIssues(known, given, token),
      ...missingParameters(ofPair, action?.name, context.policy_tags, given, token),
    ]
  })
}

/** Returns the issues of a call of a knowledge query. `parameters`: those that it reads; null: there is no such query. */
export function queryIssues(
  known: KnownToProject,
  name: string,
  given: Readonly<Record<string, unknown>>,
  parameters: readonly string[] | null,
  token: AuthorizerToken | null | undefined,
): readonly RequestIssue[] {
  return readGraphsNow((views) => {
    const policies = compiledIn(policiesOfStatus(known.decisions, {}).all(known.projectId))
    const names = new NamesInGraphs(known, views, policies, given)
    const entities = token == null ? [] : [token]
    return [
      ...names.typeIssues(entities),
      ...names.nodeIssues(entities),
      ...(parameters === null ? [] : unreadParameters(given, parameters, `the knowledge query ${name} does not`)),
      ...memberIssues(known, given, token),
      ...(parameters ?? []).flatMap((one) => (isGiven(one, given, token) ? [] : [missing(one, `the query ${name}`)])),
      ...missingMembers(given, parameters ?? [], readsOfQuery(known, name), `the query ${name}`),
      ...missingToken(readsOfQuery(known, name), token, `the query ${name}`),
    ]
  })
}

/** The types and the nodes of the graphs of a project. */
class NamesInGraphs {
  private readonly policyTypes: ReadonlySet<string>
  private readonly snapshots: readonly Snapshot[]

  constructor(
    known: KnownToProject,
    views: Views,
    policies: readonly CompiledPolicy[],
    given: Readonly<Record<string, unknown>>,
  ) {
    this.policyTypes = new Set(policies.flatMap(({ subjectType, resourceType }) => [subjectType, resourceType]))
    const graphs = known.graphs()
    const locations = policies.flatMap(({ condition }) =>
      condition.locations.map(({ kind, name }) => (kind === 'location' ? name : given[name])),
    )
    const located = locations.map((name) => (typeof name === 'string' ? graphs.at(name) : null))
    const all = [graphs.default, graphs.global, ...located].filter((one): one is GraphStore => one !== null)
    this.snapshots = [...new Set(all)].map((graph) => views.of(graph))
  }

  typeIssues(entities: readonly EntityOrType[]): readonly RequestIssue[] {
    return once(entities.map(({ type }) => type)).flatMap((type): readonly RequestIssue[] => {
      if (this.isKnownType(type)) return []
      const labels = this.snapshots.flatMap((snapshot) => [...snapshot.symbolNames('label')])
      const near = suggestion(
        type,
        [...this.policyTypes, ...labels].filter((name) => name > ' '),
      )
      return [
        { kind: 'unknown-type', name: type, message: `no policy and no node has the type ${quoted(type)}${near}` },
      ]
    })
  }

  /** Nodes of an unknown type are left out: the type is the issue. */
  nodeIssues(entities: readonly EntityOrType[]): readonly RequestIssue[] {
    const asked = new Map(
      entities.flatMap(({ type, id }) => (id === undefined ? [] : [[`${type}:${id}`, { type, id }] as const])),
    )
    return [...asked].flatMap(([key, { type, id }]): readonly RequestIssue[] => {
      if (type === APPLICATION_TYPE || !this.isKnownType(type) || this.hasNode(type, id)) return []
      const near = nearestName(id, this.idsOf(type))
      const text = near === null ? '' : `; did you mean \`${type}:${near}\`?`
      return [{ kind: 'unknown-node', name: key, message: `${quoted(key)} is not in the graph${text}` }]
    })
  }

  private isKnownType(type: string): boolean {
    const isLabel = (snapshot: Snapshot): boolean => snapshot.symbol('label', type) !== 0
    return type === APPLICATION_TYPE || this.policyTypes.has(type) || this.snapshots.some(isLabel)
  }

  private hasNode(type: string, id: string): boolean {
    return this.snapshots.some((snapshot) => snapshot.findNode(snapshot.symbol('label', type), id) !== 0)
  }

  private idsOf(type: string): readonly string[] {
    return this.snapshots.flatMap((snapshot) => {
      const label = snapshot.symbol('label', type)
      if (label === 0 || snapshot.nodeCount(label) > NODES_MAX) return []
      const chunk = createChunk()
      const ids: string[] = []
      for (let from = 0; ; from = chunk.next) {
        snapshot.nodesWithLabel(label, from, chunk)
        const nodes = [...chunk.ids.subarray(0, chunk.length)].filter((node) => snapshot.nodeType(node) === label)
        ids.push(...snapshot.externalIds(nodes).filter((id) => id !== null))
        if (chunk.next === 0) return ids
      }
    })
  }
}

function actionIssues(
  ofPair: readonly CompiledPolicy[],
  subjectType: string,
  action: string | undefined,
  resourceType: string,
): readonly RequestIssue[] {
  const pair = `${subjectType} and ${resourceType}`
  const kind = 'unknown-action'
  if (ofPair.length === 0) return [{ kind, name: action ?? '', message: `no policy is for ${pair}` }]
  const actions = once(ofPair.flatMap((policy) => policy.actions))
  if (action === undefined || actions.includes(action)) return []
  const near = suggestion(action, actions) || `; they name ${listed(actions)}`
  return [{ kind, name: action, message: `no policy for ${pair} names the action ${quoted(action)}${near}` }]
}

function tagIssues(policies: readonly CompiledPolicy[], tags: readonly string[]): readonly RequestIssue[] {
  const known = once(policies.flatMap((policy) => policy.tags))
  return once(tags).flatMap((tag): readonly RequestIssue[] => {
    if (known.includes(tag)) return []
    const message = `no policy has the tag ${quoted(tag)}${suggestion(tag, known)}`
    return [{ kind: 'unknown-tag', name: tag, message }]
  })
}

/** A parameter of any policy for the two types counts as read, whatever its action. Reserved names are refused elsewhere. */
function unreadParameters(
  given: Readonly<Record<string, unknown>>,
  read: readonly string[],
  reader: string,
): readonly RequestIssue[] {
  return Object.keys(given).flatMap((name): readonly RequestIssue[] => {
    if (platformParameters.has(name) || read.includes(name)) return []
    const others = read.filter((one) => !platformParameters.has(one) && !Object.hasOwn(given, one))
    const near = nearestName(name, others)
    const verb = reader.endsWith('not') ? 'read' : 'reads'
    const message = `${reader} ${verb} the parameter ${quoted(`$${name}`)}${near === null ? '' : `; did you mean \`$${near}\`?`}`
    return [{ kind: 'unread-parameter', name, message }]
  })
}

/** Properties of an entity or of the action are the parameter `$…_properties`. */
function unreadProperties(
  ofPair: readonly CompiledPolicy[],
  parts: Readonly<Record<string, { readonly properties?: Readonly<Record<string, unknown>> | undefined }>>,
): readonly RequestIssue[] {
  const read = parametersOf(ofPair)
  return Object.entries(parts).flatMap(([part, { properties = {} }]): readonly RequestIssue[] => {
    const parameter = `${part}_properties`
    if (Object.keys(properties).length === 0) return []
    const name = `${part}.properties`
    if (!read.includes(parameter))
      return [
        { kind: 'unread-parameter', name, message: `no policy for the two types reads ${name} as \`$${parameter}\`` },
      ]
    const documents = ofPair.map(({ document }) => readsOfDocument(document))
    return misspeltMembers(name, readsOf(parameter, documents), properties)
  })
}

/**
 * Members of parameters and claims of tokens. Tokens have claims that no policy reads, so only a name that is near to one that is
 * read, and is not given, is an issue. Usual claims are excepted.
 */
function memberIssues(
  { documents, projectId }: KnownToProject,
  given: Readonly<Record<string, unknown>>,
  token: AuthorizerToken | null | undefined,
): readonly RequestIssue[] {
  const roots = [
    ...Object.entries(given).map(([name, value]) => [name, name, value] as const),
    ['token', 'claims', token?.claims] as const,
    ['svc_token', 'delegation', token?.delegation] as const,
  ].filter(([, , value]) => typeof value === 'object' && value !== null)
  if (roots.length === 0) return []
  const read = [...documents.inScope(policiesKind, projectId), ...documents.inScope(queriesKind, projectId)].map(
    readsOfStored,
  )
  return roots.flatMap(([root, name, value]) => {
    const usual = root === 'token' || root === 'svc_token' ? usualClaims : []
    return misspeltMembers(name, readsOf(root, read), value, usual)
  })
}

function misspeltMembers(
  name: string,
  reads: MemberReads,
  value: unknown,
  usual: readonly string[] = [],
): readonly RequestIssue[] {
  return unreadMembers(reads, value).flatMap(({ path, absent }): readonly RequestIssue[] => {
    const member = String(path.at(-1))
    const near = usual.includes(member) ? null : nearestName(member, absent)
    if (near === null) return []
    const shown = formatPath(name, path)
    const message = `no policy reads ${quoted(shown)}; did you mean \`${near}\`?`
    return [{ kind: 'unread-parameter', name: shown, message }]
  })
}

function missingParameters(
  ofPair: readonly CompiledPolicy[],
  action: string | undefined,
  tags: readonly string[] | undefined,
  given: Readonly<Record<string, unknown>>,
  token: AuthorizerToken | null | undefined,
): readonly RequestIssue[] {
  const asked = ofPair.filter(
    (policy) =>
      (action === undefined || policy.actions.includes(action)) &&
      (tags === undefined || isForbidding(policy) || policy.tags.some((tag) => tags.includes(tag))),
  )
  const issues = asked.flatMap(({ name, inputParameters, document }) => [
    ...inputParameters
      .filter((parameter) => !isGiven(parameter, given, token))
      .map((parameter) => missing(parameter, `the policy ${name}`)),
    ...missingMembers(given, inputParameters, [readsOfDocument(document)], `the policy ${name}`),
    ...missingToken([readsOfDocument(document)], token, `the policy ${name}`),
  ])
  return [...new Map(issues.map((issue) => [issue.name, issue])).values()]
}

/** The parameters and members that a stored policy or knowledge query reads. */
function readsOfStored(stored: StoredDocument): ParameterReads {
  const { policy, query } = stored.fields
  return readsOfText(stored, String(policy ?? query))
}

/** The parameters and members that a knowledge query and its policy read. */
function readsOfQuery({ documents, projectId }: KnownToProject, name: string): readonly ParameterReads[] {
  return documents
    .inScope(queriesKind, projectId)
    .filter((one) => one.name === name || one.id === name)
    .flatMap((query) => {
      const policy = documents.inScope(policiesKind, projectId).find(({ id }) => id === query.fields.policy_id)
      return [query, ...(policy === undefined ? [] : [policy])].map(readsOfStored)
    })
}

/** Members of given parameters that a reader reads: unlike a parameter, the service does not require them. */
function missingMembers(
  given: Readonly<Record<string, unknown>>,
  parameters: readonly string[],
  documents: readonly ParameterReads[],
  reader: string,
): readonly RequestIssue[] {
  return parameters.flatMap((parameter) =>
    absentMembers(readsOf(parameter, documents), given[parameter]).map(
      (path): RequestIssue => ({ ...missing(formatPath(parameter, path), reader), kind: 'missing-member' }),
    ),
  )
}

/** Without a token, each claim is null. A token that is null is absent on purpose. */
function missingToken(
  documents: readonly ParameterReads[],
  token: AuthorizerToken | null | undefined,
  reader: string,
): readonly RequestIssue[] {
  const read =
    token === undefined ? ['token', 'svc_token'].find((name) => documents.some((one) => one.has(name))) : undefined
  if (read === undefined) return []
  return [{ kind: 'missing-token', name: read, message: `${reader} reads \`$${read}\`, and the request has no token` }]
}

function isGiven(
  parameter: string,
  given: Readonly<Record<string, unknown>>,
  token: AuthorizerToken | null | undefined,
): boolean {
  if (Object.hasOwn(given, parameter) || platformParameters.has(parameter)) return true
  return parameter === 'subject_id' && token != null
}

function missing(parameter: string, reader: string): RequestIssue {
  const message = `${reader} reads \`$${parameter}\`, which is not given`
  return { kind: 'missing-parameter', name: parameter, message }
}

function parametersOf(policies: readonly CompiledPolicy[]): readonly string[] {
  return once(policies.flatMap(({ parameters }) => parameters))
}

function once(names: readonly string[]): readonly string[] {
  return [...new Set(names)]
}

function quoted(name: string): string {
  return `\`${name}\``
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_SHOWN).map(quoted).join(', ')
  return names.length > NAMES_SHOWN ? `${shown}, …` : shown
}
