// A service in this process, with projects that differ only in their event sinks. Nothing delivers their events.
import { type App, createApp } from '../../src/app.ts'
import type { AgentCaller } from '../../src/kernel/request/caller.ts'
import { defaultSettings, type Settings } from '../../src/settings.ts'
import { owns } from '../ownership-graph.ts'

/** A route of the only provider of a sink. */
export interface BenchRoute {
  readonly type: string
  /** Context keys and the values that the route requires. */
  readonly context?: Readonly<Record<string, string>>
}

/** The event sink of a project. */
export interface BenchSink {
  readonly routes: readonly BenchRoute[]
  /** Change data capture is sent too. */
  readonly hasChanges?: boolean
}

/** A project of a service in this process. */
export interface EventBenchProject {
  readonly app: App
  /** An agent that may capture and decide. */
  readonly caller: AgentCaller
  /** Replaces the event sink; null: the project has none. Events that are not delivered are dropped. */
  setSink(sink: BenchSink | null): Promise<void>
}

/** Nothing is sent: it has no dispatcher. */
const provider = {
  queue_service: { queueOrTopicName: 'events', connectionString: 'Endpoint=sb://bus.example.org/;Key=k' },
}

/**
 * Opens a service on a folder, with a project and a policy (`open`: one hop, see `owns`). Commits are not flushed to disk. Nothing
 * is in the audit log, unless `settings` has it.
 */
export async function openEventBench(dataDir: string, settings: Partial<Settings> = {}): Promise<EventBenchProject> {
  const app = await createApp(
    { ...defaultSettings, audit: 'off' as const, port: 0, ...settings, dataDir },
    { sync: false, log: () => undefined },
  )
  const { url } = await app.listen()
  const authorization = `Bearer ${await app.issueAdminToken(3600)}`
  const call = async (method: string, path: string, body?: object): Promise<Record<string, string>> => {
    const response = await fetch(`${url}/configs/v1/${path}`, {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  const create = async (kind: string, body: object): Promise<string> => (await call('POST', kind, body)).id as string
  const { organizationId: organization_id } = app
  const projectId = await create('projects', { organization_id, name: 'bench', region: 'local' })
  while ((await call('GET', `projects/${projectId}`)).ikg_status !== 'ACTIVE') await Bun.sleep(5)
  const applicationId = await create('applications', { project_id: projectId, name: 'bench' })
  const permissions = ['Authorization', 'Capture'] as const
  const agent = { application_id: applicationId, name: 'bench', api_permissions: permissions }
  const agentId = await create('application-agents', agent)
  const policy = JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: ['open'],
    resource: { type: 'Document' },
    condition: { cypher: owns },
  })
  await create('authorization-policies', { project_id: projectId, name: 'bench', policy, status: 'ACTIVE' })
  let sinkId: string | null = null
  return {
    app,
    caller: { kind: 'agent', agentId, applicationId, projectId, permissions: new Set(permissions), user: null },
    async setSink(sink) {
      if (sinkId !== null) await call('DELETE', `event-sinks/${sinkId}`)
      sinkId = sink && (await create('event-sinks', sinkBody(projectId, sink)))
    },
  }
}

function sinkBody(project_id: string, { routes, hasChanges = false }: BenchSink): object {
  return {
    project_id,
    name: 'bench',
    providers: { main: { ...provider, ...(hasChanges && { include_cdc_events: true }) } },
    routes: routes.map(({ type, context = {} }) => ({
      provider_id: 'main',
      event_type_key_values_filter: {
        event_type: type,
        context_key_value: Object.entries(context).map(([key, value]) => ({ key, value })),
      },
    })),
  }
}
