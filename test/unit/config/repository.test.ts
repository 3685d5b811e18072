import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { DocumentChange, StoredDocument } from '../../../src/config/kind.ts'
import { ConfigRepository } from '../../../src/config/repository.ts'
import type { DocumentStore } from '../../../src/kernel/folder/document-store.ts'
import { openSharedCounter } from '../../../src/store/process/shared-counter.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/configuration-fixture.ts'
import { openStore } from '../../support/open-collections.ts'

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

test('written documents exist after closing and reopening the files', async () => {
  const dir = temporaryFolder()
  const store = openStore(dir)
  const documents = new ConfigRepository(store)
  const rich = { text: 'ä\u0000"', list: [1, 2.5, { deep: null }], yes: true }
  await documents.write((draft) => {
    draft.put(documentOf('1', rich))
    draft.put(documentOf('2'))
  })
  await documents.write((draft) => draft.remove('things', '2'))
  await store.close()
  const again = openStore(dir)
  expect(new ConfigRepository(again).all('things')).toEqual([documentOf('1', rich)])
  await again.close()
})

test('changes run one after another, each on the result of the previous one', async () => {
  const store = openStore(temporaryFolder())
  const documents = new ConfigRepository(store)
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

test('a change sees its own writes, and others see them only after the commit', async () => {
  const store = openStore(temporaryFolder())
  const documents = new ConfigRepository(store)
  const written = documents.write((draft) => {
    draft.put(documentOf('1'))
    return draft.children('things', 'org').length
  })
  expect(documents.all('things')).toEqual([])
  expect(await written).toBe(1)
  expect(documents.all('things')).toHaveLength(1)
  await store.close()
})

test('a change that throws, or a store that fails, changes nothing and blocks no other change', async () => {
  const store = openStore(temporaryFolder())
  let full = false
  const failing: DocumentStore = {
    read: (look) => store.read(look),
    transact: (change) => (full ? Promise.reject(new Error('disk full')) : store.transact(change)),
  }
  const documents = new ConfigRepository(failing)
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

test('listeners get each document once per change, after the swap and before the writer', async () => {
  const store = openStore(temporaryFolder())
  const documents = new ConfigRepository(store)
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

/**
 * Two repositories on one store, as in two processes: they see each other only through the store and the counter.
 */
function two() {
  const dir = temporaryFolder()
  const [mine, theirs] = [openStore(dir), openStore(dir)]
  const number = openSharedCounter(join(dir, 'number'))
  return {
    one: new ConfigRepository(mine, number),
    other: new ConfigRepository(theirs, number),
    number,
    close: () => Promise.all([mine.close(), theirs.close()]),
  }
}

test('another process sees a change when it catches up, notifies its listeners, and keeps unchanged documents', async () => {
  const { one, other, close } = two()
  await one.write((draft) => {
    draft.put(documentOf('1', { step: 1 }))
    draft.put(documentOf('2'))
  })
  expect(other.all('things')).toEqual([])
  other.catchUp()
  expect(other.all('things')).toEqual([documentOf('1', { step: 1 }), documentOf('2')])
  const second = other.get('things', '2')
  const heard: (readonly DocumentChange[])[] = []
  other.subscribe((changes) => heard.push(changes))
  await one.write((draft) => draft.put(documentOf('1', { step: 2 })))
  await one.write((draft) => draft.put(documentOf('1', { step: 3 })))
  other.catchUp()
  other.catchUp()
  expect(heard).toEqual([[{ before: documentOf('1', { step: 1 }), after: documentOf('1', { step: 3 }) }]])
  expect(other.get('things', '2')).toBe(second)
  await one.write((draft) => draft.remove('things', '1'))
  other.catchUp()
  expect(heard[1]).toEqual([{ before: documentOf('1', { step: 3 }), after: null }])
  await close()
})

test('another process that sees a deletion and a document of another kind with the same id at once keeps no trace of the former', async () => {
  const { one, other, close } = two()
  const [thing, note] = [
    { ...documentOf('1', { step: 1 }), name: 'first' },
    { ...documentOf('1'), kind: 'notes' },
  ]
  await one.write((draft) => draft.put(thing))
  other.catchUp()
  const heard: DocumentChange[] = []
  other.subscribe((changes) => heard.push(...changes))
  await one.write((draft) => draft.remove('things', '1'))
  await one.write((draft) => draft.put(note))
  other.catchUp()
  for (const documents of [one, other]) {
    expect(documents.all('things')).toEqual([])
    expect(documents.children('things', 'org')).toEqual([])
    expect(documents.inScope('things', 'org')).toEqual([])
    expect(documents.getByName('things', 'org', 'first')).toBeNull()
    expect(documents.all('notes')).toEqual([note])
  }
  expect(heard).toEqual([
    { before: thing, after: null },
    { before: null, after: note },
  ])
  await close()
})

test('concurrent changes of two processes build on each other', async () => {
  const { one, other, close } = two()
  await one.write((draft) => draft.put(documentOf('1', { count: 0 })))
  const increment = (documents: ConfigRepository) =>
    documents.write((draft) => {
      const count = draft.get('things', '1')?.fields.count as number
      draft.put(documentOf('1', { count: count + 1 }))
    })
  await Promise.all(Array.from({ length: 50 }, (_, i) => increment(i % 2 === 0 ? one : other)))
  for (const documents of [one, other]) {
    documents.catchUp()
    expect(documents.get('things', '1')?.fields.count).toBe(50)
  }
  await close()
})

test('a process that is further behind than the log notifies its listeners of the same changes', async () => {
  const { one, other, close } = two()
  const heard: DocumentChange[] = []
  other.subscribe((changes) => heard.push(...changes))
  await one.write((draft) => draft.put(documentOf('gone')))
  other.catchUp()
  await one.write((draft) => draft.remove('things', 'gone'))
  await Promise.all(
    Array.from({ length: 1100 }, (_, i) => one.write((draft) => draft.put(documentOf(`${i % 7}`, { i })))),
  )
  other.catchUp()
  expect(other.all('things')).toEqual(one.all('things'))
  expect(heard.slice(1).map(({ before, after }) => [before?.id, after?.id])).toEqual([
    ['gone', undefined],
    ...['0', '1', '2', '3', '4', '5', '6'].map((id) => [undefined, id]),
  ])
  await close()
})

test('a counter that a crash left ahead of the store costs one read of the store, and hides nothing', async () => {
  const { one, other, number, close } = two()
  await one.write((draft) => draft.put(documentOf('1')))
  // The process ended before its second commit: the next one uses the same number.
  number.store(2)
  other.catchUp()
  expect(other.all('things')).toHaveLength(1)
  await one.write((draft) => draft.put(documentOf('2')))
  other.catchUp()
  expect(other.all('things')).toHaveLength(2)
  await close()
})
