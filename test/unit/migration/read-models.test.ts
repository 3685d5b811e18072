// The readers of other products' models and relationships: what they read, and what they refuse with its place.
import { describe, expect, test } from 'vitest'
import { readOpenFgaJson, readOpenFgaModel } from '../../../src/migration/openfga/read-model.ts'
import { readOpenFgaTuple } from '../../../src/migration/openfga/read-tuple.ts'
import { directSubjects, isAccepted } from '../../../src/migration/relation-model.ts'
import { readSpiceDbRelationship } from '../../../src/migration/spicedb/read-relationship.ts'
import { readSpiceDbSchema } from '../../../src/migration/spicedb/read-schema.ts'

const FORM = { relation: null, wildcard: false, condition: null, expires: false }

describe('a model of OpenFGA', () => {
  const text = `
model
  schema 1.1
# people
type user
type group
  relations
    define member: [user, group#member] # nested
type doc
  relations
    define parent: [doc]
    define viewer: [user:*, user with recent] or (editor but not banned) or viewer from parent
    define editor: [user]
    define banned: [group#member]
condition recent(at: timestamp, ids: list<string>) {
  at > timestamp("2024-01-01T00:00:00Z") && "}" in ids
}
`
  test('is read from its text', () => {
    const { types, conditions } = readOpenFgaModel(text)
    expect([...types.keys()]).toEqual(['user', 'group', 'doc'])
    expect(types.get('group')?.get('member')).toEqual({
      kind: 'direct',
      subjects: [
        { ...FORM, type: 'user' },
        { ...FORM, type: 'group', relation: 'member' },
      ],
    })
    expect(types.get('doc')?.get('viewer')).toEqual({
      kind: 'any',
      of: [
        {
          kind: 'direct',
          subjects: [
            { ...FORM, type: 'user', wildcard: true },
            { ...FORM, type: 'user', condition: 'recent' },
          ],
        },
        { kind: 'except', base: { kind: 'relation', name: 'editor' }, minus: { kind: 'relation', name: 'banned' } },
        { kind: 'arrow', through: 'parent', name: 'viewer', every: false },
      ],
    })
    expect(conditions.get('recent')?.parameters.get('ids')).toEqual({ list: 'string' })
    expect(conditions.get('recent')?.expression).toMatch(/^at > .* in ids$/)
  })

  test('is read from its modules', () => {
    const modules = ['module core\ntype user\ntype org\n  relations\n    define member: [user]']
    modules.push('module wiki\nextend type org\n  relations\n    define can_write: member')
    expect([
      ...readOpenFgaModel(...modules)
        .types.get('org')!
        .keys(),
    ]).toEqual(['member', 'can_write'])
  })

  test('is read from its JSON form', () => {
    const child = [{ this: {} }, { computedUserset: { relation: 'editor' } }]
    const viewer = { directly_related_user_types: [{ type: 'user', wildcard: {} }] }
    const types = [{ type: 'doc', relations: { viewer: { union: { child } } }, metadata: { relations: { viewer } } }]
    const parameters = { ids: { type_name: 'TYPE_NAME_LIST', generic_types: [{ type_name: 'TYPE_NAME_STRING' }] } }
    const model = readOpenFgaJson({ type_definitions: types, conditions: { some: { expression: 'true', parameters } } })
    expect(model.types.get('doc')?.get('viewer')).toEqual({
      kind: 'any',
      of: [
        { kind: 'direct', subjects: [{ ...FORM, type: 'user', wildcard: true }] },
        { kind: 'relation', name: 'editor' },
      ],
    })
    expect(model.conditions.get('some')?.parameters.get('ids')).toEqual({ list: 'string' })
  })

  test('is refused with the place of the fault', () => {
    expect(() => readOpenFgaModel('type doc\n  relations\n    define viewer [user]')).toThrow(
      'line 3, column 19: expected `:`, found `[user]`',
    )
    expect(() => readOpenFgaModel('typo doc')).toThrow('line 1, column 1: expected `type` or `condition`, found `typo`')
  })

  test('accepts the relationships of its restrictions', () => {
    const model = readOpenFgaModel(text)
    const accepts = (user: string, relation: string, object: string, condition?: { readonly name: string }): boolean =>
      isAccepted(model, readOpenFgaTuple({ user, relation, object, ...(condition ? { condition } : {}) }))
    expect(accepts('user:*', 'viewer', 'doc:1')).toBe(true)
    expect(accepts('user:ann', 'viewer', 'doc:1')).toBe(false)
    expect(accepts('user:ann', 'viewer', 'doc:1', { name: 'recent' })).toBe(true)
    expect(accepts('group:g#member', 'banned', 'doc:1')).toBe(true)
    expect(accepts('group:g', 'banned', 'doc:1')).toBe(false)
    expect(() => accepts('ann', 'viewer', 'doc:1')).toThrow('`ann` is not an object: write `type:id`')
  })
})

describe('a schema of SpiceDB', () => {
  test('is read with the precedence of its operators', () => {
    const { types, conditions } = readSpiceDbSchema(`
use expiration
/* } */ caveat recent(at timestamp, by map<string>) { at > timestamp("2024-01-01T00:00:00Z") }
definition team { relation member: user | team#member with recent and expiration; }
definition doc {
  relation parent: doc#... // the object
  relation owner: user:*
  permission view = owner + parent->view & owner - nil
  permission approve: user = parent.all(approve)
}`)
    expect(directSubjects(types.get('team')!.get('member'))[1]).toEqual({
      type: 'team',
      relation: 'member',
      wildcard: false,
      condition: 'recent',
      expires: true,
    })
    expect(types.get('doc')?.get('view')).toEqual({
      kind: 'except',
      base: {
        kind: 'all',
        of: [
          {
            kind: 'any',
            of: [
              { kind: 'relation', name: 'owner' },
              { kind: 'arrow', through: 'parent', name: 'view', every: false },
            ],
          },
          { kind: 'relation', name: 'owner' },
        ],
      },
      minus: { kind: 'none' },
    })
    expect(types.get('doc')?.get('approve')).toEqual({ kind: 'arrow', through: 'parent', name: 'approve', every: true })
    expect(conditions.get('recent')?.parameters.get('by')).toEqual({ map: 'string' })
  })

  test('has relationships with caveats and expiration', () => {
    expect(
      readSpiceDbRelationship('doc:1#view@team:a#member[recent:{"by":{"a":1}}][expiration:2030-01-01T00:00:00Z]'),
    ).toEqual({
      subject: { type: 'team', id: 'a', relation: 'member' },
      relation: 'view',
      object: { type: 'doc', id: '1' },
      condition: { name: 'recent', context: { by: { a: 1 } } },
      expiration: '2030-01-01T00:00:00Z',
    })
    expect(readSpiceDbRelationship('doc:1#view@user:*').subject).toEqual({ type: 'user', id: '*', relation: null })
    expect(() => readSpiceDbRelationship('doc:1 view user:a')).toThrow('`doc:1 view user:a` is not a relationship')
  })
})
