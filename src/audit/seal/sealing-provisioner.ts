// Deletes graphs of projects after their audit records are sealed.
import type { Provisioner } from '../../config/provisioning.ts'

/** The provisioner of the catalog, which deletes graphs after their records are sealed. */
export function sealingProvisioner(
  catalog: Provisioner,
  deleteGraphs: (projectId: string) => Promise<void>,
): Provisioner {
  return {
    create: (projectId, layout) => catalog.create(projectId, layout),
    delete: deleteGraphs,
    completeProxies: (projectId) => catalog.completeProxies(projectId),
    replayIntents: (projectId) => catalog.replayIntents(projectId),
    openAll: (projectId) => catalog.openAll(projectId),
    holdsData: (projectId, constituent) => catalog.holdsData(projectId, constituent),
  }
}
