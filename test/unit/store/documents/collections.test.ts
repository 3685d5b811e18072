import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openCollections } from '../../../../src/store/documents/collections.ts'
import { openEnvironment } from '../../../../src/store/graph/environment.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const options = { sync: false }

describe('collections', () => {
  test('have the content of maps of documents, through aborted changes and reopening', async () => {
    const name = fc.constantFrom('a', 'ab', 'b')
    const key = fc.constantFrom('', 'x', 'y\0', 'ñ', '\ud800')
    const change = fc.record({ collection: name, key, document: fc.option(fc.jsonValue()), removes: fc.boolean() })
    const transaction = fc.record({ changes: fc.array(change, { maxLength: 6 }), abandoned: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { maxLength: 6 }), async (transactions) => {
        const folder = temporaryFolder()
        let collections = openCollections(folder, options)
        let model = new Map<string, unknown>()
        for (const { changes, abandoned } of transactions) {
          const changed = new Map(model)
          const written = collections.transact((tx) => {
            for (const { collection, key, document, removes } of changes) {
              const name = `${collection} ${key}`
              if (removes) {
                tx.delete(collection, key)
                changed.delete(name)
              } else {
                tx.put(collection, key, document)
                changed.set(name, JSON.parse(JSON.stringify(document)))
              }
              expect(tx.get(collection, key)).toEqual(changed.get(name) ?? null)
            }
            if (abandoned) throw new Error('abandoned')
          })
          if (abandoned) await expect(written).rejects.toThrow('abandoned')
          else {
            await written
            model = changed
          }
        }
        for (let again = 0; again < 2; again++) {
          for (const collection of ['a', 'ab', 'b', 'c']) {
            const all = new Map(collections.all(collection))
            const expected = [...model].filter(([name]) => name.startsWith(`${collection} `))
            expect(all).toEqual(
              new Map(expected.map(([name, document]) => [name.slice(collection.length + 1), document])),
            )
            for (const [key, document] of all) expect(collections.get(collection, key)).toEqual(document)
          }
          await collections.close()
          collections = openCollections(folder, options)
        }
        await collections.close()
      }),
      { numRuns: 40 },
    )
  })

  test('list their documents by key, and return null for a missing one', async () => {
    const collections = openCollections(temporaryFolder(), options)
    await collections.transact((tx) => {
      for (const key of ['b', 'a', 'c']) tx.put('letters', key, { key })
    })
    expect(collections.all('letters').map(([key]) => key)).toEqual(['a', 'b', 'c'])
    expect([collections.get('letters', 'd'), collections.get('numbers', 'a'), collections.all('numbers')]).toEqual([
      null,
      null,
      [],
    ])
    await collections.close()
  })

  test('return the value of the change; concurrent changes see each other', async () => {
    const collections = openCollections(temporaryFolder(), options)
    const increments = Array.from({ length: 20 }, () =>
      collections.transact((tx) => {
        const next = ((tx.get('counters', 'one') as number | null) ?? 0) + 1
        tx.put('counters', 'one', next)
        return next
      }),
    )
    expect((await Promise.all(increments)).sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    expect(collections.get('counters', 'one')).toBe(20)
    await collections.close()
  })

  test('refuse values that are not JSON, and a change that continues after its function', async () => {
    const collections = openCollections(temporaryFolder(), options)
    await expect(collections.transact((tx) => tx.put('a', 'b', undefined))).rejects.toThrow(
      'a document is a JSON value',
    )
    await expect(collections.transact((tx) => tx.put('', 'b', 1))).rejects.toThrow('a collection has a name')
    const kept = await collections.transact((tx) => tx)
    expect(() => kept.put('a', 'b', 1)).toThrow('not used after its function has returned')
    await collections.close()
  })

  test('cannot be opened as a graph, nor a graph as collections', async () => {
    const [documents, graph] = [temporaryFolder(), temporaryFolder()]
    await openCollections(documents, options).close()
    const environment = { clock: new ManualClock(0), sync: false }
    await openEnvironment(graph, environment).close()
    expect(() => openEnvironment(documents, environment)).toThrow('the folder does not contain a graph')
    expect(() => openCollections(graph, options)).toThrow('the folder does not contain documents')
  })
})
