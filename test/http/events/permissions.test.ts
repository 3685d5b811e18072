// Who may call the routes of event sinks: each route with each kind of credential. A route without a row fails.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { untilCommitted } from '../../support/commits.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { sinkBody } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let context: ContextService
let service: TestService
let receiver: EventReceiver
let elsewhere: TestService

/** Two projects of one organization, each with a sink and a dead letter. */
interface Project {
  readonly id: string
  readonly sink: string
  readonly letter: string
}
let own: Project
let other: Project

const captures = [{ type: 'svc.audit.capture.*' }]
const sinkOf = (project: string): object => sinkBody(project, captures, { main: receiverProvider(receiver) })

async function create(kind: string, body: object): Promise<string> {
  const created = await service.configure('POST', kind, body)
  expect(created.status, created.text).toBe(201)
  return created.body.id as string
}

/** Adds a sink and a car that its provider refuses. */
async function furnish(id: string, key: string): Promise<Project> {
  const sink = await create('event-sinks', sinkOf(id))
  const body = { nodes: [{ type: 'Car', external_id: 'bad' }] }
  const captured = await service.send('/capture/v1/nodes', { headers: { 'x-svc-clientkey': key }, body })
  expect(captured.status, captured.text).toBe(200)
  const letters = async (): Promise<readonly { readonly id: string }[]> =>
    (await service.configure('GET', `event-sinks/${sink}/dead-letters`)).body.dead_letters as { id: string }[]
  await untilCommitted(service.dataDir, 'there is a dead letter', async () => (await letters()).length > 0)
  return { id, sink, letter: (await letters())[0]!.id }
}

type Headers = Readonly<Record<string, string>>
/** Credentials by name. */
const callers: Record<string, Headers> = {}

beforeAll(async () => {
  receiver = startReceiver()
  receiver.answer = () => 413
  context = await startContextService(
    { upstreamAllow: '127.0.0.1' },
    { sync: false, log: () => undefined, eventDelivery: { random: () => 0.001 } },
  )
  service = context.service
  own = await furnish(service.projectId, service.key)
  const organization_id = service.app.organizationId
  const project_id = await create('projects', { organization_id, name: 'second', region: 'local' })
  await service.provisioned(project_id)
  const application_id = await create('applications', { project_id, name: 'second' })
  const api_permissions = ['Capture', 'CIQ', 'Authorization', 'ReadAuthZConfigs', 'ReadDataSchema', 'Audit']
  const application_agent_id = await create('application-agents', { application_id, name: 'second', api_permissions })
  const { api_key, application_agent_config } = (
    await service.configure('POST', 'application-agent-credentials', { application_agent_id })
  ).body as { api_key: string; application_agent_config: { token: string } }
  other = await furnish(project_id, api_key)

  const account = async (role: string): Promise<string> => {
    const service_account_id = await create('service-accounts', { organization_id, name: role.replace('_', '-'), role })
    const made = await service.configure('POST', 'service-account-credentials', { service_account_id })
    return (made.body.service_account_config as { token: string }).token
  }
  elsewhere = await startService({}, { log: () => undefined })
  const bearer = (token: string): Headers => ({ authorization: `Bearer ${token}` })
  Object.assign(callers, {
    'no credential': {},
    'an agent key': { 'x-svc-clientkey': service.key },
    'an agent key of another project': { 'x-svc-clientkey': api_key },
    'an agent key as a bearer token': bearer(service.key),
    'a token of an agent': bearer(application_agent_config.token),
    'a token of a user': { ...bearer(await context.tokenOf('ann')), 'x-svc-clientkey': context.key },
    'a token of another organization': bearer(elsewhere.token),
    all_viewer: bearer(await account('all_viewer')),
    all_editor: bearer(await account('all_editor')),
  })
})

afterAll(async () => {
  await context?.stop()
  await elsewhere?.stop()
  await receiver?.stop()
})

interface Call {
  readonly path: string
  readonly body?: object
  /** Statuses for a viewer and for an editor. */
  readonly viewer: number
  readonly editor: number
  /** The reason for a viewer. */
  readonly reason?: string
}

const event = { type: 'svc.audit.capture.upsert.node' }
const mayNotChange = 'the role `all_viewer` may not change event sinks'

/** The calls of a route; those that delete come last. */
const calls = (): Readonly<Record<string, readonly Call[]>> => {
  const letters = `${own.sink}/dead-letters`
  const reads = { viewer: 403, editor: 200, reason: 'the role `all_viewer` may not read events' }
  const sends = { viewer: 403, reason: 'the role `all_viewer` may not send events' }
  const deletes = { viewer: 403, editor: 200, reason: 'the role `all_viewer` may not delete events' }
  const draft = { sink: sinkOf(own.id), event }
  return {
    'GET /configs/v1/event-sinks': [{ path: `?project_id=${own.id}`, viewer: 200, editor: 200 }],
    'GET /configs/v1/event-sinks/{id}': [{ path: own.sink, viewer: 200, editor: 200 }],
    'POST /configs/v1/event-sinks': [
      { path: '', body: sinkOf(own.id), viewer: 403, editor: 409, reason: mayNotChange },
    ],
    'PUT /configs/v1/event-sinks/{id}': [
      { path: own.sink, body: { display_name: 'Sink' }, viewer: 403, editor: 200, reason: mayNotChange },
    ],
    'POST /configs/v1/event-sinks/{id}/test': [
      { path: `${own.sink}/test`, body: { event }, viewer: 200, editor: 200 },
      { path: `${own.sink}/test`, body: { event, send: true }, editor: 200, ...sends },
    ],
    'POST /configs/v1/event-sinks/test': [
      { path: 'test', body: draft, viewer: 200, editor: 200 },
      { path: 'test', body: { ...draft, send: true }, editor: 200, ...sends },
    ],
    'POST /configs/v1/event-sinks/{id}/follow': [{ path: `${own.sink}/follow`, body: { start: 'oldest' }, ...reads }],
    'GET /configs/v1/event-sinks/{id}/dead-letters': [{ path: letters, ...reads }],
    'GET /configs/v1/event-sinks/{id}/dead-letters/{dead_letter}': [{ path: `${letters}/${own.letter}`, ...reads }],
    'POST /configs/v1/event-sinks/{id}/dead-letters': [
      { path: letters, body: { ids: ['main.1.none-1'] }, editor: 202, ...sends },
    ],
    'DELETE /configs/v1/event-sinks/{id}/dead-letters/{dead_letter}': [
      { path: `${letters}/${own.letter}`, ...deletes },
    ],
    'DELETE /configs/v1/event-sinks/{id}/dead-letters': [{ path: `${letters}?provider_id=main`, ...deletes }],
    'DELETE /configs/v1/event-sinks/{id}': [{ path: own.sink, viewer: 403, editor: 200, reason: mayNotChange }],
  }
}

function send(route: string, { path, body }: Call, headers: Headers): Promise<TestResponse> {
  const [method = ''] = route.split(' ')
  const place = path === '' || path.startsWith('?') ? path : `/${path}`
  return service.send(`/configs/v1/event-sinks${place}`, { method, headers, ...(body !== undefined && { body }) })
}

describe('the routes of event sinks', () => {
  test('all have a row', () => {
    const routes = service.app.routes
      .filter(({ path }) => path.startsWith('/configs/v1/event-sinks'))
      .map(({ method, path }) => `${method} ${path}`)
    expect(Object.keys(calls()).sort()).toEqual(routes.sort())
  })

  test('refuse every credential that is not of a service account of the organization', async () => {
    const refused = Object.keys(callers).filter((name) => !name.startsWith('all_'))
    expect(refused).toHaveLength(7)
    for (const [route, each] of Object.entries(calls())) {
      for (const call of each) {
        for (const name of refused) {
          const { status, text } = await send(route, call, callers[name] ?? {})
          expect([route, name, status]).toEqual([route, name, 401])
          for (const secret of [own.sink, own.letter, own.id]) expect(text).not.toContain(secret)
        }
      }
    }
  })

  test('show a viewer the configuration and the state, and no event', async () => {
    for (const [route, each] of Object.entries(calls())) {
      for (const call of each) {
        const { status, body } = await send(route, call, callers.all_viewer ?? {})
        expect([route, status]).toEqual([route, call.viewer])
        if (call.reason !== undefined) expect([route, body.message]).toEqual([route, call.reason])
      }
    }
  })

  test('show the events of one project only at its own sink', async () => {
    const wrongLetter = `event-sinks/${own.sink}/dead-letters/${other.letter}`
    for (const method of ['GET', 'DELETE'])
      expect((await service.configure(method, wrongLetter)).body).toEqual({
        message: `no dead letter \`${other.letter}\``,
      })
    const resent = await service.configure('POST', `event-sinks/${own.sink}/dead-letters`, { ids: [other.letter] })
    expect(resent.body).toMatchObject({ requested: 0, refused: [{ id: other.letter }] })
    const follow = async (sink: string, body: object): Promise<TestResponse> =>
      service.configure('POST', `event-sinks/${sink}/follow`, body)
    const { position } = (await follow(other.sink, { start: 'oldest' })).body
    const { text } = await follow(own.sink, { position })
    expect(text).not.toContain(other.id)
    const left = await service.configure('GET', `event-sinks/${other.sink}/dead-letters`)
    expect(left.body.dead_letters).toMatchObject([{ id: other.letter, is_requested: false }])
  })

  test('serve an editor', async () => {
    for (const [route, each] of Object.entries(calls())) {
      for (const call of each) {
        const { status, text } = await send(route, call, callers.all_editor ?? {})
        expect([route, status, text]).toEqual([route, call.editor, expect.any(String)])
      }
    }
  })
})
