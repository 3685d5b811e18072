// The nodes that the configuration keeps in a project's graph: one for each application and one for each agent.
import type { GraphStore } from '../engine/store.ts'

export const applicationLabel = '_Application'
export const agentLabel = '_AppAgent'
/** (agent)-[:_AGENT_OF]->(application) */
export const agentOfType = '_AGENT_OF'

/** All of it may be repeated. */
export interface SystemGraph {
  putApplication(projectId: string, applicationId: string): Promise<void>
  /** And its relationship to the application's node. */
  putAgent(projectId: string, applicationId: string, agentId: string): Promise<void>
  deleteApplication(projectId: string, applicationId: string): Promise<void>
  deleteAgent(projectId: string, agentId: string): Promise<void>
}

/**
 * `graphOf` gives the default graph of a project that is provisioned. `exists` looks at the newest configuration: it is
 * asked within the write, so that a removal by another process, whose own write follows its commit, has the last word.
 */
export function createSystemGraph(
  graphOf: (projectId: string) => Promise<GraphStore> | GraphStore,
  exists: (kind: 'applications' | 'application-agents', id: string) => boolean,
): SystemGraph {
  return {
    async putApplication(projectId, applicationId) {
      await (await graphOf(projectId)).write((batch) => {
        if (!exists('applications', applicationId)) return
        batch.upsertNode({ type: applicationLabel, externalId: applicationId })
      })
    },
    async putAgent(projectId, applicationId, agentId) {
      await (await graphOf(projectId)).write((batch) => {
        if (!exists('application-agents', agentId)) return
        const source = { type: agentLabel, externalId: agentId }
        const target = { type: applicationLabel, externalId: applicationId }
        batch.upsertNode(source)
        // An agent's link does not depend on what became of the application's own effect.
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
