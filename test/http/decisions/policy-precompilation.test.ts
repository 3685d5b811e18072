// Policies are compiled after a start without a request: no decision has to wait for that, and policies that no longer
// compile are reported.
import { expect, it } from 'vitest'
import { openConfiguration, openRepository } from '../../../src/app/configuration.ts'
import { createApp } from '../../../src/app.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { startService } from '../../support/service.ts'

it('after its start a service reports the policies that grant nothing any more, before any request', async () => {
  const service = await startService()
  const { settings } = service.app
  const cypher = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
  await service.addPolicy({ name: 'sound', cypher })
  const id = await service.addPolicy({ name: 'stale', cypher })
  await service.app.close()

  // As a later release with a narrower language would find it.
  const collections = openConfiguration(service.dataDir, { sync: false })
  await openRepository(collections, service.dataDir).write((draft) => {
    const stored = draft.get('authorization-policies', id)
    if (stored === null) throw new Error('not stored')
    const policy = (stored.fields.policy as string).replace('MATCH', 'GRANT')
    draft.put({ ...stored, fields: { ...stored.fields, policy } })
  })
  await collections.close()

  const told = Promise.withResolvers<LogEntry>()
  const app = await createApp(settings, { log: (entry) => told.resolve(entry) })
  expect((await told.promise).message).toContain(`policy ${id} (stale) no longer compiles and grants nothing: `)
  await app.close()
  await service.stop()
})
