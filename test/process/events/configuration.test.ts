import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { untilCommitted } from '../../support/commits.ts'
import { addSink, eventsLike, eventsOf, sinkBody } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

afterEach(() => service.stop())

const shortType = (type: string): string => type.replace('svc.audit.config.', '')

describe('changes of the configuration', () => {
  test('have events with the document before and after, from the creation of the sink on', async () => {
    service = await startService()
    const headers = { authorization: `Bearer ${service.token}`, 'x-request-id': 'create-the-sink' }
    const body = sinkBody(service.projectId, [{ type: 'svc.audit.config.*' }])
    const sink = await service.send('/configs/v1/event-sinks', { headers, body })
    const created = await service.configure('POST', 'applications', {
      project_id: service.projectId,
      name: 'shop',
      display_name: 'Shop',
    })
    const path = `applications/${created.body.id}`
    await service.configure('PUT', path, { display_name: 'Shop 2' })
    // Without a change there is no revision and no event.
    await service.configure('PUT', path, { display_name: 'Shop 2' })
    await service.configure('DELETE', path)
    const seen = await eventsOf(service)
    const id = created.body.id
    const organizationId = service.app.organizationId
    const containersPath = { organizationId, projectId: service.projectId }
    expect(seen.map(({ type, data }) => [shortType(type), data])).toMatchObject([
      ['create', { id: sink.body.id, type: 'event-sinks', requestId: 'create-the-sink' }],
      [
        'create',
        {
          id,
          type: 'applications',
          containersPath,
          location: { id: service.projectId, type: 'projects' },
          actor: { type: 'service-account', id: service.app.serviceAccountId, role: 'all_editor' },
          detail: {
            name: 'shop',
            displayName: 'Shop',
            version: 1,
            configuration: { name: 'shop', display_name: 'Shop' },
          },
        },
      ],
      ['update', { id, containersPath, before: { display_name: 'Shop' }, after: { display_name: 'Shop 2' } }],
      ['delete', { id, type: 'applications', containersPath }],
    ])
    expect(seen.map(({ source, subject }) => [source, subject])).toEqual([
      ['configuration', `event-sinks/${sink.body.id}`],
      ...Array.from({ length: 3 }, () => ['configuration', `applications/${id}`]),
    ])
  })

  test('of the sink are decided by its routes after the change', async () => {
    service = await startService()
    const id = await addSink(service, [{ type: 'svc.audit.config.delete' }])
    const { routes } = sinkBody(service.projectId, [{ type: 'svc.audit.config.update' }]) as { routes: object[] }
    await service.configure('PUT', `event-sinks/${id}`, { routes })
    await service.configure('PUT', `event-sinks/${id}`, { display_name: 'Second' })
    expect((await eventsOf(service)).map(({ type, data }) => [shortType(type), data.id])).toEqual([
      ['update', id],
      ['update', id],
    ])
  })

  test('contain no secret, not even one that an editor wrote into a text', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.config.*' }])
    const secrets = { password: 'pass-word-1', connection: 'SharedAccessKey=secret-2', key: 'vgk_secret-3' }
    const sink = (await service.configure('GET', `event-sinks?project_id=${service.projectId}`)).body.data as {
      id: string
    }[]
    const provider = { brokers: ['broker.example.org:9093'], topic: 't', username: 'u', password: secrets.password }
    const updated = await service.configure('PUT', `event-sinks/${sink[0]?.id}`, {
      description: `Use ${secrets.key} or Endpoint=sb://x/;${secrets.connection}`,
      providers: { main: { streaming_broker: provider } },
    })
    expect(updated.status, updated.text).toBe(200)
    const { agentId, key } = await service.addAgent('other', ['Capture'])
    const seen = await eventsOf(service)
    const text = JSON.stringify(seen)
    for (const secret of ['pass-word-1', 'secret-2', 'secret-3', key]) expect(text).not.toContain(secret)
    expect(text).toContain('broker.example.org:9093')
    expect(text).toContain('vgk_********')
    expect(seen.some(({ data }) => data.type === 'application-agent-credentials')).toBe(true)
    expect(seen.some(({ data }) => data.id === agentId)).toBe(true)
  })

  test('of API permissions have events of their own, also when the agent is deleted', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.config.permission.*' }])
    const { agentId } = await service.addAgent('other', ['Capture', 'CIQ'])
    await service.configure('PUT', `application-agents/${agentId}`, { api_permissions: ['CIQ', 'Authorization'] })
    await service.configure('DELETE', `application-agents/${agentId}`)
    const seen = await eventsOf(service)
    expect(seen.map(({ type, data }) => [shortType(type), data.role, data.targetIdentifier])).toEqual([
      ['permission.assign', 'Capture', agentId],
      ['permission.assign', 'CIQ', agentId],
      ['permission.revoke', 'Capture', agentId],
      ['permission.assign', 'Authorization', agentId],
      ['permission.revoke', 'CIQ', agentId],
      ['permission.revoke', 'Authorization', agentId],
    ])
    expect(seen[0]?.data).toMatchObject({
      targetType: 'application-agents',
      objectId: service.projectId,
      objectType: 'projects',
      organizationId: service.app.organizationId,
    })
  })

  test('below a deleted document have one event each', async () => {
    service = await startService()
    await addSink(service, [
      { type: 'svc.audit.config.delete', context: { configType: 'application-agents' } },
      { type: 'svc.audit.config.delete', context: { configType: 'applications' } },
    ])
    await service.configure('DELETE', `applications/${service.applicationId}`)
    expect((await eventsOf(service)).map(({ data }) => [data.type, data.id])).toEqual([
      ['application-agents', service.agentId],
      ['applications', service.applicationId],
    ])
  })
})

describe('reads of the configuration', () => {
  test('have events that say what was asked for, and which documents were in the answer', async () => {
    service = await startService()
    const sink = await addSink(service, [{ type: 'svc.audit.config.read' }])
    await service.configure('GET', `event-sinks/${sink}`)
    await service.configure('GET', `applications/test?location=${service.projectId}`)
    await service.configure('GET', `applications?project_id=${service.projectId}`)
    await service.configure('GET', 'applications/gid:00000000000000000000000000')
    await service.configure('GET', `projects/${service.projectId}`)
    await service.configure('GET', `service-accounts?organization_id=${service.app.organizationId}`)
    const seen = await eventsOf(service)
    expect(seen.map(({ source, subject, data }) => [source, subject, data.identifier, data.ids])).toEqual([
      ['activity', `event-sinks/${sink}`, { id: sink }, [sink]],
      [
        'activity',
        `applications/${service.applicationId}`,
        { name: 'test', location: service.projectId },
        [service.applicationId],
      ],
      ['activity', 'applications', {}, [service.applicationId]],
      ['activity', `projects/${service.projectId}`, { id: service.projectId }, [service.projectId]],
    ])
  })
})

describe('a project without a sink', () => {
  test('loses, at the next start, events of decisions that were written after the sink was deleted', async () => {
    service = await startService({ audit: 'off' })
    await addSink(service, [{ type: 'svc.audit.*' }])
    await service.configure('GET', `projects/${service.projectId}`)
    await eventsOf(service)
    await service.app.eventStreams.withStreams(service.projectId, async (streams) => {
      const { outbox } = streams.find(({ source }) => source === 'activity')!
      await outbox.append([
        { stream: 'gid:00000000000000000000000000', bytes: new Uint8Array([1]), count: 1, timeMs: 0 },
      ])
    })
    await service.app.close()
    const app = await createApp(service.app.settings)
    const streams = (): Promise<readonly string[]> =>
      app.eventStreams.withStreams(service.projectId, async (found) =>
        found.find(({ source }) => source === 'activity')!.outbox.streams(),
      )
    await untilCommitted(service.dataDir, 'the stream is removed', async () => (await streams()).length === 1)
    expect(await streams()).toEqual([service.projectId])
    await app.close()
  })

  test('has no folder of events and nothing in its outboxes if there is no audit log', async () => {
    service = await startService({ audit: 'off' })
    await service.configure('GET', `projects/${service.projectId}`)
    await service.ask('/access/v1/evaluation', {
      subject: { type: 'Person', id: 'a' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c' },
    })
    expect(await eventsOf(service)).toEqual([])
    expect(existsSync(join(service.dataDir, 'events'))).toBe(false)
  })

  test('has no events left of a deleted sink, and a deleted project none at all', async () => {
    service = await startService()
    const everything = [{ type: 'svc.audit.*' }]
    const sink = await addSink(service, everything)
    const write = async (name: string): Promise<void> => {
      await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'c' }] })
      await service.configure('GET', `projects/${service.projectId}`)
      await service.configure('POST', 'applications', { project_id: service.projectId, name })
    }
    await write('before')
    expect(new Set((await eventsOf(service)).map(({ source }) => source))).toEqual(
      new Set(['graph', 'configuration', 'activity']),
    )
    expect((await service.configure('DELETE', `event-sinks/${sink}`)).status).toBe(200)
    expect(await eventsOf(service)).toEqual([])

    await addSink(service, everything)
    await write('after')
    expect((await eventsLike(service, 'svc.audit')).length).toBeGreaterThan(3)
    expect((await service.configure('DELETE', `projects/${service.projectId}`)).status).toBe(200)
    expect(await eventsOf(service)).toEqual([])
  })
})
