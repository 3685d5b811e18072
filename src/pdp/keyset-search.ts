// What a search finds in one graph, in the order of its nodes: each policy is asked for as many of them behind the last
// page as this one needs, and what several policies grant is put together.
import type { NodeId, Snapshot } from '../engine/store.ts'
import { chargeItems } from '../engine/value/cost-accounting.ts'
import { sortIds } from '../engine/value/sort-ids.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { DecisionDeps } from './decision-deps.ts'
import type { CachedSearchResult } from './search-cache.ts'
import { countLimit, invalidPageToken, type PageWindow, pageOfNodes, pageSize, type SearchPage } from './search-page.ts'
import {
  filterAdmits,
  fixedEntityId,
  forEachGranted,
  isGranted,
  needsConfirmation,
  type SearchTask,
  searchedGraphs,
} from './search-task.ts'

/** Who reads on so far reads everything: the store is not to remember it in place of what decisions ask for. */
const REMEMBERED = 10_000

/** Behind the place of the page, ascending; at least as many as are needed, or all. */
interface NodeSlice {
  readonly nodes: Uint32Array
  readonly isComplete: boolean
}

export class KeysetSearch {
  private readonly snapshot: () => Snapshot
  private readonly cut: PageWindow
  private readonly size: number
  private readonly needed: number
  private readonly isOnly: boolean
  private readonly windows: NodeSlice[] = []
  private keptAs: string
  private readonly toKeep: { readonly policy: CompiledPolicy; readonly list: CachedSearchResult }[] = []

  /**
   * `snapshot`: of the graph that holds what is sought. It may turn out to have gone, which is every policy's fault.
   * `isOnly`: one policy alone is asked.
   */
  constructor(parts: DecisionDeps, cut: PageWindow, snapshot: () => Snapshot, isOnly: boolean) {
    this.snapshot = snapshot
    this.isOnly = isOnly
    this.cut = cut
    this.size = pageSize(parts, cut)
    // One more than there is room for, or than is counted, tells that there are more.
    this.needed = countLimit(parts, cut) + 1
    this.keptAs = cut.position.cacheKey
  }

  get isEmpty(): boolean {
    return this.windows.every(({ nodes }) => nodes.length === 0)
  }

  search(ask: SearchTask): void {
    if (!filterAdmits(ask)) return
    const { policy, evaluation } = ask
    const { node, cacheKey } = this.cut.position
    const list = cacheKey === '' ? null : evaluation.deps.searchCache.get(cacheKey, policy)
    // Found in another state of the graph, or for what the caller's token said then: what is granted now is looked up.
    const isSame = list !== null && list.graphVersions === stampsOf(ask) && policy.parameters.length === 0
    // What another policy granted then, this one may grant now.
    if (list === null || !(isSame || list.isSinglePolicy)) this.windows.push(this.found(ask))
    else {
      const rest: NodeSlice = { nodes: list.nodes.subarray(placeIn(list.nodes, node + 1)), isComplete: true }
      this.windows.push(isSame && !needsConfirmation(ask) ? rest : this.confirmed(ask, () => rest))
    }
  }

  searchEach(ask: SearchTask): void {
    const nodes: NodeId[] = []
    forEachGranted(ask, this.snapshot(), this.cut.position.node, (node) => nodes.push(node) < this.needed)
    this.windows.push({ nodes: Uint32Array.from(nodes), isComplete: nodes.length < this.needed })
  }

  private found(ask: SearchTask): NodeSlice {
    const { policy, session, target } = ask
    const { condition } = policy
    const given = fixedEntityId(ask)
    const behind = (after: NodeId, enough: number): NodeSlice => {
      const window =
        target === 'resource'
          ? condition.resourcesAfter(session, given, after, enough)
          : condition.subjectsAfter(session, given, after, enough)
      // What is found later in a page does not reach back to where the next one begins.
      const isWhole = window.isComplete && after === this.cut.position.node
      if (isWhole && this.size > 0 && window.nodes.length > this.size) {
        const list = { nodes: window.nodes, graphVersions: stampsOf(ask), isSinglePolicy: this.isOnly }
        // Kept with the page: until then the search may have to be repeated in a lane.
        this.toKeep.push({ policy, list })
      }
      return window
    }
    return needsConfirmation(ask) ? this.confirmed(ask, behind) : behind(this.cut.position.node, this.needed)
  }

  /** Those for which the check is true. */
  private confirmed(ask: SearchTask, behind: (after: NodeId, enough: number) => NodeSlice): NodeSlice {
    const snapshot = this.snapshot()
    const granted: NodeId[] = []
    for (let after = this.cut.position.node; ; ) {
      const { nodes, isComplete } = behind(after, this.needed - granted.length)
      for (const node of nodes) {
        const id = snapshot.nodeField(node, 'external_id')
        if (typeof id !== 'string' || !isGranted(ask, id)) continue
        if (granted.push(node) === this.needed) return { nodes: Uint32Array.from(granted), isComplete: false }
      }
      if (isComplete) return { nodes: Uint32Array.from(granted), isComplete }
      after = nodes.at(-1) ?? after
    }
  }

  page(parts: DecisionDeps): Result<SearchPage, ServiceError> {
    const { cut } = this
    const { node, after, returned, cacheKey } = cut.position
    const nodes = together(this.windows.map((window) => window.nodes))
    const shown = nodes.subarray(0, this.size)
    const ids: string[] = []
    if (nodes.length > 0) {
      const snapshot = this.snapshot()
      const known = node === 0 ? null : snapshot.nodeField(node, 'external_id')
      // Another order than that of the page before, or another graph under the same name.
      if (node === 0 ? after !== null : known !== null && known !== after) return invalidPageToken
      const names = returned < REMEMBERED ? Array.from(shown, (one) => nameOf(snapshot, one)) : null
      for (const id of names ?? namesOf(snapshot, shown)) ids.push(String(id))
    }
    const left = this.windows.every(({ isComplete }) => isComplete) ? nodes.length : null
    for (const { policy, list } of this.toKeep) this.keptAs = parts.searchCache.set(this.keptAs, policy, list)
    if (left === ids.length) parts.searchCache.delete(cacheKey)
    return ok(pageOfNodes(parts, cut, ids, left, { node: shown.at(-1) ?? node, cacheKey: this.keptAs }))
  }
}

/** A node that was not read before takes some microseconds. */
const STEPS_OF_READ = 2

function nameOf(snapshot: Snapshot, node: NodeId): unknown {
  chargeItems(STEPS_OF_READ)
  return snapshot.nodeField(node, 'external_id')
}

/** Nodes whose names are read at once. */
const READ_AT_ONCE = 256

function* namesOf(snapshot: Snapshot, nodes: Uint32Array): Generator<unknown> {
  for (let at = 0; at < nodes.length; at += READ_AT_ONCE) {
    const part = nodes.subarray(at, at + READ_AT_ONCE)
    chargeItems(part.length * STEPS_OF_READ)
    yield* snapshot.externalIds(part)
  }
}

function stampsOf(ask: SearchTask): string {
  return Array.from(searchedGraphs(ask), ({ version }) => `${version.writer}.${version.commit}`).join(' ')
}

/** The first place at which nothing is below `node`. */
function placeIn(nodes: Uint32Array, node: NodeId): number {
  let low = 0
  let high = nodes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((nodes[middle] ?? 0) < node) low = middle + 1
    else high = middle
  }
  return low
}

/** Ascending, each once. */
function together(lists: readonly Uint32Array[]): Uint32Array {
  const filled = lists.filter(({ length }) => length > 0)
  if (filled.length <= 1) return filled[0] ?? new Uint32Array(0)
  const all = new Uint32Array(filled.reduce((sum, { length }) => sum + length, 0))
  let length = 0
  for (const list of filled) {
    all.set(list, length)
    length += list.length
  }
  sortIds(all)
  length = 0
  for (let i = 0; i < all.length; i++) if (all[i] !== all[i - 1]) all[length++] = all[i] ?? 0
  return all.subarray(0, length)
}
