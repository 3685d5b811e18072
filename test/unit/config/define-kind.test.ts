// A field of a kind is declared once: a kind gets one more field here, in one line, and every reader of the shape has it.
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineKind, field, hidden, type KindField, shown } from '../../../src/config/define-kind.ts'
import { jsonSchemaOf } from '../../../src/config/json-schema.ts'
import type { ConfigKind, DocumentFields, StoredDocument } from '../../../src/config/kind.ts'
import { openSecret } from '../../../src/config/secrets.ts'
import { buildOpenApiDocument } from '../../../src/http/openapi/document.ts'
import { configRoutes } from '../../../src/http/routes/config.ts'
import { ok } from '../../../src/kernel/result.ts'
import { plainKind } from '../../../src/project/file-kinds.ts'
import {
  bytesBelow,
  errorIn,
  openProject,
  type ProjectFixture,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

afterAll(removeTemporaryFolders)

const headerValue = z.string().min(1).max(255).meta({ description: 'a value of a header' })

/** The kind of couriers: where they are, and the fields that a test adds. */
function couriers(more: Readonly<Record<string, KindField>>): ConfigKind {
  return defineKind({
    path: 'couriers',
    label: 'courier',
    fields: { url: field(z.string().min(1).max(2048)).required(), ...more },
    check: (fields) => ok({ fields }),
  })
}

const url = 'https://couriers.example/1'

/** The setup of a service whose kinds are those of the product and this one. */
async function withCouriers(kind: ConfigKind, use: (setup: ProjectFixture) => Promise<void>): Promise<void> {
  const setup = await openProject([kind])
  try {
    await use(setup)
  } finally {
    await setup.close()
  }
}

const create = (setup: ProjectFixture, body: DocumentFields) =>
  setup.service.create(setup.admin, setup.kind('couriers'), { project_id: setup.project, name: 'one', url, ...body })
const update = (setup: ProjectFixture, id: string, body: DocumentFields) =>
  setup.service.update(setup.admin, setup.kind('couriers'), id, body, null)
const idIn = (created: Awaited<ReturnType<typeof create>>) => valueIn(created).body.id as string

/** The members of the three bodies in the API description, and of the file. */
function membersOf(setup: ProjectFixture): Readonly<Record<'create' | 'update' | 'read' | 'file', DocumentFields>> {
  const { schemas } = buildOpenApiDocument(configRoutes(setup.service), '3.1.1', '0').components
  const properties = (schema: unknown) => (schema as { properties: DocumentFields }).properties
  return {
    create: properties(schemas.CourierCreate),
    update: properties(schemas.CourierUpdate),
    read: properties(schemas.Courier),
    file: properties(jsonSchemaOf(plainKind('couriers', '.courier.yaml', setup.kind('couriers')).schema, 'input')),
  }
}

test('without the field, no body has it', () =>
  withCouriers(couriers({}), async (setup) => {
    expect(errorIn(await create(setup, { retries: 5 }))).toEqual({
      kind: 'invalid',
      issues: ['body: unknown member `retries`'],
    })
    for (const members of Object.values(membersOf(setup))) expect(Object.keys(members)).not.toContain('retries')
  }))

test('a field with a default is in create, update, read, the API description and the file schema', () =>
  withCouriers(couriers({ retries: field(z.int().min(0).max(9)).default(3) }), async (setup) => {
    const id = idIn(await create(setup, {}))
    expect(setup.read('couriers', id)).toMatchObject({ url, retries: 3 })
    expect(errorIn(await update(setup, id, { retries: 10 }))).toEqual({
      kind: 'invalid',
      issues: ['retries: expected at most 9'],
    })
    valueIn(await update(setup, id, { retries: 5 }))
    expect(setup.read('couriers', id)).toMatchObject({ url, retries: 5 })
    expect(setup.read('couriers', idIn(await create(setup, { name: 'two', retries: 1 })))).toMatchObject({ retries: 1 })
    const { create: created, update: updated, read, file } = membersOf(setup)
    const limits = { type: ['integer', 'null'], minimum: 0, maximum: 9 }
    expect([created.retries, updated.retries, file.retries]).toEqual([limits, limits, limits])
    expect(read.retries).toMatchObject({ type: expect.stringMatching(/^(?:number|integer)$/) })
    // A file leaves out what an absent member means.
    const files = plainKind('couriers', '.courier.yaml', setup.kind('couriers'))
    expect(files.dataOf({ url, retries: 3 })).toEqual({ url })
    expect(files.dataOf({ url, retries: 4 })).toEqual({ url, retries: 4 })
  }))

test('a secret map is encrypted, masked, kept by its mask, and asked for again at another destination', () =>
  withCouriers(
    couriers({
      headers: field(z.record(z.string(), headerValue))
        .secret({ at: '*', sentTo: ['url'] })
        .default({}),
    }),
    async (setup) => {
      expect(setup.read('couriers', idIn(await create(setup, { name: 'two' })))).toMatchObject({ headers: {} })
      const id = idIn(await create(setup, { headers: { 'X-Key': 'courier-secret-1' } }))
      expect(setup.read('couriers', id)).toMatchObject({ headers: { 'X-Key': '' } })
      expect(bytesBelow(setup.dir)).not.toContain('courier-secret-1')
      // As it was read.
      valueIn(await update(setup, id, { headers: { 'X-Key': '' }, description: 'kept' }))
      const stored = setup.documents.get('couriers', id) as StoredDocument
      expect(openSecret(stored, ['headers', 'X-Key'], setup.box)).toBe('courier-secret-1')
      expect(errorIn(await update(setup, id, { url: 'https://elsewhere.example' }))).toEqual({
        kind: 'invalid',
        issues: ['headers.X-Key: required again with another `url`'],
      })
      expect(errorIn(await update(setup, id, { headers: { 'X-Key': 5 } }))).toMatchObject({
        issues: [expect.stringMatching(/^headers\.X-Key: expected .*, or empty strings to keep the stored value$/)],
      })
      // The mask of a member that has no secret yet.
      valueIn(await update(setup, id, { headers: { 'X-Key': '', 'X-New': '' } }))
      const masked = setup.documents.get('couriers', id)!
      expect(openSecret(masked, ['headers', 'X-New'], setup.box)).toBe('')
      for (const members of Object.values(membersOf(setup))) expect(members.headers).toBeDefined()
      const files = plainKind('couriers', '.courier.yaml', setup.kind('couriers'))
      expect(files.secrets).toEqual(['headers.*'])
    },
  ))

test('a secret text is in both bodies and in no response', () =>
  withCouriers(couriers({ token: field(z.string().min(1)).secret({ sentTo: ['url'] }) }), async (setup) => {
    const id = idIn(await create(setup, { token: 'courier-secret-2' }))
    expect(Object.keys(setup.read('couriers', id))).not.toContain('token')
    expect(bytesBelow(setup.dir)).not.toContain('courier-secret-2')
    const { create: created, update: updated, read, file } = membersOf(setup)
    expect([created.token, updated.token, file.token].every((member) => member !== undefined)).toBe(true)
    expect(Object.keys(read)).not.toContain('token')
  }))

test('a field that is fixed, shown or hidden is in the bodies of its declaration', () =>
  withCouriers(
    couriers({
      area: field(z.string().min(1)).required().fixed(),
      state: shown(z.enum(['NEW', 'OLD'])).default('NEW'),
      run: hidden(),
      notes: field(z.string().max(100)).emptyInLists(),
    }),
    async (setup) => {
      const id = idIn(await create(setup, { area: 'north', notes: 'long' }))
      expect(setup.read('couriers', id)).toMatchObject({ area: 'north', state: 'NEW', notes: 'long' })
      expect(errorIn(await update(setup, id, { area: 'south' }))).toEqual({
        kind: 'invalid',
        issues: ['area: cannot be changed after creation'],
      })
      // A document can be sent back as it was read.
      valueIn(await update(setup, id, setup.read('couriers', id)))
      const list = setup.service.list(
        setup.admin,
        setup.kind('couriers'),
        new URLSearchParams({ project_id: setup.project }),
      )
      expect(valueIn(list).data).toMatchObject([{ area: 'north', state: 'NEW', notes: '' }])
      const { create: created, update: updated, read, file } = membersOf(setup)
      expect(Object.keys(created)).toEqual([
        'name',
        'display_name',
        'description',
        'project_id',
        'url',
        'area',
        'notes',
      ])
      expect(updated.area).toMatchObject({ description: 'cannot be changed: accepted with its stored value' })
      expect(updated.state).toMatchObject({ readOnly: true })
      expect(Object.keys(read)).toEqual(expect.arrayContaining(['url', 'area', 'state', 'notes']))
      expect(Object.keys(file)).toEqual(['display_name', 'description', 'url', 'area', 'notes'])
    },
  ))
