// The graphs of projects that are in database servers: one connection for each server and user, one graph for each database.
import type { GraphStore, WrittenBatch } from '../engine/store.ts'
import { type DatabasePlace, parseBoltUrl } from '../kernel/bolt-address.ts'
import { OperationalError } from '../kernel/errors.ts'
import type { Clock } from '../kernel/time/clock.ts'
import type { Constituent } from '../store/tenancy/project-graphs.ts'
import { type BoltAddress, type BoltLimits, BoltServer, type BoltServerState } from './bolt-server.ts'
import { type CommitMark, type CommitOutcome, outcomeOf, STATE_QUERY, stateOf } from './graph-state.ts'
import { PushedPlans } from './pushed-queries.ts'
import type { RemoteBatch } from './remote-batch.ts'
import { type CompositeDatabases, completeProxies, RemoteConstituent, replayIntents } from './remote-constituent.ts'
import { type PreparedReport, type RemoteCommits, RemoteGraph } from './remote-graph.ts'

/** How a project is connected, with its password in plain text. */
export interface RemoteProject {
  readonly id: string
  readonly url: string
  readonly username: string | null
  readonly password: string | null
  /** Databases, or URLs of databases of other servers; null: the default database of the server. */
  readonly name: string | null
  readonly compositeName: string | null
  /** All constituents that may hold nodes. */
  readonly constituents: readonly Constituent[]
}

/** Counts of the servers of a process since its start. */
export interface RemoteTotals {
  readonly reachable: number
  readonly unreachable: number
  readonly queries: number
  readonly failures: number
  /** Queries that a server executed as a whole, and those that the engine executed. */
  readonly pushed: number
  readonly executed: number
}

/** Stores what batches have to report in the data folder of this service. */
interface RemoteEventStore {
  prepare(
    projectId: string,
    constituent: Constituent,
    batch: WrittenBatch,
    events: RemoteBatch['events'],
    mark: CommitMark,
  ): Promise<PreparedReport>
}

/** Collaborators of the remote graphs. */
interface RemoteGraphsDeps {
  readonly clock: Clock
  /** Null: this process does not write. */
  readonly events: RemoteEventStore | null
  readonly limits: BoltLimits
  /** Rejects if the process may not connect to the server. */
  permit(url: string): Promise<void>
  /** One line for the operator's log. */
  report(line: string): void
}

/** All remote graphs of this process. */
export class RemoteGraphs {
  private readonly deps: RemoteGraphsDeps
  private readonly servers = new Map<string, BoltServer>()
  private readonly graphs = new Map<string, RemoteGraph>()
  private readonly stores = new Map<string, GraphStore>()
  /** Of servers that no project uses any more. */
  private readonly past = { queries: 0, failures: 0 }
  private readonly plans = new PushedPlans()

  constructor(deps: RemoteGraphsDeps) {
    this.deps = deps
  }

  private server(address: BoltAddress): BoltServer {
    const key = serverKey(address)
    let server = this.servers.get(key)
    if (server === undefined) {
      const { limits, permit, report } = this.deps
      server = new BoltServer(address, { limits, permit, report })
      this.servers.set(key, server)
    }
    return server
  }

  /** One database as a graph, without what a composite project adds. */
  private graph(project: RemoteProject, constituent: Constituent): RemoteGraph {
    const { url, database } = placeOf(project, constituent)
    const { username, password } = project
    const key = graphKey(project, constituent)
    let graph = this.graphs.get(key)
    if (graph === undefined) {
      const { clock, events } = this.deps
      const commits: RemoteCommits | null =
        events === null
          ? null
          : {
              prepare: (batch, mark) => events.prepare(project.id, constituent, batch, batch.events, mark),
            }
      graph = new RemoteGraph({
        server: this.server({ url, username, password }),
        database,
        clock,
        commits,
        plans: this.plans,
      })
      this.graphs.set(key, graph)
    }
    return graph
  }

  /** A constituent of a project as the features use it. */
  store(project: RemoteProject, constituent: Constituent): GraphStore {
    const graph = this.graph(project, constituent)
    if (project.compositeName === null || constituent === 'global') return graph
    const key = storeKey(project, constituent)
    let store = this.stores.get(key)
    if (store === undefined) {
      store = new RemoteConstituent(graph, this.databases(project))
      this.stores.set(key, store)
    }
    return store
  }

  private databases(project: RemoteProject): CompositeDatabases {
    return {
      global: () => this.graph(project, 'global'),
      constituents: () => project.constituents.map((constituent) => this.graph(project, constituent)),
    }
  }

  /** Creates the proxies of nodes that existed before the project became composite. */
  async completeProxies(project: RemoteProject): Promise<void> {
    if (project.compositeName === null) return
    await this.provision(project, ['global', ...project.constituents])
    await completeProxies(this.databases(project))
  }

  /** Updates the proxies that a crash has left outdated. */
  async replayIntents(project: RemoteProject): Promise<void> {
    if (project.compositeName !== null) await replayIntents(this.databases(project))
  }

  /** Connects to the databases and creates what the service needs in them. Rejects with OperationalError. */
  async provision(project: RemoteProject, constituents: readonly Constituent[]): Promise<void> {
    for (const constituent of constituents) await this.graph(project, constituent).provision()
  }

  /** Whether an attempt to write to a database was committed. Waits for the writes in progress. */
  async outcome(project: RemoteProject, constituent: Constituent, mark: CommitMark): Promise<CommitOutcome> {
    return outcomeOf(mark, await this.graph(project, constituent).lockedState())
  }

  /** Whether a database has nodes; the global one, which has only proxies, relationships. */
  holdsData(project: RemoteProject, constituent: Constituent): Promise<boolean> {
    return this.graph(project, constituent).holds(constituent === 'global' ? 'relationships' : 'nodes')
  }

  /**
   * Whether a database has the same last write as the constituent of a project: the tools of the server have copied it. False too if it
   * cannot be read. Waits for the writes in progress.
   */
  async isCopied(
    [project, constituent]: readonly [RemoteProject, Constituent],
    [next, nextConstituent]: readonly [RemoteProject, Constituent],
  ): Promise<boolean> {
    const { url, database } = placeOf(next, nextConstituent)
    const { limits, permit } = this.deps
    const server = new BoltServer({ url, username: next.username, password: next.password }, { limits, permit })
    try {
      const { version, commits } = await this.graph(project, constituent).lockedState()
      const query = { text: STATE_QUERY, parameters: {} }
      const copy = stateOf(await server.read(database, query, limits.queryTimeMs))
      return commits.length > 0 && copy.version === version && copy.commits.at(-1) === commits.at(-1)
    } catch {
      return false
    } finally {
      await server.close()
    }
  }

  /** Forgets what none of these projects uses. Connections are closed when the running requests have ended. */
  keepOnly(projects: readonly RemoteProject[]): void {
    const used = projects.flatMap((project) => constituentsOf(project).map((one) => [project, one] as const))
    forgetOthers(this.stores, new Set(used.map(([project, one]) => storeKey(project, one))))
    forgetOthers(this.graphs, new Set(used.map(([project, one]) => graphKey(project, one))))
    const keys = new Set(used.map(([project, one]) => serverKey({ ...project, ...placeOf(project, one) })))
    for (const server of forgetOthers(this.servers, keys)) {
      const { queries, failures } = server.state
      this.past.queries += queries
      this.past.failures += failures
      server.retire()
    }
  }

  /** Counts of all servers of this process. */
  totals(): RemoteTotals {
    const states = Array.from(this.servers.values(), ({ state }) => state)
    const sum = (of: (state: BoltServerState) => number): number => states.reduce((all, state) => all + of(state), 0)
    const { pushed, executed } = this.plans.counts
    return {
      reachable: sum(({ isReachable }) => (isReachable ? 1 : 0)),
      unreachable: sum(({ isReachable }) => (isReachable ? 0 : 1)),
      queries: this.past.queries + sum(({ queries }) => queries),
      failures: this.past.failures + sum(({ failures }) => failures),
      pushed,
      executed: [...executed.values()].reduce((all, one) => all + one, 0),
    }
  }

  /** Closes all connections. */
  async close(): Promise<void> {
    for (const server of this.servers.values()) await server.close()
  }
}

function constituentsOf({ compositeName, constituents }: RemoteProject): readonly Constituent[] {
  return compositeName === null ? constituents : ['global', ...constituents]
}

function placeOf(project: RemoteProject, constituent: Constituent): DatabasePlace {
  const { url } = project
  const name =
    constituent === 'default' ? project.name : constituent === 'global' ? project.compositeName : constituent.database
  if (name === null || !name.includes('://')) return { url, database: name }
  const place = parseBoltUrl(name)
  if (!place.ok) throw new OperationalError(`the database of a location: ${place.error}`)
  return place.value
}

function serverKey({ url, username, password }: BoltAddress): string {
  return JSON.stringify([url, username, password])
}

function graphKey(project: RemoteProject, constituent: Constituent): string {
  const { url, database } = placeOf(project, constituent)
  return JSON.stringify([project.id, url, project.username, project.password, database])
}

function storeKey(project: RemoteProject, constituent: Constituent): string {
  return JSON.stringify([project, constituent])
}

/** Deletes the entries with other keys, and returns their values. */
function forgetOthers<T>(from: Map<string, T>, kept: ReadonlySet<string>): readonly T[] {
  const others = [...from].filter(([key]) => !kept.has(key))
  for (const [key] of others) from.delete(key)
  return others.map(([, value]) => value)
}
