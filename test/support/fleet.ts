// A project on a served folder with an agent, made over HTTP with the token of a service account.
import type { Server } from './cli-process.ts'

/** Calls the configuration API. Rejects with an answer that is not a success. */
export async function configure(
  server: Pick<Server, 'url'>,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await fetch(`${server.url}/configs/v1/${path}`, { method, headers, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Creates a project, waits until it is provisioned, and creates an agent with the permissions. `fields`: further ones of the project. */
export async function createFleet(
  server: Pick<Server, 'url'>,
  token: string,
  organization_id: string,
  permissions: readonly string[] = ['Capture'],
  fields: object = {},
) {
  const call = (method: string, path: string, body?: object) => configure(server, token, method, path, body)
  const project = await call('POST', 'projects', { organization_id, name: 'fleet', region: 'local', ...fields })
  while ((await call('GET', `projects/${project.id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(10)
  const application = await call('POST', 'applications', { project_id: project.id, name: 'shop' })
  const agent = { application_id: application.id, name: 'agent', api_permissions: permissions }
  const application_agent_id = (await call('POST', 'application-agents', agent)).id
  const { api_key } = await call('POST', 'application-agent-credentials', { application_agent_id })
  return { projectId: project.id as string, key: api_key as string, configure: call }
}
