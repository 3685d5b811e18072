// The system nodes that the configuration maintains in a project's graph: one for each application and one for each
// agent.
import type { GraphStore } from '../engine/store.ts'
import { applicationAgentsKind, applicationsKind } from './kind.ts'

/** Label of application nodes. */
const applicationLabel = '_Application'
/** Label of agent nodes. */
const agentLabel = '_AppAgent'
/** Relationship type: (agent)-[:_AGENT_OF]->(application). */
const agentOfType = '_AGENT_OF'

/** Writes and deletes system nodes. Every operation is idempotent. */
export interface SystemGraph {
  /** Writes the node of an application. */
  putApplication(projectId: string, applicationId: string): Promise<void>
  /** Writes the node of an agent and its relationship to the application's node. */
  putAgent(projectId: string, applicationId: string, agentId: string): Promise<void>
  deleteApplication(projectId: string, applicationId: string): Promise<void>
  deleteAgent(projectId: string, agentId: string): Promise<void>
}

/**
 * `graphOf` returns the default graph of a provisioned project. `exists` reads the newest configuration. It is called
 * within the graph write: the graph write of a deletion follows its commit, so a node of a deleted document is either
 * not written or deleted afterwards.
 */
export function createSystemGraph(
  graphOf: (projectId: string) => Promise<GraphStore> | GraphStore,
  exists: (kind: 'applications' | typeof applicationAgentsKind, id: string) => boolean,
): SystemGraph {
  return {
    async putApplication(projectId, applicationId) {
      await (await graphOf(projectId)).write((batch) => {
        if (!exists(applicationsKind, applicationId)) return
        batch.upsertNode({ type: applicationLabel, externalId: applicationId })
      })
    },
    async putAgent(projectId, applicationId, agentId) {
      await (await graphOf(projectId)).write((batch) => {
        if (!exists(applicationAgentsKind, agentId)) return
        const source = { type: agentLabel, externalId: agentId }
        const target = { type: applicationLabel, externalId: applicationId }
        batch.upsertNode(source)
        // The application's own side effect may not have run yet.
        batch.upsertNode(target)
        batch.upsertRelationship({ source, type: agentOfType, target })
      })
    },
    async deleteApplication(projectId, applicationId) {
      await (await graphOf(projectId)).write((batch) =>
        batch.deleteNode({ type: applicationLabel, externalId: applicationId }),
      )
    },
    async deleteAgent(projectId, agentId) {
      await (await graphOf(projectId)).write((batch) => batch.deleteNode({ type: agentLabel, externalId: agentId }))
    },
  }
}
