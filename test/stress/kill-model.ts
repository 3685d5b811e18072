// The captures of the kill run, and the expected state afterwards: groups of items that always change together, so that
// an item that differs from its group reveals a partial batch.
import type { StoredProperty } from '../../src/engine/store.ts'
import type { Random } from '../generate/random.ts'

export const HOLDER = { type: 'Robot', external_id: 'holder' }
export const ITEM = 'Item'
export const GROUP_ITEMS = 25

/** The state of each item of a group. */
export interface GroupState {
  /** Null: the node does not exist. */
  readonly node: { readonly batch: string; readonly note: string | null; readonly source: string | null } | null
  /** The relationship from the holder; null: none. */
  readonly held: { readonly since: string | null } | null
}

export const NOTHING: GroupState = { node: null, held: null }

/** One batch: its endpoint, its body, and the state of the group once it is stored. */
export interface GroupStep {
  readonly path: string
  readonly body: object
  readonly after: GroupState
}

export function itemsOf(group: string): string[] {
  return Array.from({ length: GROUP_ITEMS }, (_, i) => `${group}-${i}`)
}

/** A batch that a group in this state can apply; `name` is part of the written values. */
export function stepFrom(state: GroupState, group: string, name: string, random: Random): GroupStep {
  const keys = itemsOf(group).map((external_id) => ({ type: ITEM, external_id }))
  const relationships = (more: object) => keys.map((target) => ({ source: HOLDER, type: 'HOLDS', target, ...more }))
  const { node, held } = state
  const put: GroupStep = {
    path: 'nodes',
    body: {
      nodes: keys.map((key) => ({
        ...key,
        properties: [
          { type: 'batch', value: name },
          { type: 'note', value: name, metadata: { source: name } },
        ],
      })),
    },
    after: { node: { batch: name, note: name, source: name }, held },
  }
  if (node === null) return put
  const join: GroupStep = {
    path: 'relationships',
    body: { relationships: relationships({ properties: [{ type: 'since', value: name }] }) },
    after: { node, held: { since: name } },
  }
  const steps: GroupStep[] = [put, join, join]
  steps.push({ path: 'nodes/delete', body: { nodes: keys }, after: NOTHING })
  steps.push({
    path: 'nodes/properties/delete',
    body: { nodes: keys.map((key) => ({ ...key, property_types: ['note'] })) },
    after: { node: { ...node, note: null, source: null }, held },
  })
  if (node.note !== null) {
    steps.push({
      path: 'nodes/properties/metadata/delete',
      body: { nodes: keys.map((key) => ({ ...key, property_type: 'note', metadata_fields: ['source'] })) },
      after: { node: { ...node, source: null }, held },
    })
  }
  if (held !== null) {
    steps.push({
      path: 'relationships/delete',
      body: { relationships: relationships({}) },
      after: { node, held: null },
    })
    steps.push({
      path: 'relationships/properties/delete',
      body: { relationships: relationships({ property_types: ['since'] }) },
      after: { node, held: { since: null } },
    })
  }
  return random.pick(steps)
}

/** A state as found in the store. */
export function stateOf(
  node: ReadonlyMap<string, StoredProperty> | null,
  held: ReadonlyMap<string, StoredProperty> | null,
): GroupState {
  return {
    node:
      node === null
        ? null
        : {
            batch: textOf(node.get('batch')) ?? '',
            note: textOf(node.get('note')),
            source: node.get('note')?.metadata?.source ?? null,
          },
    held: held === null ? null : { since: textOf(held.get('since')) },
  }
}

function textOf(property: StoredProperty | undefined): string | null {
  const value = property?.value
  return typeof value === 'string' ? value : null
}

export function isSame(one: GroupState, other: GroupState): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
