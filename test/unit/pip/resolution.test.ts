// The configuration of resolvers during an execution.
import { describe, expect, test } from 'vitest'
import { resolversKind, type StoredDocument } from '../../../src/config/kind.ts'
import { ConfigRepository } from '../../../src/config/repository.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { ExternalDataResolvers } from '../../../src/pip/resolution.ts'
import { MemoryDocuments } from '../../../src/store/documents/memory-documents.ts'

const resolver = (revision: number, url: string): StoredDocument => ({
  kind: resolversKind,
  id: 'gid:resolver',
  revision,
  organization_id: 'gid:organization',
  project_id: 'gid:project',
  parent_id: 'gid:project',
  name: 'price',
  create_time: '',
  created_by: '',
  update_time: '',
  updated_by: '',
  fields: {
    url,
    method: 'GET',
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
  },
})

describe('an execution', () => {
  test('calls resolvers as they were configured when it started', async () => {
    const documents = new ConfigRepository(new MemoryDocuments())
    await documents.write((draft) => draft.put(resolver(1, 'https://one.example/')))
    const called: string[] = []
    const resolvers = new ExternalDataResolvers({
      documents,
      openSecret: () => null,
      upstream: {
        send: async ({ url }) => {
          called.push(url)
          return { ok: false, error: { kind: 'unreachable', message: 'no answer' } }
        },
      },
      clock: systemClock,
      report: () => undefined,
      limits: { timeMs: 1000, maxBytes: 1000, maxCalls: 10, maxConcurrent: 1, cacheTtlMs: 0 },
    })
    const before = resolvers.startResolution('gid:project', 60_000)
    await documents.write((draft) => draft.put(resolver(2, 'https://two.example/')))
    const after = resolvers.startResolution('gid:project', 60_000)
    await before.resolve('price', () => undefined as never)
    await after.resolve('price', () => undefined as never)
    expect(called).toEqual(['https://one.example/', 'https://two.example/'])
  })
})
