// Requests that fill the logs of the demo for the pictures of the console: decisions, a changed policy, events with a dead letter.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { App } from '../../src/app.ts'

/** Questions to the demo: person, action, resource type and id. */
const questions = [
  ['hana', 'inspect', 'Car', 'primrose'],
  ['dara', 'tow', 'Car', 'bramble'],
  ['nia', 'read', 'Document', 'rota'],
  ['kai', 'pay', 'Invoice', 'inv-104'],
  ['ann', 'approve', 'Document', 'budget-2027'],
  ['gus', 'drive', 'Car', 'thistle'],
  ['lea', 'tow', 'Car', 'tansy'],
  ['ivo', 'drive', 'Car', 'clover'],
  ['cleo', 'read', 'Document', 'driver-notes'],
  ['eli', 'drive', 'Car', 'foxglove'],
  ['june', 'enter', 'Garage', 'mill'],
  ['dara', 'edit', 'Document', 'driver-notes'],
] as const

/** The requests of pictures. */
interface PictureRequests {
  /** Asks all questions. */
  decide(): Promise<void>
  /** Changes a policy, and waits until the audit log has it. */
  change(): Promise<void>
  /** Stops the receiver of events. */
  end(): void
}

/** Fills the logs. */
export async function fillLogs(app: App, url: string): Promise<PictureRequests> {
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => response.writeHead(body.includes('willow') ? 413 : 200).end())
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const token = await app.issueAdminToken(3600)
  const ask = async (
    method: string,
    path: string,
    body?: object,
    project?: string,
  ): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(project !== undefined && { 'x-project-id': project }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }
  const listOf = async (path: string) =>
    (await ask('GET', `/configs/v1/${path}`)).data as readonly { readonly id: string; readonly name: string }[]
  const [project] = await listOf(`projects?organization_id=${encodeURIComponent(app.organizationId)}`)
  const project_id = project?.id ?? ''
  await ask('POST', '/configs/v1/event-sinks', {
    project_id,
    name: 'club-events',
    display_name: 'Club events',
    providers: {
      lake: {
        event_topic: {
          topic_endpoint: `http://127.0.0.1:${port}/events`,
          access_key: 'a-long-access-key',
          display_name: 'Data lake',
        },
      },
      // Nothing listens at this port.
      kafka: { streaming_broker: { brokers: ['127.0.0.1:9'], topic: 'club.audit', display_name: 'Audit topic' } },
    },
    routes: [
      { provider_id: 'lake', event_type_key_values_filter: { event_type: 'svc.audit.capture.*' } },
      { provider_id: 'kafka', event_type_key_values_filter: { event_type: 'svc.audit.config.update' } },
    ],
  })
  for (const external_id of ['willow', 'alder', 'rowan'])
    await ask('POST', '/capture/v1/nodes', { nodes: [{ type: 'Car', external_id }] }, project_id)
  const policies = await listOf(`authorization-policies?project_id=${encodeURIComponent(project_id)}`)
  const id = policies.find(({ name }) => name === 'pay-invoice')?.id ?? ''
  const { policy } = await ask('GET', `/configs/v1/authorization-policies/${id}`)
  const newestChanges = `/audit/v1/records?project_id=${encodeURIComponent(project_id)}&type=svc.audit.config.update`
  let limit = 500
  return {
    async decide() {
      for (const [person, action, type, resource] of [...questions].reverse()) {
        const question = {
          subject: { type: 'Person', id: person },
          action: { name: action },
          resource: { type, id: resource },
          ...(action === 'tow' && { context: { input_params: { load_kg: 1800 } } }),
        }
        await ask('POST', '/access/v1/evaluation', question, project_id)
        await Bun.sleep(40)
      }
    },
    async change() {
      limit += 100
      const description = `Finance pays open invoices up to the limit of the person, and at most ${limit}.`
      await ask('PUT', `/configs/v1/authorization-policies/${id}`, { policy, status: 'ACTIVE', description })
      // Sealed by another process, about a second later.
      while (!JSON.stringify(await ask('GET', newestChanges)).includes(description)) await Bun.sleep(100)
    },
    end: () => receiver.close(),
  }
}
