// The copy of documents that a server has: each change is written once, many documents in several transactions of which the last one
// makes them visible, and commands do not change a copy.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { DocumentEdit } from '../../../../src/kernel/folder/document-store.ts'
import { type Collections, openCollections } from '../../../../src/store/documents/collections.ts'
import {
  copyStateOf,
  DocumentCopy,
  endCopy,
  openOwnCollections,
} from '../../../../src/store/documents/document-copy.ts'
import { rehearseChange } from '../../../../src/store/documents/rehearsal.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

interface OpenedCopy {
  readonly folder: string
  readonly collections: Collections
  readonly copy: DocumentCopy
  /** The keys of each transaction, and `done` when a change is written. */
  readonly steps: (readonly string[] | 'done')[]
}

async function openCopy(): Promise<OpenedCopy> {
  const folder = join(temporaryFolder(), 'config')
  const collections = openCollections(folder, { sync: false })
  const steps: OpenedCopy['steps'] = []
  const copy = new DocumentCopy(collections, {
    isLast: (collection) => collection === 'heads',
    writing: (documents) => void steps.push(documents.map(({ key }) => key)),
    written: () => void steps.push('done'),
  })
  await copy.begin({ store: 'store', version: 3, commit: 'three' })
  return { folder, collections, copy, steps }
}

const edit = (collection: string, key: string, json: string | null = '1'): DocumentEdit => ({ collection, key, json })
const changes = (version: number, documents: DocumentEdit[], events = [] as (typeof event)[]) => ({
  head: { store: 'store', version, commit: `c${version}` },
  after: '',
  documents,
  events,
})
const event = { stream: 's', record: new Uint8Array([1]), count: 2, timeMs: 5 }

test('a change is written once, from the version that it follows', async () => {
  const { collections, copy, steps } = await openCopy()
  expect(copy.state()).toMatchObject({ store: 'store', version: 3 })
  await copy.begin({ store: 'another', version: 9, commit: 'nine' })
  expect(copy.state()).toMatchObject({ store: 'store', version: 3 })
  const change = changes(4, [edit('a', 'x'), edit('a', 'y', '{"n":1}')], [event])
  await Promise.all([copy.apply(3, change), copy.apply(3, change)])
  await copy.apply(2, changes(4, [edit('a', 'late')]))
  await copy.apply(4, changes(4, [edit('a', 'late')]))
  expect(collections.all('a')).toEqual([
    ['x', 1],
    ['y', { n: 1 }],
  ])
  expect(collections.outbox.status('s')?.next).toBe(3)
  expect(steps).toEqual([['x', 'y'], 'done'])
  await copy.apply(4, changes(9, [edit('a', 'x', null)]))
  expect(collections.all('a')).toEqual([['y', { n: 1 }]])
  expect(copy.state()).toMatchObject({ version: 9, commit: 'c9' })
  await collections.close()
})

test('many documents are written in slices, and those that make them visible with the version', async () => {
  const { collections, copy, steps } = await openCopy()
  const documents = [edit('heads', 'head'), ...Array.from({ length: 120 }, (_, i) => edit('a', `k${i}`))]
  const seen = new Set<string>()
  // Of one commit: another one may come between two reads.
  const look = () =>
    collections.read((reader) => JSON.stringify([copyStateOf(reader)?.version, reader.get('heads', 'head')]))
  const watched = copy.apply(3, changes(4, documents, [event]))
  while (copy.state()?.version === 3) {
    seen.add(look())
    await Bun.sleep(0)
  }
  await watched
  expect(new Set([...seen, look()])).toEqual(new Set(['[3,null]', '[4,1]']))
  expect(steps.map((step) => (step === 'done' ? step : [step.length, step.includes('head')]))).toEqual([
    [50, false],
    [50, false],
    [21, true],
    'done',
  ])
  expect(collections.all('a')).toHaveLength(120)
  await collections.close()
})

test('commands do not change a copy until it is the own configuration of a folder again', async () => {
  const { folder, collections } = await openCopy()
  await collections.close()
  expect(() => openOwnCollections(folder, {})).toThrow(
    `${folder} is a copy of a configuration that several instances share`,
  )
  await endCopy(folder)
  const own = openOwnCollections(folder, {})
  expect(own.everything()).toEqual([])
  await own.close()
})

test('a rehearsed change reads its own writes and writes nothing', async () => {
  const { collections } = await openCopy()
  await collections.transact(({ put }) => put('a', 'x', 1))
  const { value, edits } = collections.read((reader) =>
    rehearseChange(reader, ({ get, put, delete: remove, all, appendEvents }) => {
      const before = all('a')
      put('a', 'y', { n: 2 })
      remove('a', 'x')
      appendEvents('s', event.record, event.count, event.timeMs)
      return [before, get('a', 'x'), get('a', 'y'), get('a', 'z')]
    }),
  )
  expect(value).toEqual([[['x', 1]], null, { n: 2 }, null])
  expect(edits).toEqual({ documents: [edit('a', 'y', '{"n":2}'), edit('a', 'x', null)], events: [event] })
  expect(collections.all('a')).toEqual([['x', 1]])
  const failing = () =>
    collections.read((reader) =>
      rehearseChange(reader, () => {
        throw new Error('refused')
      }),
    )
  expect(failing).toThrow('refused')
  await collections.close()
})
