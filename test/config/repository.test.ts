import { afterAll, expect, test } from 'vitest'
import type { DocumentChange, StoredDocument } from '../../src/config/kind.ts'
import { type DocumentStore, Repository } from '../../src/config/repository.ts'
import { removeTemporaryFolders, temporaryFolder } from './house.ts'
import { openStore } from './open-store.ts'

afterAll(removeTemporaryFolders)

function documentOf(id: string, fields: Record<string, unknown> = {}): StoredDocument {
  return {
    kind: 'things',
    id,
    revision: 1,
    organization_id: 'org',
    project_id: '',
    parent_id: 'org',
    name: '',
    create_time: '2026-01-15T12:00:00.000Z',
    created_by: 'me',
    update_time: '2026-01-15T12:00:00.000Z',
    updated_by: 'me',
    fields,
  }
}

test('what was written is there after the files were closed and opened again', async () => {
  const dir = temporaryFolder()
  const store = openStore(dir)
  const documents = new Repository(store)
  const rich = { text: 'ä\u0000"', list: [1, 2.5, { deep: null }], yes: true }
  await documents.write((draft) => {
    draft.put(documentOf('1', rich))
    draft.put(documentOf('2'))
  })
  await documents.write((draft) => draft.remove('things', '2'))
  await store.close()
  const again = openStore(dir)
  expect(new Repository(again).all('things')).toEqual([documentOf('1', rich)])
  await again.close()
})

test('changes run one after another, each on what the one before has left', async () => {
  const store = openStore(temporaryFolder())
  const documents = new Repository(store)
  await documents.write((draft) => draft.put(documentOf('1', { count: 0 })))
  await Promise.all(
    Array.from({ length: 20 }, () =>
      documents.write((draft) => {
        const count = draft.get('things', '1')?.fields.count as number
        draft.put(documentOf('1', { count: count + 1 }))
      }),
    ),
  )
  expect(documents.get('things', '1')?.fields.count).toBe(20)
  await store.close()
})

test('a change sees its own writes, and nobody else does before it is stored', async () => {
  const store = openStore(temporaryFolder())
  const documents = new Repository(store)
  const written = documents.write((draft) => {
    draft.put(documentOf('1'))
    return draft.children('things', 'org').length
  })
  expect(documents.all('things')).toEqual([])
  expect(await written).toBe(1)
  expect(documents.all('things')).toHaveLength(1)
  await store.close()
})

test('a change that throws, and a store that fails, change nothing and stop nobody', async () => {
  const store = openStore(temporaryFolder())
  let full = false
  const failing: DocumentStore = {
    read: store.read,
    transact: (change) => (full ? Promise.reject(new Error('disk full')) : store.transact(change)),
  }
  const documents = new Repository(failing)
  const thrown = documents.write((draft) => {
    draft.put(documentOf('1'))
    throw new Error('on second thought')
  })
  await expect(thrown).rejects.toThrow('on second thought')
  full = true
  await expect(documents.write((draft) => draft.put(documentOf('2')))).rejects.toThrow('disk full')
  full = false
  expect(documents.all('things')).toEqual([])
  await documents.write((draft) => draft.put(documentOf('3')))
  expect(documents.all('things').map(({ id }) => id)).toEqual(['3'])
  expect(store.read((reading) => reading.all('configuration')).map(([key]) => key)).toEqual(['3'])
  await store.close()
})

test('listeners hear each document once per change, after the swap and before the writer', async () => {
  const store = openStore(temporaryFolder())
  const documents = new Repository(store)
  const heard: (readonly DocumentChange[])[] = []
  let seen = -1
  documents.subscribe((changes) => {
    heard.push(changes)
    seen = documents.all('things').length
  })
  await documents.write((draft) => {
    draft.put(documentOf('1', { step: 1 }))
    draft.put(documentOf('1', { step: 2 }))
    draft.put(documentOf('2'))
    draft.remove('things', '2')
  })
  expect(seen).toBe(1)
  expect(heard).toEqual([[{ before: null, after: documentOf('1', { step: 2 }) }]])
  await documents.write(() => undefined)
  expect(heard).toHaveLength(1)
  await store.close()
})
