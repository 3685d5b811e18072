// Writes the items of one capture request: one transaction for each graph, all or nothing, answered when it is durable.
// Graphs have no common transaction. If a batch spans several, missing nodes are looked up in all of them before the
// first write, and an interrupted batch is completed by repeating it. See docs/decisions/0003-capture-semantics.md.
import { readGraphNow } from '../engine/read-graph.ts'
import type { GraphStore, NodeKey, WriteBatch } from '../engine/store.ts'
import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { asWarnings, type TypeComparison } from '../model/declared-types.ts'
import type { StoredModel } from '../model/stored-model.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { CaptureElement, CaptureEventBatch, CaptureEventRecorder, CaptureEvents } from './capture-events.ts'
import type { BatchResult, MergedItem, SkippedItem } from './schema.ts'

/** Collaborators of captures. */
export interface CaptureDeps {
  /** Returns the graphs of a project; null while it is not provisioned, or after its deletion. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** The model of a project. Absent: no project has one. */
  readonly modelOf?: (projectId: string) => StoredModel
  /** Called after a durable write of items that the declared types do not allow, with their number. */
  readonly onUnfit?: (items: number) => void
  /** Called after a durable write, with the operation and the number of items. */
  readonly onCaptured?: (operation: string, items: number) => void
  /** Records the events of captures. Absent: no events are recorded. */
  readonly events?: CaptureEvents
}

/** The ids of the items, or the error of the request. */
export type CaptureOutcome = Promise<Result<BatchResult, ServiceError>>

/** One item of a request. */
export interface CaptureItem {
  readonly graph: GraphStore
  /** The element that the item writes. */
  readonly element: CaptureElement
  /** What the declared types of the project do not allow of the request, before anything is written. */
  faults?(): readonly string[]
  /** True: an earlier item of the batch with the same element is named in the answer, because this one changes it. */
  readonly isUpsert?: boolean
  /** Applies the item. Returns the global id of the element; null if nodes that it needs are missing. */
  apply(batch: WriteBatch): string | null
  /** Returns the missing nodes. `has` looks into the item's graph. */
  missing?(has: (key: NodeKey) => boolean): readonly MissingEnd[]
}

/** An end node that does not exist. */
interface MissingEnd {
  readonly end: SkippedItem['missing'][number]
  /** The issue for the response. */
  readonly issue: string
}

/** How items with missing nodes are treated. `refuse`: nothing of the batch is written. */
type MissingNodesMode = 'refuse' | 'skip'

/** How the items of a request are compared with the declared types of the project. */
export interface ItemComparison extends TypeComparison {
  /** The member of the body that lists the items, for issues. */
  readonly member: 'nodes' | 'relationships'
}

/**
 * Writes the items and returns one id per item, in their order; the id is empty if there was nothing to do. Error:
 * `invalid` if nodes are missing and `mode` is `refuse`, or if an item does not fit closed types; then nothing was written. Rejects if a
 * graph cannot be written. `recorder`: records the events; null: no events are recorded. `comparison`: null: the project declares no
 * types, or the operation cannot break one.
 */
export async function applyItems(
  items: readonly CaptureItem[],
  recorder: CaptureEventRecorder | null,
  mode: MissingNodesMode = 'refuse',
  comparison: ItemComparison | null = null,
): CaptureOutcome {
  const unfit: (readonly string[])[] = []
  const groups = new Map<GraphStore, number[]>()
  items.forEach(({ graph }, index) => {
    const group = groups.get(graph)
    if (group === undefined) groups.set(graph, [index])
    else group.push(index)
  })
  const missing = groups.size > 1 && mode === 'refuse' ? findMissing(items) : []
  if (missing.length > 0) return err({ kind: 'invalid', issues: missing })
  if (comparison?.types.isClosed === true && groups.size > 1) {
    // Graphs have no common transaction, so all that is known before a write is refused before it.
    const issues = items.flatMap((item, index) => withPlace(comparison, index, item.faults?.() ?? []))
    if (issues.length > 0) return err({ kind: 'invalid', issues: asWarnings(issues) })
  }
  const ids: string[] = []
  const skipped: SkippedItem[] = []
  try {
    for (const [graph, indices] of groups) {
      const written = await graph.write((batch) => {
        const events = recorder?.batch(batch) ?? null
        const group = applyGroup(batch, events, items, indices, mode)
        const faults = comparison === null ? [] : unfitItems(batch, comparison, items, indices)
        events?.end()
        return { ...group, faults }
      })
      unfit.push(...written.faults)
      indices.forEach((index, at) => {
        ids[index] = written.ids[at]!
      })
      skipped.push(...written.skipped)
    }
  } catch (error) {
    if (error instanceof InvalidItemsError) return err({ kind: 'invalid', issues: error.issues })
    throw error
  }
  const results = ids.map((id) => ({ id }))
  const merged = mergedItems(items, ids)
  if (unfit.length > 0) comparison?.onUnfit?.(unfit.length)
  return ok({
    results,
    ...(unfit.length === 0 ? {} : { warnings: [...asWarnings(unfit.flat())] }),
    ...(mode === 'skip' ? { skipped: skipped.sort((a, b) => a.index - b.index) } : {}),
    ...(merged.length === 0 ? {} : { merged }),
  })
}

/** For each item that the declared types do not allow, its faults. Throws InvalidItemsError if the types are closed. */
function unfitItems(
  batch: WriteBatch,
  comparison: ItemComparison,
  items: readonly CaptureItem[],
  indices: readonly number[],
): readonly (readonly string[])[] {
  const unfit = indices.flatMap((index) => {
    const faults = comparison.types.written(batch, items[index]!.element.key)
    return faults.length === 0 ? [] : [withPlace(comparison, index, faults)]
  })
  if (unfit.length > 0 && comparison.types.isClosed) throw new InvalidItemsError(asWarnings(unfit.flat()))
  return unfit
}

function withPlace({ member }: ItemComparison, index: number, faults: readonly string[]): readonly string[] {
  return faults.map((fault) => `${member}[${index}]: ${fault}`)
}

function mergedItems(items: readonly CaptureItem[], ids: readonly string[]): MergedItem[] {
  const firstIndices = new Map<string, number>()
  const merged: MergedItem[] = []
  ids.forEach((id, index) => {
    if (id === '' || items[index]!.isUpsert !== true) return
    const first = firstIndices.get(id)
    if (first === undefined) firstIndices.set(id, index)
    else merged.push({ index, into: first })
  })
  return merged
}

interface WrittenGroup {
  readonly ids: readonly string[]
  readonly skipped: readonly SkippedItem[]
}

function applyGroup(
  batch: WriteBatch,
  events: CaptureEventBatch | null,
  items: readonly CaptureItem[],
  indices: readonly number[],
  mode: MissingNodesMode,
): WrittenGroup {
  const issues: string[] = []
  const skipped: SkippedItem[] = []
  const ids = indices.map((index) => {
    const applied = applyItem(batch, events, items[index]!)
    if (typeof applied === 'string') return applied
    if (mode === 'skip') skipped.push({ index, missing: applied.map(({ end }) => end) })
    else issues.push(...applied.map(({ issue }) => issue))
    return ''
  })
  if (issues.length > 0) throw new InvalidItemsError(issues)
  return { ids, skipped }
}

/** Returns the id, empty if there was nothing to do, or the missing nodes. */
function applyItem(
  batch: WriteBatch,
  events: CaptureEventBatch | null,
  item: CaptureItem,
): string | readonly MissingEnd[] {
  const apply = (): string | null =>
    events === null ? item.apply(batch) : events.apply(item.element, () => item.apply(batch))
  const id = apply()
  if (id !== null || item.missing === undefined) return id ?? ''
  const missing = item.missing((key) => batch.findNode(key) !== 0)
  if (missing.length > 0) return missing
  // An end node in another graph was created in between.
  const retried = apply()
  assert(retried !== null, 'an item without missing nodes is applied')
  return retried
}

function findMissing(items: readonly CaptureItem[]): string[] {
  return items.flatMap((item) => item.missing?.((key) => hasNode(item.graph, key)) ?? []).map(({ issue }) => issue)
}

/** Returns whether a node exists in a graph. */
export function hasNode(graph: GraphStore, { type, externalId }: NodeKey): boolean {
  return readGraphNow(graph, (snapshot) => {
    const label = snapshot.symbol('label', type)
    return label !== 0 && snapshot.findNode(label, externalId) !== 0
  })
}

/** Thrown inside the transaction, so that the whole batch is rolled back. */
class InvalidItemsError extends Error {
  override readonly name = 'InvalidItemsError'
  readonly issues: readonly string[]
  constructor(issues: readonly string[]) {
    super('the batch has items that cannot be written')
    this.issues = issues
  }
}
