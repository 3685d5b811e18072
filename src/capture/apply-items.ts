// The items of one request → one transaction for each graph that they are kept in, all or nothing (ruling G2), answered
// when it is on disk (G9). Graphs have no common transaction: where a batch spans several, what would refuse an item is
// looked for in all of them before the first is written, and an interrupted batch is made whole by repeating it.

import type { GraphStore, NodeKey, WriteBatch } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { BatchResult } from './schema.ts'

export interface CaptureDeps {
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
  /** Told of what is on disk: by which call, and how many items. */
  readonly onCaptured?: (operation: string, items: number) => void
}

export interface CaptureItem {
  readonly graph: GraphStore
  /** The global id of what it touched; null when nodes that it needs are missing. */
  apply(batch: WriteBatch): string | null
  /** Of which nodes, in sentences. `has` looks into the item's graph. */
  missing?(has: (key: NodeKey) => boolean): readonly string[]
}

export const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

export async function applyItems(items: readonly CaptureItem[]): Promise<Result<BatchResult, ServiceError>> {
  const groups = new Map<GraphStore, number[]>()
  items.forEach(({ graph }, index) => {
    const group = groups.get(graph)
    if (group === undefined) groups.set(graph, [index])
    else group.push(index)
  })
  const missing = groups.size > 1 ? missingAnywhere(items) : []
  if (missing.length > 0) return err({ kind: 'invalid', issues: missing })
  const ids: string[] = []
  try {
    for (const [graph, indices] of groups) {
      const written = await graph.write((batch) => applyGroup(batch, items, indices))
      indices.forEach((index, at) => {
        ids[index] = written[at]!
      })
    }
  } catch (fault) {
    if (fault instanceof MissingNodesError) return err({ kind: 'invalid', issues: fault.issues })
    throw fault
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

function missingAnywhere(items: readonly CaptureItem[]): string[] {
  return items.flatMap((item) => item.missing?.((key) => hasNode(item.graph, key)) ?? [])
}

export function hasNode(graph: GraphStore, { type, externalId }: NodeKey): boolean {
  const snapshot = graph.snapshot()
  try {
    const label = snapshot.symbol('label', type)
    return label !== 0 && snapshot.findNode(label, externalId) !== 0
  } finally {
    snapshot.close()
  }
}

/** Thrown inside the transaction, so that nothing of the batch is written. */
class MissingNodesError extends Error {
  override readonly name = 'MissingNodes'
  readonly issues: readonly string[]
  constructor(issues: readonly string[]) {
    super('end nodes are missing')
    this.issues = issues
  }
}
