// The configuration kinds of a project's environment: projects, applications and application agents.
import { z } from 'zod'
import { boltHost, isVerified } from '../kernel/bolt-address.ts'
import { type ApiPermission, apiPermissions } from '../kernel/request/caller.ts'
import { pageTokenCounts } from '../kernel/request/page-token-counts.ts'
import { err, ok } from '../kernel/result.ts'
import { connectionChangeErrors, keepsDatabases } from './database-places.ts'
import { dbConnection, layoutOf, parseLayout, serverUrls } from './db-connection.ts'
import { defineKind, field, shown } from './define-kind.ts'
import {
  applicationAgentsKind,
  applicationsKind,
  type ConfigKind,
  type ConfigReader,
  type DocumentFields,
  organizationsKind,
  projectsKind,
  type StoredDocument,
} from './kind.ts'
import { ikgStatus, type Provisioning } from './provisioning.ts'
import type { SystemGraph } from './system-nodes.ts'

/** Collaborators of the side effects of these kinds. */
export interface ProjectKindsDeps {
  readonly reader: ConfigReader
  readonly systemGraph: SystemGraph
  readonly provisioning: Provisioning
  /** Why the service may not connect to a host, for the writer of a configuration; null: it may. */
  hostError(host: string, isVerified: boolean): string | null
  /** Several instances share the configuration, so a graph in the data folder of one cannot be used. */
  readonly isShared: boolean
}

/** The kinds `projects`, `applications` and `application-agents`. */
export function projectKinds(parts: ProjectKindsDeps): ConfigKind[] {
  return [projects(parts), applications(parts), applicationAgents(parts)]
}

const region = z
  .string()
  .min(2)
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]*$/, { error: 'expected letters, digits and hyphens' })

const tokenCount = z.enum(pageTokenCounts).meta({ id: 'PageTokenCounts' })
const tokenCounts = tokenCount.describe(
  'what `page_token` of `POST /contx-iq/v1/execute` counts: `rows` to skip (the default), or `pages` from 1',
)

const ikgSize = z
  .enum(['2GB', '4GB', '8GB', '16GB', '32GB', '64GB', '128GB', '192GB', '256GB', '384GB', '512GB'])
  .meta({ id: 'IkgSize' })

const DEFAULT_SIZE = '2GB'

function projects({ provisioning, hostError, isShared }: ProjectKindsDeps): ConfigKind {
  return defineKind({
    path: projectsKind,
    label: 'project',
    parent: { field: 'organization_id', kind: organizationsKind },
    inOrganization: true,
    fields: {
      region: field(region).required().fixed(),
      ikg_size: field(ikgSize).fixed().storedDefault(DEFAULT_SIZE),
      replica_region: field(region).fixed(),
      db_connection: field(dbConnection).secret({
        at: 'password',
        // A database may be the URL of another server, which gets the same password.
        sentTo: [
          'db_connection.url',
          'db_connection.name',
          'db_connection.composite_db_name',
          'db_connection.alias_mapping',
        ],
      }),
      page_token_counts: field(tokenCounts).default('rows'),
      ikg_status: shown(z.enum(['PENDING', 'ACTIVE', 'FAILED'])),
    },
    beforeUpdate(project, body) {
      if (body.db_connection === undefined || hasNoGraph(project)) return Promise.resolve()
      // The password of the server may have changed: then the graph cannot be opened with the old one.
      return keepsDatabases(project.fields, body) ? Promise.resolve() : provisioning.open(project.id, body)
    },
    check(fields, { current }) {
      if (fields.replica_region === fields.region) {
        return err({ kind: 'invalid', issues: ['replica_region: expected another region than `region`'] })
      }
      const refused = serverUrls(fields).flatMap(({ path, url }) => {
        const reason = hostError(boltHost(url), isVerified(url))
        return reason === null ? [] : [`${path}: ${reason}`]
      })
      if (refused.length > 0) return err({ kind: 'invalid', issues: refused })
      if (isShared && parseLayout(fields).isInServer !== true) {
        const issue =
          'db_connection: expected a database server, because several instances share this configuration (setting `config_store`)'
        return err({ kind: 'invalid', issues: [issue] })
      }
      if (current !== null) {
        const issues = connectionChangeErrors(
          current.fields,
          fields,
          (constituent) => !hasNoGraph(current) && provisioning.holdsData(current.id, constituent),
        )
        return issues.length > 0 ? err({ kind: 'invalid', issues }) : ok({ fields })
      }
      return ok({ fields: { ...fields, ikg_size: fields.ikg_size ?? DEFAULT_SIZE, ikg_status: 'PENDING' } })
    },
    effects: {
      // Provisioning subscribes to created and changed projects and does the rest.
      changed: (project) => provisioning.prepare(project.id),
      deleted: (project) => provisioning.drop(project.id),
    },
  })
}

/** A project whose database server has not been reached yet holds nothing there, and must be mended even so. */
function hasNoGraph(project: StoredDocument): boolean {
  return layoutOf(project).isInServer === true && project.fields.ikg_status !== 'ACTIVE'
}

function applications({ reader, systemGraph }: ProjectKindsDeps): ConfigKind {
  return defineKind({
    path: applicationsKind,
    label: 'application',
    fields: {},
    check: (fields) => ok({ fields }),
    // While a project is PENDING, provisioning writes its system nodes.
    effects: {
      async created({ id, project_id }) {
        if (reader.get(applicationsKind, id) === null || ikgStatus(reader, project_id) !== 'ACTIVE') return
        await systemGraph.putApplication(project_id, id)
      },
      async deleted({ id, project_id }) {
        if (ikgStatus(reader, project_id) === 'ACTIVE') await systemGraph.deleteApplication(project_id, id)
      },
    },
  })
}

const agentTokenCounts = tokenCount.describe('as `page_token_counts` of the project, for this agent; it wins')

const permission = z.enum(apiPermissions).meta({ id: 'ApiPermission' })
// `IKGRead` is retired. It is accepted (docs/decisions/0012-configuration-resources.md), and it is not documented.
const permissions = z.array(z.enum([...apiPermissions, 'IKGRead']).meta({ documentedAs: permission })).min(1)

function applicationAgents({ reader, systemGraph }: ProjectKindsDeps): ConfigKind {
  return defineKind({
    path: applicationAgentsKind,
    label: 'application agent',
    parent: { field: 'application_id', kind: applicationsKind },
    fields: {
      api_permissions: field(permissions).required(),
      page_token_counts: field(agentTokenCounts).update(
        z
          .enum([...pageTokenCounts, ''])
          .meta({ id: 'PageTokenCountsUpdate' })
          .nullish()
          .describe('an empty string removes it: then the project decides'),
      ),
    },
    check: (fields) => ok({ fields: withPermissions(fields) }),
    effects: {
      async created({ id, parent_id, project_id }) {
        if (reader.get(applicationAgentsKind, id) === null || ikgStatus(reader, project_id) !== 'ACTIVE') return
        await systemGraph.putAgent(project_id, parent_id, id)
      },
      async deleted({ id, project_id }) {
        if (ikgStatus(reader, project_id) === 'ACTIVE') await systemGraph.deleteAgent(project_id, id)
      },
    },
  })
}

/** The retired permission `IKGRead` is accepted and removed (docs/decisions/0012-configuration-resources.md). */
function withPermissions(fields: DocumentFields): DocumentFields {
  const requested = new Set(fields.api_permissions as readonly (ApiPermission | 'IKGRead')[])
  requested.delete('IKGRead')
  return { ...fields, api_permissions: [...requested] }
}
