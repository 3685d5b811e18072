// Creates the node of a token's subject at its first use and updates its mapped claims (`perform_upsert`). Writes only
// what differs, so a token without changes costs one lookup.

import { unlimitedBudget } from '../engine/budget.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { GraphStore, NodeId, PropertyInput, Snapshot } from '../engine/store.ts'
import { canonicalProperty } from '../engine/value/canonical-property.ts'
import { equivalent } from '../engine/value/compare.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import type { Claims } from '../kernel/request/caller.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'

/** The node of a token's subject. */
export interface UserNode {
  readonly type: string
  readonly externalId: string
  /** Claims by property name. */
  readonly claims: Claims
  /** Recorded as the source of each property. */
  readonly source: string
}

/** Writes the node if it differs. Rejects with LaneRequiredError if a write is needed and `writes` is false. */
export async function upsertUserNode(graph: GraphStore, user: UserNode, writes: boolean): Promise<void> {
  const changes = await readGraph(graph, (snapshot) => changedProperties(snapshot, user))
  if (changes === null) return
  if (!writes) throw new LaneRequiredError('the node of the user is written')
  const { type, externalId } = user
  await graph.write((batch) => batch.upsertNode({ type, externalId, isIdentity: true, properties: changes }))
}

/** The properties to write; null: nothing has changed. */
function changedProperties(snapshot: Snapshot, user: UserNode): readonly PropertyInput[] | null {
  const node = snapshot.findNode(snapshot.symbol('label', user.type), user.externalId)
  const changes: PropertyInput[] = []
  for (const [name, claim] of Object.entries(user.claims)) {
    const value = propertyValueOf(claim)
    if (value === null || hasProperty(snapshot, node, name, value)) continue
    changes.push({ name, value, metadata: { source: user.source } })
  }
  const exists = node !== 0 && snapshot.nodeField(node, 'is_identity') === true
  return exists && changes.length === 0 ? null : changes
}

function hasProperty(snapshot: Snapshot, node: NodeId, name: string, value: PropertyValue): boolean {
  if (node === 0) return false
  const present = snapshot.nodeProperty(node, snapshot.symbol('property', name))
  return present !== null && equivalent(unlimitedBudget(), present, value)
}

/** Returns null for a value that cannot be a property: an object, a mixed list, or an integer beyond 64 bits. */
function propertyValueOf(claim: unknown): PropertyValue | null {
  const canonical = canonicalProperty(claim)
  return canonical.ok ? canonical.value : null
}
