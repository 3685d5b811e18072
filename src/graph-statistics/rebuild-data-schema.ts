// The request of existing clients to rebuild the data schema of a project. The schema is counted from the graph each time it
// is read, so there is nothing to rebuild: the request checks that the project has a graph, and says that it is up to date.
import { z } from 'zod'
import { type ConfigReader, projectsKind, reference } from '../config/kind.ts'
import { validate } from '../config/validate.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { ServiceAccountCaller } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** The body of the request. */
export const rebuildRequest = z.strictObject({ project_id: reference }).meta({ id: 'DataSchemaRebuild' })

/** The response. */
export const rebuildAnswer = z
  .strictObject({
    status: z.literal('UP_TO_DATE').describe('the next read of the data schema shows the graph as it is then'),
  })
  .meta({ id: 'DataSchemaRebuildAnswer' })
/** The response body. */
export type RebuildAnswer = z.infer<typeof rebuildAnswer>

/**
 * Checks that the project has a graph. `body`: parsed JSON, validated here.
 * Errors: `forbidden`, `invalid` (body, or no such project), `not-found` (no graph).
 */
export function rebuildDataSchema(
  documents: ConfigReader,
  { organizationId, role }: ServiceAccountCaller,
  body: unknown,
): Result<RebuildAnswer, ServiceError> {
  if (role !== 'all_editor') {
    return err({ kind: 'forbidden', message: `the role \`${role}\` may not rebuild data schemas` })
  }
  const read = validate(rebuildRequest, body)
  if (!read.ok) return err({ kind: 'invalid', issues: read.error })
  const { project_id } = read.value
  const project = documents.get(projectsKind, project_id)
  if (project?.organization_id !== organizationId) {
    return err({ kind: 'invalid', issues: [`project_id: no project \`${project_id}\``] })
  }
  return project.fields.ikg_status === 'ACTIVE' ? ok({ status: 'UP_TO_DATE' }) : graphNotFound
}
