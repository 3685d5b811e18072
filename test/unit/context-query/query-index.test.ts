// Knowledge queries are compiled in the background after a start.
import { expect, test } from 'vitest'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { ConfigRepository } from '../../../src/config/repository.ts'
import { QueryIndex } from '../../../src/context-query/query-index.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { timestamp } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const time = timestamp(1_750_000_000_000)
const project = mintGid(1)

function documentOf(kind: string, name: string, fields: StoredDocument['fields']): StoredDocument {
  const id = kind === 'projects' ? project : mintGid(2)
  const authorship = { create_time: time, created_by: id, update_time: time, updated_by: id }
  const parent_id = kind === 'projects' ? 'gid:organization' : project
  const place = { organization_id: 'gid:organization', project_id: kind === 'projects' ? '' : project, parent_id }
  return { ...authorship, ...place, id, kind, revision: 1, name, fields }
}

test('warming compiles each ACTIVE query once, and reports the one that cannot run', async () => {
  const policy = documentOf('authorization-policies', 'cars', {
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)' },
      allowed_reads: { nodes: ['car.external_id'] },
    }),
  })
  const queryOf = (name: string, status: string, nodes: string[]): StoredDocument =>
    documentOf('knowledge-queries', name, { status, policy_id: policy.id, query: JSON.stringify({ nodes }) })
  const collections = openCollections(temporaryFolder(), { sync: false })
  const documents = new ConfigRepository(collections)
  await documents.write((draft) => {
    draft.put(documentOf('projects', 'project', { ikg_status: 'ACTIVE' }))
    draft.put(policy)
    draft.put(queryOf('good', 'ACTIVE', ['car.external_id']))
    draft.put(queryOf('wide', 'ACTIVE', ['car.property.plate']))
    draft.put(queryOf('draft', 'DRAFT', ['car.property.plate']))
  })
  const logged: string[] = []
  const library = new QueryIndex(documents, (line) => logged.push(line))
  const steps = library.warming()
  let compiled = 0
  while (steps.next().done !== true) compiled += 1
  expect(compiled).toBe(2)
  expect(logged).toHaveLength(1)
  expect(logged[0]).toContain('(wide) cannot be run')
  // The first question finds what was compiled, so nothing is reported again.
  expect(library.find(project, 'good')?.name).toBe('good')
  expect([library.find(project, 'wide'), library.find(project, 'draft')]).toEqual([null, null])
  expect(logged).toHaveLength(1)
  await collections.close()
})
