// A project in database servers keeps its databases while they hold data; how they are reached may change.
import { expect, test } from 'vitest'
import { connectionChangeErrors, keepsDatabases } from '../../../src/config/database-places.ts'

const fields = (db_connection: object) => ({ db_connection })
const all = () => true
const none = () => false
const plain = fields({ url: 'bolt://one.example.com', name: 'shop' })

const composite = (more: object = {}) =>
  fields({
    url: 'bolt://one.example.com',
    name: 'main',
    composite_db_name: 'joined',
    alias_mapping: 'eu=eu&us=bolt://us.example.com/usgraph&home=main',
    ...more,
  })

const moved = (what: string) => `${what} holds data, and a change of the connection does not move them`
const ofNodes = 'the database of the nodes without a location'

test.each([
  ['scheme', { url: 'neo4j+s://one.example.com', name: 'shop' }],
  ['port by its number', { url: 'bolt://one.example.com:7687', name: 'shop' }],
  ['letter case', { url: 'bolt://ONE.example.com', name: 'Shop' }],
  ['credentials', { url: 'bolt://one.example.com', name: 'shop', username: 'new', password: 'secret' }],
  ['name as URL', { url: 'bolt://other.example.com', name: 'bolt://one.example.com/shop' }],
])('a change of the %s keeps the databases', (_, connection) => {
  expect(connectionChangeErrors(plain, fields(connection), all)).toEqual([])
  expect(keepsDatabases(plain, fields(connection))).toBe(true)
})

test.each([
  ['host', { url: 'bolt://two.example.com', name: 'shop' }, 'url'],
  ['port', { url: 'bolt://one.example.com:7688', name: 'shop' }, 'url'],
  ['database', { url: 'bolt://one.example.com', name: 'other' }, 'name'],
  ['default database', { url: 'bolt://one.example.com' }, 'name'],
])('a change of the %s is refused while it holds data', (_, connection, field) => {
  expect(connectionChangeErrors(plain, fields(connection), all)).toEqual([`db_connection.${field}: ${moved(ofNodes)}`])
  expect(connectionChangeErrors(plain, fields(connection), none)).toEqual([])
  expect(keepsDatabases(plain, fields(connection))).toBe(false)
})

test('a project becomes composite around its database', () => {
  const single = fields({ url: 'bolt://one.example.com', name: 'main' })
  expect(connectionChangeErrors(single, composite(), all)).toEqual([])
})

test('each location and the composite database keep theirs', () => {
  const refusals = (more: object, holds = all) => connectionChangeErrors(composite(), composite(more), holds)
  expect(refusals({})).toEqual([])
  expect(
    refusals({ alias_mapping: 'eu=bolt://one.example.com/eu&us=neo4j+s://us.example.com/usgraph&home=main' }),
  ).toEqual([])
  expect(refusals({ alias_mapping: 'eu=other&us=bolt://us.example.com/usgraph&home=main' })).toEqual([
    'db_connection.alias_mapping: the location `eu` holds data and cannot change its database',
  ])
  expect(refusals({ alias_mapping: 'eu=eu&home=main' })).toEqual([
    'db_connection.alias_mapping: the location `us` holds data and cannot change its database',
  ])
  expect(refusals({ composite_db_name: 'other' })).toEqual([
    `db_connection.composite_db_name: ${moved('the composite database')}`,
  ])
  expect(refusals({ url: 'bolt://two.example.com' })).toEqual([
    `db_connection.url: ${moved(ofNodes)}`,
    'db_connection.url: the location `eu` holds data and cannot change its database',
    `db_connection.url: ${moved('the composite database')}`,
  ])
  expect(refusals({ url: 'bolt://two.example.com' }, none)).toEqual([])
})

test('a graph stays embedded or in a server', () => {
  expect(connectionChangeErrors(plain, fields({ url: 'lmdb:' }), all)).toEqual([
    'db_connection.url: the project holds data, and a change of this field does not move them',
  ])
  expect(keepsDatabases(plain, fields({ url: 'lmdb:' }))).toBe(false)
})
