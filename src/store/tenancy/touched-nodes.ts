// Collects the nodes that a batch of a constituent changes, and stores an intent for those whose proxies may change.
import type { NodeKey } from '../../engine/store.ts'
import type { IntentEdits } from '../graph/intents.ts'

/** The nodes that one batch has written or deleted. */
export class TouchedNodes {
  /** Number of the stored intent; null if none was needed. */
  intent: number | null = null
  private readonly byKey = new Map<string, NodeKey>()
  /** The subset of nodes that were created, deleted, or given a location. */
  private readonly moved = new Map<string, NodeKey>()

  /** Records a node. `moved`: it was created, deleted, or given a location, so that its proxy changes. */
  add({ type, externalId }: NodeKey, moved: boolean): void {
    const name = `${type}\0${externalId}`
    const key = { type, externalId }
    this.byKey.set(name, key)
    if (moved) this.moved.set(name, key)
  }

  /** All recorded nodes. */
  get keys(): readonly NodeKey[] {
    return [...this.byKey.values()]
  }

  /** Stores an intent for the moved nodes with the batch. */
  putIntent(intents: IntentEdits): void {
    if (this.moved.size === 0) return
    this.intent = crypto.getRandomValues(new Uint32Array(1))[0]!
    intents.put(this.intent, JSON.stringify([...this.moved.values()].map(({ type, externalId }) => [type, externalId])))
  }
}

/** The nodes of a stored intent. */
export function readIntent(text: string): NodeKey[] {
  return (JSON.parse(text) as [string, string][]).map(([type, externalId]) => ({ type, externalId }))
}
