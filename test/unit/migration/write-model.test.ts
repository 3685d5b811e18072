// The texts that are written for other products' models, and the answers of the library to them.
import { describe, expect, test } from 'vitest'
import { readOpenFgaModel } from '../../../src/migration/openfga/read-model.ts'
import {
  type OpenFgaTuple,
  readOpenFgaObject,
  readOpenFgaSubject,
  readOpenFgaTuple,
} from '../../../src/migration/openfga/read-tuple.ts'
import type { RelationModel } from '../../../src/migration/relation-model.ts'
import { readSpiceDbRelationship } from '../../../src/migration/spicedb/read-relationship.ts'
import { readSpiceDbSchema } from '../../../src/migration/spicedb/read-schema.ts'
import { ConvertedModel } from '../../../src/migration/write-model.ts'
import { askCase } from '../../peers/ask-case.ts'
import type { PeerQuestion } from '../../peers/peer-case.ts'

/** The model of OpenFGA with these relations of these types. */
function openFga(types: Readonly<Record<string, readonly string[]>>, rest = ''): RelationModel {
  const texts = Object.entries(types).map(([type, relations]) => {
    const defined = relations.map((one) => `\n    define ${one}`).join('')
    return `type ${type}${relations.length === 0 ? '' : `\n  relations${defined}`}`
  })
  return readOpenFgaModel(`model\n  schema 1.1\n${texts.join('\n')}\n${rest}`)
}

/** What differs from the expected answers: `user relation object` with `yes` or `no`. */
async function wrong(
  model: RelationModel,
  tuples: readonly (readonly [string, string, string])[],
  checks: readonly (readonly [string, string, string, 'yes' | 'no'])[],
): Promise<readonly string[]> {
  const questions = checks.map(([user, relation, object, expected]): PeerQuestion => {
    const [subject, of] = [readOpenFgaSubject(user), readOpenFgaObject(object)]
    const id = `${user} ${relation} ${object}`
    return {
      id,
      kind: 'check',
      subject,
      relation,
      object: of,
      context: {},
      contextual: [],
      expected: expected === 'yes',
    }
  })
  const read = tuples.map(([user, relation, object]) =>
    readOpenFgaTuple({ user, relation, object } satisfies OpenFgaTuple),
  )
  const verdicts = await askCase({ id: 'case', text: '', model, tuples: read, questions })
  return verdicts.flatMap(({ id, why }) => (why === null ? [] : [`${id}: ${why}`]))
}

describe('the text of a model', () => {
  test('has one definition for a relation of several types, with the label of a type only where others would be reached', () => {
    const model = openFga({
      user: [],
      group: ['member: [user, group#member]'],
      folder: [
        'owner: [user]',
        'parent: [folder]',
        'viewer: [user, user:*, group#member] or owner or viewer from parent',
      ],
      doc: [
        'owner: [user]',
        'parent: [folder]',
        'viewer: [user]',
        'can_read: viewer or viewer from parent',
        'can_share: owner',
      ],
    })
    const { text, names } = new ConvertedModel(model)
    expect(text).toBe(`DEFINE (u)-[:member]->(d) AS {
  MATCH (u)-[:MEMBER]->(d)
  UNION
  MATCH (u)-[:member]->()-[:MEMBER]->(d)
}

DEFINE (u)-[:viewer]->(d) AS {
  MATCH (u)-[:VIEWER]->(d)
  UNION
  MATCH (u)-[:member]->()-[:VIEWER]->(d)
  UNION
  MATCH (u:user), (:user {external_id: '*'})-[:VIEWER]->(d)
  UNION
  MATCH (u)-[:OWNER]->(d:folder)
  UNION
  MATCH (u)-[:viewer]->()-[:PARENT]->(d:folder)
}

DEFINE (u)-[:can_read]->(d:doc) AS {
  MATCH (u)-[:viewer]->(d)
  UNION
  MATCH (u)-[:viewer]->()-[:PARENT]->(d)
}`)
    expect(names.renamings).toEqual([])
  })

  test('leaves a stored relation and another name of a relation to the policy', () => {
    const model = openFga({ user: [], doc: ['owner: [user]', 'can_share: owner', 'banned: [user]'] })
    const converted = new ConvertedModel(model)
    expect(converted.text).toBe('')
    const user = { type: 'user', relation: null }
    expect(converted.condition(user, 'doc', 'can_share')).toBe('MATCH (subject:user)-[:OWNER]->(resource:doc)')
    expect(converted.condition({ type: 'doc', relation: null }, 'doc', 'can_share')).toBeNull()
    expect(converted.condition(user, 'doc', 'missing')).toBeNull()
  })

  test('names what it had to rename', () => {
    const { text, names } = new ConvertedModel(
      openFga({ user: [], 'asset-kind': ['a: [user]', 'can-edit: a or b', 'b: [user]'] }),
    )
    expect(text).toBe('DEFINE (u)-[:can_edit]->(d) AS { MATCH (u)-[:A_|B_]->(d) }')
    expect(names.renamings).toEqual([
      { what: 'type', from: 'asset-kind', to: 'asset_kind' },
      { what: 'relation', from: 'a', to: 'a_' },
      { what: 'relation', from: 'can-edit', to: 'can_edit' },
      { what: 'relation', from: 'b', to: 'b_' },
    ])
  })

  test('writes a condition once, and a missing value of an exclusion excludes', () => {
    const model = openFga(
      { user: [], doc: ['viewer: [user]', 'banned: [user with over]', 'can_view: viewer but not banned'] },
      'condition over(limit: int) { limit > 3 }',
    )
    expect(new ConvertedModel(model).text).toBe(`DEFINE (u)-[:banned]->(d) AS {
  MATCH (u)-[r:BANNED]->(d) WHERE coalesce(r.limit, $limit) > 3
}

DEFINE (u)-[:can_view]->(d) AS {
  MATCH (u)-[:VIEWER]->(d) WHERE NOT (u)-[:possible_banned]->(d)
}

DEFINE (u)-[:possible_banned]->(d) AS {
  MATCH (u)-[r:BANNED]->(d) WHERE coalesce(coalesce(r.limit, $limit) > 3, true)
}`)
  })
})

describe('the answers', () => {
  test('distinguish two usersets of one type, and the object itself', async () => {
    const model = openFga({
      user: [],
      group: ['member: [user, group#admin] or admin', 'admin: [user]'],
      doc: ['viewer: [user, group, group#member, group#admin]'],
    })
    const tuples = [
      ['user:ann', 'admin', 'group:g'],
      ['user:bob', 'member', 'group:g'],
      ['group:g#admin', 'viewer', 'doc:1'],
      ['group:g#member', 'viewer', 'doc:2'],
      ['group:g', 'viewer', 'doc:3'],
      ['group:h#admin', 'member', 'group:g'],
      ['user:eve', 'admin', 'group:h'],
    ] as const
    const checks = [
      ['user:ann', 'viewer', 'doc:1', 'yes'],
      ['user:bob', 'viewer', 'doc:1', 'no'],
      ['user:bob', 'viewer', 'doc:2', 'yes'],
      ['user:eve', 'viewer', 'doc:2', 'yes'],
      ['user:eve', 'viewer', 'doc:1', 'no'],
      ['user:ann', 'viewer', 'doc:3', 'no'],
      ['group:g', 'viewer', 'doc:3', 'yes'],
      ['group:g', 'viewer', 'doc:2', 'no'],
      ['group:g#member', 'viewer', 'doc:2', 'yes'],
      ['group:g#admin', 'viewer', 'doc:2', 'yes'],
      ['group:g#member', 'viewer', 'doc:1', 'no'],
    ] as const
    expect(await wrong(model, tuples, checks)).toEqual([])
  })

  test('do not read a userset in a group as one of the group', async () => {
    // A userset that belongs to another object must not be read as the relationship to its own object.
    const model = readSpiceDbSchema(`definition user {}
definition doc { relation viewer: user | doc#viewer | doc#editor
  relation editor: user }`)
    const tuples = ['doc:1#viewer@doc:2#viewer', 'doc:1#viewer@user:ann', 'doc:2#viewer@user:bob'].map(
      readSpiceDbRelationship,
    )
    const check = (name: string, id: string, expected: boolean): PeerQuestion => ({
      ...{ id: `${name} ${id}`, kind: 'check', relation: 'viewer', context: {}, contextual: [], expected },
      ...{ subject: { type: 'user', id: name, relation: null }, object: { type: 'doc', id } },
    })
    const questions = [check('bob', '1', true), check('ann', '2', false), check('ann', '1', true)]
    const verdicts = await askCase({ id: 'case', text: '', model, tuples, questions })
    expect(verdicts.map(({ why }) => why)).toEqual([null, null, null])
  })

  test('end at a relation that excludes itself with a denial', async () => {
    const model = openFga({ user: [], doc: ['restricted: [user, doc#viewer]', 'viewer: [user] but not restricted'] })
    const tuples = [
      ['user:jon', 'viewer', 'doc:1'],
      ['doc:1#viewer', 'restricted', 'doc:1'],
      // Not a cycle: those who view 3 do not view 2, and those who view 4 and are restricted there view 3 no more.
      ['user:jon', 'viewer', 'doc:2'],
      ['doc:3#viewer', 'restricted', 'doc:2'],
      ['user:jon', 'viewer', 'doc:3'],
      ['doc:4#viewer', 'restricted', 'doc:3'],
      ['user:jon', 'viewer', 'doc:4'],
      ['user:ann', 'viewer', 'doc:1'],
    ] as const
    const checks = [
      ['user:jon', 'viewer', 'doc:1', 'no'],
      ['user:ann', 'viewer', 'doc:1', 'no'],
      ['user:jon', 'viewer', 'doc:4', 'yes'],
      ['user:jon', 'viewer', 'doc:3', 'no'],
      ['user:jon', 'viewer', 'doc:2', 'yes'],
    ] as const
    expect(await wrong(model, tuples, checks)).toEqual([])
  })

  test('follow recursion along two branches', async () => {
    const model = openFga({
      user: [],
      doc: ['left: [doc]', 'right: [doc]', 'can: [user] or both', 'both: can from left and can from right'],
    })
    const tuples = [
      ['user:ann', 'can', 'doc:l1'],
      ['user:ann', 'can', 'doc:r1'],
      ['doc:l1', 'left', 'doc:l2'],
      ['doc:r1', 'right', 'doc:l2'],
      ['doc:l2', 'left', 'doc:3'],
      ['doc:r1', 'right', 'doc:3'],
      ['user:bob', 'can', 'doc:l2'],
    ] as const
    const checks = [
      ['user:ann', 'can', 'doc:3', 'yes'],
      ['user:bob', 'can', 'doc:3', 'no'],
    ] as const
    expect(await wrong(model, tuples, checks)).toEqual([])
  })

  test('do not reach a type that has no such relation', async () => {
    // `can_view` of a folder is its `viewer`. A document has viewers too, but no `can_view`.
    const model = openFga({
      user: [],
      folder: ['viewer: [user]', 'can_view: viewer'],
      doc: ['viewer: [user]', 'parent: [folder, doc]', 'can_read: can_view from parent'],
    })
    const tuples = [
      ['user:ann', 'viewer', 'folder:f'],
      ['folder:f', 'parent', 'doc:1'],
      ['user:ann', 'viewer', 'doc:1'],
      ['doc:1', 'parent', 'doc:2'],
    ] as const
    const checks = [
      ['user:ann', 'can_read', 'doc:1', 'yes'],
      ['user:ann', 'can_read', 'doc:2', 'no'],
    ] as const
    expect(await wrong(model, tuples, checks)).toEqual([])
  })
})
