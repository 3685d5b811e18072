// The node of a token's subject, made at its first use and kept in step with the mapped claims (`perform_upsert`). Writes
// only what differs, so a token that says nothing new costs a look.
import type { GraphStore, NodeId, PropertyInput, Snapshot } from '../engine/store.ts'
import { fitsInt64 } from '../engine/value/arithmetic.ts'
import { equivalent } from '../engine/value/compare.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import type { Claims } from '../kernel/caller.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'

export interface UserNode {
  readonly type: string
  readonly externalId: string
  /** Names of properties. */
  readonly claims: Claims
  /** Who says so: recorded with each property. */
  readonly source: string
}

/** Rejects with LaneRequiredError where the node has to be written and `writes` is false. */
export async function upsertUserNode(graph: GraphStore, user: UserNode, writes: boolean): Promise<void> {
  const news = changedProperties(graph, user)
  if (news === null) return
  if (!writes) throw new LaneRequiredError('the node of the user is written')
  const { type, externalId } = user
  await graph.write((batch) => batch.upsertNode({ type, externalId, isIdentity: true, properties: news }))
}

/** The properties to write; null: nothing is to be written. */
function changedProperties(graph: GraphStore, user: UserNode): readonly PropertyInput[] | null {
  const snapshot = graph.snapshot()
  try {
    const node = snapshot.findNode(snapshot.symbol('label', user.type), user.externalId)
    const news: PropertyInput[] = []
    for (const [name, claim] of Object.entries(user.claims)) {
      const value = propertyValueOf(claim)
      if (value === null || hasProperty(snapshot, node, name, value)) continue
      news.push({ name, value, metadata: { source: user.source } })
    }
    const known = node !== 0 && snapshot.nodeField(node, 'is_identity') === true
    return known && news.length === 0 ? null : news
  } finally {
    snapshot.close()
  }
}

function hasProperty(snapshot: Snapshot, node: NodeId, name: string, value: PropertyValue): boolean {
  if (node === 0) return false
  const present = snapshot.nodeProperty(node, snapshot.symbol('property', name))
  return present !== null && equivalent(present, value)
}

/** Null: an object, a mixed list or an integer beyond 64 bits, which is no property. */
function propertyValueOf(claim: unknown): PropertyValue | null {
  const isList = Array.isArray(claim)
  const items: readonly unknown[] = isList ? claim : [claim]
  const kinds = new Set(items.map((item) => (typeof item === 'bigint' ? 'number' : typeof item)))
  if (kinds.size > 1 || !items.every(isScalar)) return null
  return fromJson(claim) as PropertyValue
}

function isScalar(item: unknown): boolean {
  if (typeof item === 'bigint') return fitsInt64(item)
  return typeof item === 'number' ? Number.isFinite(item) : typeof item === 'string' || typeof item === 'boolean'
}
