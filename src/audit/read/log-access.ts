// Which log a caller may read: an agent that of its project, a service account those of its organization, also of deleted projects.
import { type ConfigReader, projectsKind } from '../../config/kind.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { isGid } from '../../kernel/ids.ts'
import type { Caller } from '../../kernel/request/caller.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { AuditLog } from '../../store/audit/audit-types.ts'

/** Collaborators of the check. */
export interface LogAccessDeps {
  readonly documents: ConfigReader
  /** The organization of the data folder, to which logs of deleted projects belong. */
  readonly organizationId: string
  /** The name of the folder of a log. */
  logId(owner: string): string
}

const notOwnProject: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: 'an application agent may read only the audit log of its own project',
})
const notOwnOrganization: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: 'a service account may read only the audit logs of its organization and its projects',
})
const deletedProject: Result<never, ServiceError> = err({ kind: 'not-found', message: 'the project was deleted' })

/**
 * Checks that a caller may read the log of a project or organization. Returns its id. `find`: reads a log by its id.
 * Errors: `forbidden`, also if the project does not exist, so that its existence is not revealed; `not-found` for an agent of a
 * deleted project.
 */
export function readableLog(
  { documents, organizationId, logId }: LogAccessDeps,
  caller: Caller,
  owner: string,
  find: (id: string) => AuditLog | null,
): Result<string, ServiceError> {
  if (caller.kind === 'agent') {
    if (owner !== caller.projectId) return notOwnProject
    return documents.get(projectsKind, owner) === null ? deletedProject : ok(logId(owner))
  }
  if (!isGid(owner)) return notOwnOrganization
  const id = logId(owner)
  if (owner === caller.organizationId) return ok(id)
  const project = documents.get(projectsKind, owner)
  if (project !== null) return project.organization_id === caller.organizationId ? ok(id) : notOwnOrganization
  const isOfDeleted = caller.organizationId === organizationId && find(id)?.kind === 'project'
  return isOfDeleted ? ok(id) : notOwnOrganization
}
