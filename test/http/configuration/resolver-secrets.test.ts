// Stored header values of resolvers are encrypted, including those that an earlier version stored in clear text.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { rotate } from '../../../src/cli/folder/rotate-master-key.ts'
import type { StoredDocument } from '../../../src/config/kind.ts'
import { documentCollections } from '../../../src/config/repository.ts'
import { isSealedText } from '../../../src/identity/secret-box.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { startService } from '../../support/service.ts'

let folder: string
let dataDir: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-resolver-'))
  dataDir = join(folder, 'data')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const plain = { 'X-One': 'plain-one', 'X-Many': ['plain-two', 'plain-three'] }

/** A resolver with two revisions; returns its id. */
async function furnish(): Promise<string> {
  const service = await startService({ dataDir })
  const created = await service.configure('POST', 'external-data-resolvers', {
    project_id: service.projectId,
    name: 'prices',
    url: 'https://prices.example/{$id}',
    method: 'GET',
    headers: plain,
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
  })
  const changed = await service.configure('PUT', `external-data-resolvers/${created.body.id}`, { description: 'again' })
  expect([created.status, changed.status]).toEqual([201, 200])
  await service.stop()
  return created.body.id as string
}

/** All stored revisions, each changed by `change` if given. */
async function stored(change?: (document: StoredDocument) => StoredDocument): Promise<StoredDocument[]> {
  const collections = openCollections(join(dataDir, 'config'), {})
  try {
    return await collections.transact(({ all, put }) => {
      const found = documentCollections.flatMap((collection) =>
        all(collection).flatMap(([key, value]) => {
          const document = value as StoredDocument
          return document.kind === 'external-data-resolvers' ? [{ collection, key, document }] : []
        }),
      )
      if (change !== undefined)
        for (const { collection, key, document } of found) put(collection, key, change(document))
      return found.map(({ document }) => document)
    })
  } finally {
    await collections.close()
  }
}

const valuesOf = (documents: readonly StoredDocument[]): string[][] =>
  documents.map(({ fields }) => Object.values(fields.headers as Record<string, string | string[]>).flat())

/** Serves the folder and stores the same values again: they compare equal only if the stored ones can be decrypted. */
async function expectPlainValues(id: string): Promise<void> {
  const app = await createApp({ ...defaultSettings, dataDir, port: 0 })
  try {
    const { url } = await app.listen()
    const token = await app.issueAdminToken(600)
    const send = (method: string, body?: object): Promise<Response> =>
      fetch(`${url}/configs/v1/external-data-resolvers/${id}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
    const read = await send('GET')
    expect(await read.text()).not.toContain('plain-')
    const etag = read.headers.get('etag')
    const again = await send('PUT', { headers: plain })
    expect([again.status, again.headers.get('etag')]).toEqual([200, etag])
    const other = await send('PUT', { headers: { ...plain, 'X-One': 'another' } })
    expect([other.status, other.headers.get('etag') === etag]).toEqual([200, false])
  } finally {
    await app.close()
  }
}

describe('header values of a resolver', () => {
  it('are encrypted in every revision', async () => {
    await furnish()
    const values = valuesOf(await stored())
    expect(values.map(({ length }) => length)).toEqual([3, 3])
    expect(values.flat().every(isSealedText)).toBe(true)
  })

  it('that an earlier version stored in clear text are encrypted by the next start, past revisions too', async () => {
    const id = await furnish()
    await stored((document) => ({ ...document, fields: { ...document.fields, headers: plain } }))
    expect(valuesOf(await stored()).flat()).toContain('plain-one')
    await (await createApp({ ...defaultSettings, dataDir })).close()
    const values = valuesOf(await stored())
    expect(values.length).toBe(2)
    expect(values.flat().every(isSealedText)).toBe(true)
    await expectPlainValues(id)
  })

  it('follow a change of the master key', async () => {
    const id = await furnish()
    const before = valuesOf(await stored()).flat()
    const { resealed, unopened } = await rotate({ dataDir })
    // The administrator's key and three values of two revisions.
    expect([resealed, unopened]).toEqual([7, []])
    const after = valuesOf(await stored()).flat()
    expect(after.filter((value) => before.includes(value))).toEqual([])
    await expectPlainValues(id)
  })
})
