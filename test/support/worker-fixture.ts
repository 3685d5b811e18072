// A served folder with several workers, a project in it, and connections to a chosen worker.
import { runCommand, type Server, startServer } from './cli-process.ts'
import { connectionsTo, HttpConnection, type HttpReply } from './http-connection.ts'

export interface WorkerProject {
  readonly id: string
  readonly application: string
  readonly agent: string
  readonly credential: string
  readonly key: string
}

export interface WorkerFixture {
  readonly server: Server
  readonly organization: string
  readonly admin: Readonly<Record<string, string>>
  close(): Promise<void>
}

export async function startWorkers(
  data: string,
  workers: number,
  environment: Record<string, string> = {},
): Promise<WorkerFixture> {
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data, '--workers', String(workers)], environment)
  return {
    server,
    organization: organization_id,
    admin: { authorization: `Bearer ${token}` },
    async close() {
      const code = await server.kill('SIGTERM')
      if (code !== 0) throw new Error(`the server ended with ${code}`)
    },
  }
}

export function bodyOf(reply: HttpReply, status: number): Record<string, string> {
  if (reply.status !== status) throw new Error(`expected ${status}, got ${reply.status}: ${reply.body}`)
  return JSON.parse(reply.body)
}

/**
 * An ACTIVE project with an agent that may decide and capture, created over that connection; `members` are more members
 * of the project.
 */
export async function makeProject(
  fixture: WorkerFixture,
  line: HttpConnection,
  name: string,
  members: object = {},
): Promise<WorkerProject> {
  const create = async (kind: string, body: object) =>
    bodyOf(await line.request('POST', `/configs/v1/${kind}`, fixture.admin, body), 201)
  const { organization: organization_id } = fixture
  const id = (await create('projects', { organization_id, name, region: 'local', ...members })).id as string
  for (;;) {
    const read = bodyOf(await line.request('GET', `/configs/v1/projects/${id}`, fixture.admin), 200)
    if (read.ikg_status === 'ACTIVE') break
    if (read.ikg_status === 'FAILED') throw new Error('the project was not provisioned')
  }
  const application = (await create('applications', { project_id: id, name })).id as string
  const api_permissions = ['Authorization', 'Capture', 'ReadAuthZConfigs']
  const agent = (await create('application-agents', { application_id: application, name, api_permissions }))
    .id as string
  const credential = await create('application-agent-credentials', { application_agent_id: agent })
  return { id, application, agent, credential: credential.id as string, key: credential.api_key as string }
}

export function policyBody(project: WorkerProject, name: string, cypher: string, action = name) {
  const policy = JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions: [action],
    resource: { type: 'Page' },
    condition: { cypher },
  })
  return { project_id: project.id, name, policy, status: 'ACTIVE' }
}

export function capture(line: HttpConnection, project: WorkerProject, path: string, body: object): Promise<HttpReply> {
  return line.request('POST', `/capture/v1/${path}`, { 'x-svc-clientkey': project.key }, body)
}

export async function captured(
  line: HttpConnection,
  project: WorkerProject,
  path: string,
  body: object,
): Promise<void> {
  bodyOf(await capture(line, project, path, body), 200)
}

export async function ask(
  line: HttpConnection,
  project: WorkerProject,
  person: string,
  action: string,
  page: string,
): Promise<HttpReply> {
  const body = {
    subject: { type: 'Person', id: person },
    action: { name: action },
    resource: { type: 'Page', id: page },
  }
  return line.request('POST', '/access/v1/evaluation', { 'x-svc-clientkey': project.key }, body)
}

export async function mayPerson(...asked: Parameters<typeof ask>): Promise<boolean> {
  const reply = await ask(...asked)
  if (reply.body === '{"decision":true}') return true
  // A denial may have a reason, for example that no policy names the action.
  if (reply.status === 200 && JSON.parse(reply.body).decision === false) return false
  throw new Error(`no decision: ${reply.status} ${reply.body}`)
}

export { connectionsTo, HttpConnection }
