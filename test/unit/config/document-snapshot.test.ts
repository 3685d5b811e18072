import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DocumentSnapshot } from '../../../src/config/document-snapshot.ts'
import { type StoredDocument, scopeOf } from '../../../src/config/kind.ts'

type DocumentStep = { remove: boolean; kind: string; id: string; project: string; parent: string; name: string }

const step: fc.Arbitrary<DocumentStep> = fc.record({
  remove: fc.boolean(),
  kind: fc.constantFrom('a', 'b'),
  id: fc.constantFrom('1', '2', '3', '4'),
  project: fc.constantFrom('', 'p', 'q'),
  parent: fc.constantFrom('x', 'y'),
  name: fc.constantFrom('', 'one', 'two'),
})

function documentOf({ kind, id, project, parent, name }: DocumentStep): StoredDocument {
  return {
    kind,
    // An id belongs to one kind permanently.
    id: `${kind}${id}`,
    revision: 1,
    organization_id: 'org',
    project_id: project,
    parent_id: parent,
    // The service keeps names unique; here by construction.
    name: name === '' ? '' : `${name}-${id}`,
    create_time: '',
    created_by: '',
    update_time: '',
    updated_by: '',
    fields: {},
  }
}

test('for any changes, every lookup of a document agrees with a plain list', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let documents = DocumentSnapshot.of([])
      const model = new Map<string, StoredDocument>()
      for (const one of steps) {
        const document = documentOf(one)
        if (one.remove) {
          documents = documents.without(document.kind, document.id)
          model.delete(document.id)
        } else {
          documents = documents.with(document)
          model.set(document.id, document)
        }
      }
      const idsOf = (found: readonly StoredDocument[]) => found.map(({ id }) => id).sort()
      const all = [...model.values()]
      for (const kind of ['a', 'b']) {
        const those = all.filter((document) => document.kind === kind)
        expect(idsOf(documents.all(kind))).toEqual(idsOf(those))
        for (const parent of ['x', 'y'])
          expect(idsOf(documents.children(kind, parent))).toEqual(idsOf(those.filter((d) => d.parent_id === parent)))
        for (const scope of ['org', 'p', 'q']) {
          expect(idsOf(documents.inScope(kind, scope))).toEqual(idsOf(those.filter((d) => scopeOf(d) === scope)))
          for (const n of ['1', '2', '3', '4'].flatMap((id) => [`one-${id}`, `two-${id}`])) {
            const named = those.find((d) => scopeOf(d) === scope && d.name === n)
            expect(documents.getByName(kind, scope, n)?.id).toBe(named?.id)
          }
        }
        for (const id of ['a1', 'b1', 'a4', 'b4'])
          expect(documents.get(kind, id)).toBe(those.find((d) => d.id === id) ?? null)
      }
    }),
    { verbose: true },
  )
})

test('an older snapshot does not see the documents of a newer one', () => {
  const before = DocumentSnapshot.of([])
  const document = documentOf({ remove: false, kind: 'a', id: '1', project: 'p', parent: 'p', name: 'one' })
  const after = before.with(document)
  expect(before.all('a')).toEqual([])
  expect(after.without('a', 'a1').get('a', 'a1')).toBeNull()
  expect(after.getByName('a', 'p', 'one-1')).toBe(document)
})

test('a reader cannot change a document', () => {
  const document = documentOf({ remove: false, kind: 'a', id: '1', project: '', parent: 'x', name: '' })
  const list = [1]
  DocumentSnapshot.of([{ ...document, fields: { deep: { list } } }])
  expect(() => list.push(2)).toThrow(TypeError)
})
