// Checks that the global graph of a composite project has exactly one proxy for each node of the constituents.
import { createChunk, type NodeId, type NodeKey, type Snapshot } from '../../engine/store.ts'
import type { LmdbEnvironment } from '../graph/environment.ts'
import { identityOf } from './composite.ts'

const FINDINGS_MAX = 100

/** Returns all inconsistencies as sentences. Writes in progress may be reported as inconsistencies. */
export function checkProxies(global: LmdbEnvironment, constituents: readonly LmdbEnvironment[]): string[] {
  const findings: string[] = []
  const report = (finding: string): void => void (findings.length < FINDINGS_MAX && findings.push(finding))
  const proxies = global.wholeSnapshot()
  const snapshots = constituents.map((constituent) => constituent.wholeSnapshot())
  try {
    for (const snapshot of snapshots) {
      for (const { key } of keyedNodes(snapshot)) {
        if (identityOf(proxies, key) === null) report(`${nameOf(key)} has no proxy`)
      }
    }
    for (const { id, key } of keyedNodes(proxies)) {
      const proxy = identityOf(proxies, key)
      const node = snapshots.map((snapshot) => identityOf(snapshot, key)).find((found) => found?.gid === proxy?.gid)
      if (node === undefined || node === null) report(`${nameOf(key)} has a proxy but no node`)
      else if (node.location !== proxy?.location) report(`the proxy of ${nameOf(key)} has a wrong location`)
      if (proxies.nodeProperties(id).size > 0 || proxies.labels(id).length !== 1) {
        report(`the proxy of ${nameOf(key)} has properties or further labels`)
      }
    }
  } finally {
    for (const snapshot of [proxies, ...snapshots]) snapshot.close()
  }
  return findings
}

function* keyedNodes(snapshot: Snapshot): Iterable<{ id: NodeId; key: NodeKey }> {
  const chunk = createChunk()
  for (let from = 0; ; from = chunk.next) {
    snapshot.allNodes(from, chunk)
    for (const id of chunk.ids.subarray(0, chunk.length)) {
      const type = snapshot.nodeField(id, 'type')
      const externalId = snapshot.nodeField(id, 'external_id')
      if (typeof type === 'string' && typeof externalId === 'string') yield { id, key: { type, externalId } }
    }
    if (!chunk.more) return
  }
}

function nameOf({ type, externalId }: NodeKey): string {
  return `${type} ${JSON.stringify(externalId)}`
}
