// Writes the items of one capture request: one transaction for each graph, all or nothing, answered when it is durable.
// Graphs have no common transaction. If a batch spans several, missing nodes are looked up in all of them before the
// first write, and an interrupted batch is completed by repeating it. See docs/decisions/0003-capture-semantics.md.
import type { GraphStore, NodeKey, WriteBatch } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { BatchResult } from './schema.ts'

/** Collaborators of captures. */
export interface CaptureDeps {
  /** Returns the graphs of a project; null while it is not provisioned, or after its deletion. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** Called after a durable write, with the operation and the number of items. */
  readonly onCaptured?: (operation: string, items: number) => void
}

/** The ids of the items, or the error of the request. */
export type CaptureOutcome = Promise<Result<BatchResult, ServiceError>>

/** One item of a request. */
export interface CaptureItem {
  readonly graph: GraphStore
  /** Applies the item. Returns the global id of the element; null if nodes that it needs are missing. */
  apply(batch: WriteBatch): string | null
  /** Returns an issue for each missing node. `has` looks into the item's graph. */
  missing?(has: (key: NodeKey) => boolean): readonly string[]
}

/**
 * Writes the items and returns one id per item, in their order. Error: `invalid` if nodes are missing; then nothing was
 * written. Rejects if a graph cannot be written.
 */
export async function applyItems(items: readonly CaptureItem[]): CaptureOutcome {
  const groups = new Map<GraphStore, number[]>()
  items.forEach(({ graph }, index) => {
    const group = groups.get(graph)
    if (group === undefined) groups.set(graph, [index])
    else group.push(index)
  })
  const missing = groups.size > 1 ? findMissing(items) : []
  if (missing.length > 0) return err({ kind: 'invalid', issues: missing })
  const ids: string[] = []
  try {
    for (const [graph, indices] of groups) {
      const written = await graph.write((batch) => applyGroup(batch, items, indices))
      indices.forEach((index, at) => {
        ids[index] = written[at]!
      })
    }
  } catch (error) {
    if (error instanceof MissingNodesError) return err({ kind: 'invalid', issues: error.issues })
    throw error
  }
  return ok({ results: ids.map((id) => ({ id })) })
}

function applyGroup(batch: WriteBatch, items: readonly CaptureItem[], indices: readonly number[]): string[] {
  const missing: string[] = []
  const ids = indices.map((index) => {
    const item = items[index]!
    const id = item.apply(batch)
    if (id === null) missing.push(...(item.missing?.((key) => batch.findNode(key) !== 0) ?? []))
    return id ?? ''
  })
  if (missing.length > 0) throw new MissingNodesError(missing)
  return ids
}

function findMissing(items: readonly CaptureItem[]): string[] {
  return items.flatMap((item) => item.missing?.((key) => hasNode(item.graph, key)) ?? [])
}

/** Returns whether a node exists in a graph. */
export function hasNode(graph: GraphStore, { type, externalId }: NodeKey): boolean {
  const snapshot = graph.snapshot()
  try {
    const label = snapshot.symbol('label', type)
    return label !== 0 && snapshot.findNode(label, externalId) !== 0
  } finally {
    snapshot.close()
  }
}

/** Thrown inside the transaction, so that the whole batch is rolled back. */
class MissingNodesError extends Error {
  override readonly name = 'MissingNodesError'
  readonly issues: readonly string[]
  constructor(issues: readonly string[]) {
    super('end nodes are missing')
    this.issues = issues
  }
}
