// A search in one graph, in node order: each policy is queried for as many nodes after the last page as this page
// needs, and the results of all policies are merged.
import type { Budget } from '../engine/conditions.ts'
import type { NodeId, Snapshot } from '../engine/store.ts'
import { sortIds } from '../engine/value/sort-ids.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { DecisionDeps } from './decision-deps.ts'
import type { CachedSearchResult } from './search-cache.ts'
import { countLimit, invalidPageToken, type PageWindow, pageOfNodes, pageSize, type SearchPage } from './search-page.ts'
import {
  confirmation,
  filterAdmits,
  fixedEntityId,
  forEachGranted,
  type SearchTask,
  searchedGraphs,
} from './search-task.ts'

/** From this many results on, names are read without the store's cache: a scan must not evict what decisions read. */
const CACHED_NAMES_MAX = 10_000

/** Nodes after the page position, ascending: at least as many as needed, or all (`isComplete`). */
interface NodeSlice {
  readonly nodes: Uint32Array
  readonly isComplete: boolean
}

/** Collects the results of all policies of one search, for one page. */
export class KeysetSearch {
  private readonly budget: Budget
  private readonly snapshot: () => Snapshot
  private readonly window: PageWindow
  private readonly size: number
  private readonly needed: number
  private readonly isOnly: boolean
  private readonly slices: NodeSlice[] = []
  private cacheKey: string
  private readonly toCache: { readonly policy: CompiledPolicy; readonly list: CachedSearchResult }[] = []

  /**
   * `snapshot`: opens the graph to search. It may throw if the location no longer exists, which is an error of each
   * policy. `isOnly`: the search has a single policy.
   */
  constructor(deps: DecisionDeps, window: PageWindow, snapshot: () => Snapshot, isOnly: boolean, budget: Budget) {
    this.budget = budget
    this.snapshot = snapshot
    this.isOnly = isOnly
    this.window = window
    this.size = pageSize(deps, window)
    // One more than fits the page or is counted shows that there are more.
    this.needed = countLimit(deps, window) + 1
    this.cacheKey = window.position.cacheKey
  }

  /** True if nothing was found so far. */
  get isEmpty(): boolean {
    return this.slices.every(({ nodes }) => nodes.length === 0)
  }

  /** Adds what one policy grants, from the cache or with one query. Throws ExecutionError. */
  search(task: SearchTask): void {
    if (!filterAdmits(task)) return
    const { policy, evaluation } = task
    const { node, cacheKey } = this.window.position
    const list = cacheKey === '' ? null : evaluation.deps.searchCache.get(cacheKey, policy)
    // A result from another graph version, or one that depended on parameters, is searched again.
    const isSame = list !== null && list.graphVersions === graphVersionsOf(task) && policy.parameters.length === 0
    // After a change this policy may grant nodes that only another policy granted before, so its cached list is incomplete.
    if (list === null || !(isSame || list.isSinglePolicy)) this.slices.push(this.found(task))
    else {
      const rest: NodeSlice = { nodes: list.nodes.subarray(lowerBound(list.nodes, node + 1)), isComplete: true }
      const confirms = confirmation(task, isSame)
      this.slices.push(confirms === null ? rest : this.confirmedSlice(confirms, () => rest))
    }
  }

  /** Adds what one policy grants, candidate by candidate. Throws ExecutionError. */
  searchEach(task: SearchTask): void {
    const nodes: NodeId[] = []
    forEachGranted(task, this.snapshot(), this.window.position.node, (node) => nodes.push(node) < this.needed)
    this.slices.push({ nodes: Uint32Array.from(nodes), isComplete: nodes.length < this.needed })
  }

  private found(task: SearchTask): NodeSlice {
    const { policy, session, target } = task
    const { condition } = policy
    const fixedId = fixedEntityId(task)
    const sliceAfter = (after: NodeId, enough: number): NodeSlice => {
      const slice =
        target === 'resource'
          ? condition.resourcesAfter(session, fixedId, after, enough)
          : condition.subjectsAfter(session, fixedId, after, enough)
      // A later slice of the same page does not begin where the next page begins, so it is not cached.
      const isWhole = slice.isComplete && after === this.window.position.node
      if (isWhole && this.size > 0 && slice.nodes.length > this.size) {
        const list = { nodes: slice.nodes, graphVersions: graphVersionsOf(task), isSinglePolicy: this.isOnly }
        // Stored in the cache together with the page: until then the search may be repeated in a lane.
        this.toCache.push({ policy, list })
      }
      return slice
    }
    const confirms = confirmation(task, true)
    return confirms === null
      ? sliceAfter(this.window.position.node, this.needed)
      : this.confirmedSlice(confirms, sliceAfter)
  }

  /** Keeps the nodes that a check permits. */
  private confirmedSlice(
    confirms: (id: string) => boolean,
    sliceAfter: (after: NodeId, enough: number) => NodeSlice,
  ): NodeSlice {
    const snapshot = this.snapshot()
    const granted: NodeId[] = []
    for (let after = this.window.position.node; ; ) {
      const { nodes, isComplete } = sliceAfter(after, this.needed - granted.length)
      for (const node of nodes) {
        const id = snapshot.nodeField(node, 'external_id')
        if (typeof id !== 'string' || !confirms(id)) continue
        if (granted.push(node) === this.needed) return { nodes: Uint32Array.from(granted), isComplete: false }
      }
      if (isComplete) return { nodes: Uint32Array.from(granted), isComplete }
      after = nodes.at(-1) ?? after
    }
  }

  /** Returns the requested page. Error: `malformed` if the page token does not fit this search. */
  page(deps: DecisionDeps): Result<SearchPage, ServiceError> {
    const { window } = this
    const { node, after, returned, cacheKey } = window.position
    const nodes = mergeNodes(
      this.budget,
      this.slices.map((slice) => slice.nodes),
    )
    const shown = nodes.subarray(0, this.size)
    const ids: string[] = []
    if (nodes.length > 0) {
      const snapshot = this.snapshot()
      const known = node === 0 ? null : snapshot.nodeField(node, 'external_id')
      // The token is from a search in another order, or from another graph of the same name.
      if (node === 0 ? after !== null : known !== null && known !== after) return invalidPageToken
      const names = returned < CACHED_NAMES_MAX ? Array.from(shown, (one) => nameOf(this.budget, snapshot, one)) : null
      for (const id of names ?? namesOf(this.budget, snapshot, shown)) ids.push(String(id))
    }
    const remaining = this.slices.every(({ isComplete }) => isComplete) ? nodes.length : null
    for (const { policy, list } of this.toCache) this.cacheKey = deps.searchCache.set(this.cacheKey, policy, list)
    if (remaining === ids.length) deps.searchCache.delete(cacheKey)
    return ok(pageOfNodes(deps, window, ids, remaining, { node: shown.at(-1) ?? node, cacheKey: this.cacheKey }))
  }
}

/** Budget steps of reading one node that is not in the cache: some microseconds. */
const STEPS_OF_READ = 2

function nameOf(budget: Budget, snapshot: Snapshot, node: NodeId): unknown {
  budget.chargeSteps(STEPS_OF_READ)
  return snapshot.nodeField(node, 'external_id')
}

/** Nodes whose names are read together. */
const NAMES_PER_READ = 256

function* namesOf(budget: Budget, snapshot: Snapshot, nodes: Uint32Array): Generator<unknown> {
  for (let at = 0; at < nodes.length; at += NAMES_PER_READ) {
    const part = nodes.subarray(at, at + NAMES_PER_READ)
    budget.chargeSteps(part.length * STEPS_OF_READ)
    yield* snapshot.externalIds(part)
  }
}

function graphVersionsOf(task: SearchTask): string {
  return Array.from(searchedGraphs(task), ({ version }) => `${version.writer}.${version.commit}`).join(' ')
}

/** Returns the first index whose node is not below `node`. */
function lowerBound(nodes: Uint32Array, node: NodeId): number {
  let low = 0
  let high = nodes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((nodes[middle] ?? 0) < node) low = middle + 1
    else high = middle
  }
  return low
}

/** Merges ascending lists into one without duplicates. */
function mergeNodes(budget: Budget, lists: readonly Uint32Array[]): Uint32Array {
  const filled = lists.filter(({ length }) => length > 0)
  if (filled.length <= 1) return filled[0] ?? new Uint32Array(0)
  const all = new Uint32Array(filled.reduce((sum, { length }) => sum + length, 0))
  let length = 0
  for (const list of filled) {
    all.set(list, length)
    length += list.length
  }
  sortIds(budget, all)
  length = 0
  for (let i = 0; i < all.length; i++) if (all[i] !== all[i - 1]) all[length++] = all[i] ?? 0
  return all.subarray(0, length)
}
