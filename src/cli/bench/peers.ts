// The systems that a bench compares with: each is empty, gets the generated graph, and is asked the same questions. OpenFGA and Cerbos are
// started from a file; Neo4j is a running server.
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { UsageError } from '../output/cli-error.ts'
import type { AskedPeer } from './asked-peer.ts'
import {
  documentId,
  type GeneratedAction,
  type GeneratedGraph,
  type GeneratedQuestion,
  groupId,
  groupsOf,
  ownedBy,
  personId,
  readableBy,
} from './generated-graph.ts'
import { type HttpRequests, openConnections } from './http-connections.ts'
import { boltProblem, loadIntoNeo4j } from './neo4j-peer.ts'
import { freePort, type StartedProgram, startProgram } from './started-program.ts'

interface PeerKind {
  /** What is wrong with the text after `NAME=`; null: nothing. */
  problemOf(target: string): string | null
  /** Why an action cannot be expressed; null: it can. */
  refusalOf(action: GeneratedAction): string | null
  start(
    target: string,
    folder: string,
    graph: GeneratedGraph,
    questions: readonly GeneratedQuestion[],
  ): Promise<AskedPeer>
}

const kinds: Readonly<Record<string, PeerKind>> = {
  openfga: {
    problemOf: fileProblem,
    refusalOf: (action) =>
      action === 'clear'
        ? 'OpenFGA stores relationships, and no property of a user that a condition could compare with one of an object'
        : null,
    start: startOpenFga,
  },
  cerbos: { problemOf: fileProblem, refusalOf: () => null, start: startCerbos },
  neo4j: {
    problemOf: boltProblem,
    refusalOf: () => null,
    start: (url, _folder, graph, questions) => loadIntoNeo4j(url, graph, questions),
  },
}

function fileProblem(file: string): string | null {
  return statSync(file, { throwIfNoEntry: false })?.isFile() === true ? null : `${file} is no file`
}

/** A peer of `--compare`. */
interface NamedPeer {
  readonly name: string
  /** The path of its program, or the URL of a running server. */
  readonly target: string
}

/** Reads `openfga=/path,neo4j=bolt://host:7687`. Throws UsageError. */
export function peersFrom(text: string): readonly NamedPeer[] {
  const peers = text.split(',').map((part) => {
    const at = part.indexOf('=')
    const [name, target] = [part.slice(0, at).trim(), part.slice(at + 1).trim()]
    if (at < 1 || target === '')
      throw new UsageError([
        `--compare: expected NAME=FILE, such as openfga=/usr/bin/openfga, or neo4j=URL, found \`${part}\``,
      ])
    if (!Object.hasOwn(kinds, name))
      throw new UsageError([`--compare: there is no peer \`${name}\`; the peers are ${Object.keys(kinds).join(', ')}`])
    const problem = kinds[name]!.problemOf(target)
    if (problem !== null) throw new UsageError([`--compare: ${name}: ${problem}`])
    return { name, target }
  })
  const twice = peers.find(({ name }, at) => peers.findIndex((one) => one.name === name) !== at)
  if (twice !== undefined) throw new UsageError([`--compare: ${twice.name} is given twice`])
  return peers
}

/** Why a peer cannot answer questions about these actions; null: it can. */
export function refusalOf({ name }: NamedPeer, actions: readonly GeneratedAction[]): string | null {
  for (const action of actions) {
    const reason = kinds[name]?.refusalOf(action) ?? null
    if (reason !== null) return `${action}: ${reason}`
  }
  return null
}

/** Starts a peer or connects to it, and loads the graph. Throws OperationalError. `close` of the peer also removes its files. */
export async function startPeer(
  { name, target }: NamedPeer,
  graph: GeneratedGraph,
  questions: readonly GeneratedQuestion[],
): Promise<AskedPeer> {
  const folder = mkdtempSync(join(tmpdir(), `verdigraph-bench-${name}-`))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const peer = await kinds[name]!.start(target, folder, graph, questions)
    return {
      ...peer,
      async close() {
        try {
          await peer.close()
        } finally {
          remove()
        }
      },
    }
  } catch (error) {
    remove()
    throw error
  }
}

/** A program that answers over HTTP. */
function httpPeer(
  program: StartedProgram,
  requests: Omit<HttpRequests, 'connections'>,
  about: Pick<AskedPeer, 'version' | 'note'>,
): AskedPeer {
  return {
    ...about,
    protocol: 'HTTP',
    cpuS: program.cpuS,
    connect: (connections) => openConnections({ ...requests, connections }),
    close: () => program.stop(),
  }
}

const json = { 'content-type': 'application/json' }

async function post(url: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(url, { method: 'POST', headers: json, body: JSON.stringify(body) })
  const text = await response.text()
  if (!response.ok) throw new OperationalError(`${url} was answered ${response.status}: ${text.slice(0, 300)}`)
  return JSON.parse(text)
}

/** The environment of a peer: nothing of this program's configuration. */
function peerEnvironment(folder: string): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: folder }
}

async function isAnswering(url: string): Promise<boolean> {
  return fetch(url).then(
    (response) => response.ok,
    () => false,
  )
}

function versionOf(file: string, args: readonly string[]): string {
  const { stdout, stderr } = Bun.spawnSync([file, ...args], { env: { PATH: process.env.PATH ?? '' } })
  const text = `${stdout}${stderr}`
  return /v?\d+\.\d+\.\d+\S*/.exec(text)?.[0]?.replace(/[`'",]/g, '') ?? 'unknown version'
}

// -- OpenFGA (https://openfga.dev/docs)

/** Tuples of one write request. */
const TUPLES_MAX = 100

const openFgaModel = {
  schema_version: '1.1',
  type_definitions: [
    { type: 'person' },
    {
      type: 'group',
      relations: { member: { this: {} } },
      metadata: { relations: { member: { directly_related_user_types: [{ type: 'person' }] } } },
    },
    {
      type: 'document',
      relations: { open: { this: {} }, read: { this: {} } },
      metadata: {
        relations: {
          open: { directly_related_user_types: [{ type: 'person' }] },
          read: { directly_related_user_types: [{ type: 'group', relation: 'member' }] },
        },
      },
    },
  ],
}

function* openFgaTuples(graph: GeneratedGraph): Generator<{ user: string; relation: string; object: string }> {
  for (let person = 0; person < graph.people; person++) {
    const user = `person:${personId(person)}`
    for (const document of ownedBy(graph, person))
      yield { user, relation: 'open', object: `document:${documentId(document)}` }
    for (const group of groupsOf(graph, person)) yield { user, relation: 'member', object: `group:${groupId(group)}` }
  }
  for (let group = 0; group < graph.groups; group++) {
    const user = `group:${groupId(group)}#member`
    for (const document of readableBy(graph, group))
      yield { user, relation: 'read', object: `document:${documentId(document)}` }
  }
}

async function startOpenFga(
  file: string,
  folder: string,
  graph: GeneratedGraph,
  questions: readonly GeneratedQuestion[],
): Promise<AskedPeer> {
  const [http, grpc] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${http}`
  const flags = [
    '--datastore-engine=memory',
    `--http-addr=127.0.0.1:${http}`,
    `--grpc-addr=127.0.0.1:${grpc}`,
    '--playground-enabled=false',
    '--metrics-enabled=false',
    '--log-level=error',
    `--max-tuples-per-write=${TUPLES_MAX}`,
  ]
  const program = await startProgram([file, 'run', ...flags], {
    environment: peerEnvironment(folder),
    workingFolder: folder,
    isReady: async () => ((await isAnswering(`${url}/healthz`)) ? url : null),
  })
  try {
    const { id: store } = (await post(`${url}/stores`, { name: 'bench' })) as { id: string }
    const base = `${url}/stores/${store}`
    const { authorization_model_id } = await post(`${base}/authorization-models`, openFgaModel)
    let tuples: { user: string; relation: string; object: string }[] = []
    const write = async (): Promise<void> => {
      if (tuples.length > 0) await post(`${base}/write`, { writes: { tuple_keys: tuples }, authorization_model_id })
      tuples = []
    }
    for (const tuple of openFgaTuples(graph)) if (tuples.push(tuple) === TUPLES_MAX) await write()
    await write()
    const requests = {
      url,
      path: `/stores/${store}/check`,
      headers: {},
      bodies: questions.map(({ action, person, document }) => {
        const object = `document:${documentId(document)}`
        return JSON.stringify({
          tuple_key: { user: `person:${personId(person)}`, relation: action, object },
          authorization_model_id,
        })
      }),
      decisionOf: (body: string) => {
        const { allowed } = JSON.parse(body) as { allowed?: boolean }
        return allowed ?? null
      },
    }
    return httpPeer(program, requests, {
      version: versionOf(file, ['version']),
      note: 'tuples in the memory of the process, default settings without its caches',
    })
  } catch (error) {
    await program.stop()
    throw error
  }
}

// -- Cerbos (https://docs.cerbos.dev)

const cerbosRules: Readonly<Record<GeneratedAction, string>> = {
  open: 'request.principal.id in request.resource.attr.owners',
  read: 'hasIntersection(request.principal.attr.groups, request.resource.attr.readers)',
  clear: 'request.principal.attr.level >= request.resource.attr.level',
}

async function startCerbos(
  file: string,
  folder: string,
  graph: GeneratedGraph,
  questions: readonly GeneratedQuestion[],
): Promise<AskedPeer> {
  const policies = join(folder, 'policies')
  mkdirSync(policies)
  const rules = Object.entries(cerbosRules).map(([action, expr]) => ({
    actions: [action],
    effect: 'EFFECT_ALLOW',
    roles: ['person'],
    condition: { match: { expr } },
  }))
  const policy = {
    apiVersion: 'api.cerbos.dev/v1',
    resourcePolicy: { resource: 'document', version: 'default', rules },
  }
  // JSON is valid YAML.
  writeFileSync(join(policies, 'document.yaml'), JSON.stringify(policy))
  const [http, grpc] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${http}`
  const config = join(folder, 'cerbos.yaml')
  const server = { httpListenAddr: `127.0.0.1:${http}`, grpcListenAddr: `127.0.0.1:${grpc}` }
  const storage = { driver: 'disk', disk: { directory: policies, watchForChanges: false } }
  writeFileSync(config, JSON.stringify({ server, storage, telemetry: { disabled: true } }))
  const program = await startProgram([file, 'server', `--config=${config}`, '--log-level=error'], {
    environment: peerEnvironment(folder),
    workingFolder: folder,
    isReady: async () => ((await isAnswering(`${url}/_cerbos/health`)) ? url : null),
  })
  const facts = factsOf(graph)
  const requests = {
    url,
    path: '/api/check/resources',
    headers: {},
    bodies: questions.map(({ action, person, document }) => {
      const principal = {
        id: personId(person),
        roles: ['person'],
        attr: { groups: [...groupsOf(graph, person)].map(groupId), level: graph.personLevels[person] },
      }
      const attr = {
        owners: (facts.owners.get(document) ?? []).map(personId),
        readers: (facts.readers.get(document) ?? []).map(groupId),
        level: graph.documentLevels[document],
      }
      const resource = { kind: 'document', id: documentId(document), attr }
      return JSON.stringify({ requestId: 'bench', principal, resources: [{ resource, actions: [action] }] })
    }),
    decisionOf: (body: string) => {
      const { results } = JSON.parse(body) as { results?: { actions: Record<string, string> }[] }
      const effect = Object.values(results?.[0]?.actions ?? {})[0]
      return effect === undefined ? null : effect === 'EFFECT_ALLOW'
    },
  }
  return httpPeer(program, requests, {
    version: versionOf(file, ['--version']),
    note: 'stores no graph: each request contains the facts that its policy reads, which a caller would have to look up first',
  })
}

interface DocumentFacts {
  readonly owners: ReadonlyMap<number, readonly number[]>
  readonly readers: ReadonlyMap<number, readonly number[]>
}

function factsOf(graph: GeneratedGraph): DocumentFacts {
  const owners = new Map<number, number[]>()
  const readers = new Map<number, number[]>()
  const add = (to: Map<number, number[]>, document: number, value: number): void => {
    const known = to.get(document)
    if (known === undefined) to.set(document, [value])
    else known.push(value)
  }
  for (let person = 0; person < graph.people; person++)
    for (const document of ownedBy(graph, person)) add(owners, document, person)
  for (let group = 0; group < graph.groups; group++)
    for (const document of readableBy(graph, group)) add(readers, document, group)
  return { owners, readers }
}
