import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { validate } from '../../../src/config/validate.ts'
import { elementNameRule } from '../../../src/kernel/element-rules.ts'
import { authorizationPolicies } from '../../../src/policy/authorization-policy.ts'
import {
  type ConfigurationFixture,
  errorIn,
  openConfiguration,
  projectBody,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

let setup: ConfigurationFixture
let project: string
beforeEach(async () => {
  setup = await openConfiguration()
  project = (await setup.create('projects', projectBody(setup))).id
})
afterEach(() => setup.close())
afterAll(removeTemporaryFolders)

const CYPHER = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
const good = {
  meta: { policy_version: '2.0-kbac' },
  subject: { type: 'Person' },
  actions: ['drive'],
  resource: { type: 'Car' },
  condition: { cypher: CYPHER },
}
const kind = () => setup.kind('authorization-policies')
const body = (policy: unknown, more: Record<string, unknown> = {}) => ({
  project_id: project,
  name: 'owners-drive',
  policy: typeof policy === 'string' ? policy : JSON.stringify(policy),
  status: 'ACTIVE',
  ...more,
})
const create = (policy: unknown, more: Record<string, unknown> = {}) =>
  setup.service.create(setup.admin, kind(), body(policy, more))
const issuesOf = async (policy: unknown, more: Record<string, unknown> = {}) => {
  const error = errorIn(await create(policy, more))
  if (error.kind !== 'invalid') throw new Error(JSON.stringify(error))
  return error.issues
}

describe('a policy', () => {
  test('has as many characters as the setting allows', async () => {
    const text = JSON.stringify(good)
    const issues = (textMax: number) => {
      const read = validate(authorizationPolicies(textMax, () => []).createSchema, body(text))
      return read.ok ? [] : read.error
    }
    expect(issues(text.length)).toEqual([])
    expect(issues(text.length - 1)).toEqual([`policy: expected at most ${text.length - 1} characters`])
  })

  test.each(['subject', 'resource'])('has as %s a type that can be captured, or one of the service', async (member) => {
    const cypher = 'MATCH (subject)-[:OWNS]->(resource)'
    const of = (type: string) => ({ ...good, [member]: { type }, condition: { cypher } })
    expect(await issuesOf(of('_x'))).toEqual([
      expect.stringMatching(`policy.${member}.type: \`_x\` cannot be captured: .* \`_Application\``),
    ])
    for (const type of ['x', 'Größe', '_Application', '_AppAgent', '_TrustScore'])
      expect((await create(of(type), { name: `of-${type.toLowerCase().replace(/[^a-z]/g, '')}` })).ok).toBe(true)
  })

  test('reads back as it was sent, and its text is omitted in short lists', async () => {
    const text = `\n${JSON.stringify(good, null, 2)}`
    const { body: made, etag } = valueIn(await create(text, { tags: ['fleet'], description: 'Owners drive' }))
    expect(etag).not.toBeNull()
    const read = setup.read('authorization-policies', made.id as string)
    expect(read).toMatchObject({
      policy: text,
      status: 'ACTIVE',
      tags: ['fleet'],
      project_id: project,
      name: 'owners-drive',
    })
    const list = (query: string) =>
      valueIn(setup.service.list(setup.admin, kind(), new URLSearchParams(`project_id=${project}${query}`))).data
    expect(list('')).toEqual([{ ...read, policy: '' }])
    expect(list('&full_fetch=true')).toEqual([read])
    expect(list('&type=kbac')).toHaveLength(1)
    expect(list('&type=ciq')).toEqual([])
    const query = new URLSearchParams({ location: project })
    expect(valueIn(setup.service.read(setup.admin, kind(), 'owners-drive', query)).body).toEqual(read)
  })

  test('without tags reads back an empty list', async () => {
    const { body: made } = valueIn(await create(good))
    expect(setup.read('authorization-policies', made.id as string).tags).toEqual([])
  })

  test('is updated only to a policy that compiles', async () => {
    const id = valueIn(await create(good)).body.id as string
    const change = (fields: unknown) => setup.service.update(setup.admin, kind(), id, fields, null)
    expect(errorIn(await change({ policy: 'nonsense', status: 'ACTIVE' })).kind).toBe('invalid')
    expect(errorIn(await change({ policy: 'nonsense', status: 'INACTIVE' })).kind).toBe('invalid')
    valueIn(await change({ policy: 'nonsense', status: 'DRAFT' }))
    expect(setup.read('authorization-policies', id)).toMatchObject({ policy: 'nonsense', status: 'DRAFT' })
  })

  test('can contain anything below the size limit as a DRAFT', async () => {
    valueIn(await create('{"meta":', { status: 'DRAFT' }))
    expect(await issuesOf('x'.repeat(512_001), { status: 'DRAFT', name: 'long' })).toEqual([
      'policy: expected at most 512000 characters',
    ])
  })
})

describe('a policy is refused', () => {
  test.each([
    [
      'a status in another case',
      { status: 'active' },
      ['status: expected `ACTIVE` or `INACTIVE` or `DRAFT`, found `active`'],
    ],
    ['a document that is no string', { policy: good }, ['policy: expected string, found object']],
    ['tags that are no list', { tags: 'fleet' }, ['tags: expected array, found string']],
    ['a tag twice', { tags: ['a', 'a'] }, ['tags: duplicate tag']],
    ['an unknown member', { effect: 'deny' }, ['body: unknown member `effect`']],
  ])('for %s', async (_, more, issues) => {
    expect(await issuesOf(good, more)).toEqual(issues)
  })

  test('for malformed JSON in it, with the position', async () => {
    expect(await issuesOf('{\n  "meta": {"policy_version" "2.0-kbac"}\n}')).toEqual([
      'policy: malformed JSON at line 2, column 29: expected `:`, found `"`',
    ])
    expect(await issuesOf(JSON.stringify(good).replace('}}', `},"condition":{"cypher":"${CYPHER}"}}`))).toEqual([
      expect.stringMatching(/^policy: malformed JSON at line 1, column \d+: the member `condition` is given twice$/),
    ])
    expect(await issuesOf(JSON.stringify(good).replace('{', '{"__proto__":{"x":1},'))).toEqual([
      'policy: unknown member `__proto__`',
    ])
  })

  test.each<[string, unknown, string[]]>([
    ['no object', [], ['policy: expected object, found array']],
    [
      'what only a decision has, in a context policy',
      { ...good, meta: { policy_version: '1.0-ciq' } },
      ['policy: unknown member `actions`, `resource`'],
    ],
    [
      'an unknown version',
      { ...good, meta: { policy_version: '4.0' } },
      ['policy.meta.policy_version: expected one of `2.0-kbac`, `3.0-kbac`, `1.0-ciq`, found `4.0`'],
    ],
    ['no version', { ...good, meta: {} }, ['policy.meta.policy_version: expected string, found nothing']],
    ['an unknown member', { ...good, consequence: 'deny' }, ['policy: unknown member `consequence`']],
    ['an unknown effect', { ...good, effect: 'deny' }, ['policy.effect: expected `permit` or `forbid`, found `deny`']],
    [
      'an unknown member within',
      { ...good, subject: { type: 'Person', id: 'ann' } },
      ['policy.subject: unknown member `id`'],
    ],
    ['no actions', { ...good, actions: [] }, ['policy.actions: expected at least 1 item']],
    ['an action twice', { ...good, actions: ['drive', 'drive'] }, ['policy.actions: an action is given twice']],
    [
      'an action with a blank',
      { ...good, actions: ['to read'] },
      ['policy.actions[0]: expected letters, digits and `. : _ - /`'],
    ],
    [
      'an action with a space',
      { ...good, actions: ['drive', 'to drive'] },
      ['policy.actions[1]: expected letters, digits and `. : _ - /`'],
    ],
    [
      'a type that is no label',
      { ...good, resource: { type: '1Car' } },
      [`policy.resource.type: expected a label: ${elementNameRule}`],
    ],
    [
      'a long type',
      { ...good, subject: { type: 'P'.repeat(65) } },
      ['policy.subject.type: expected at most 64 characters'],
    ],
    ['no condition', { ...good, condition: {} }, ['policy.condition.cypher: expected string, found nothing']],
    [
      'a filter of another form',
      { ...good, condition: { cypher: CYPHER, filter: 'none' } },
      ['policy.condition.filter: expected object, found string'],
    ],
  ])('for %s', async (_, policy, issues) => {
    expect(await issuesOf(policy)).toEqual(issues)
  })

  test('for a condition that does not parse, with line, column, what was found and expected, and a caret', async () => {
    const cypher = 'MATCH (subject:Person)\nMATCH (subject)-[:OWNS->(resource:Car)'
    expect(await issuesOf({ ...good, condition: { cypher } })).toEqual([
      [
        'policy.condition.cypher: line 2, column 23: unexpected `-`, expected `]`',
        'MATCH (subject)-[:OWNS->(resource:Car)',
        '                      ^',
      ].join('\n'),
    ])
  })

  test('for a condition that does not bind, writes or returns', async () => {
    for (const cypher of [
      'MATCH (subject:Person) WHERE nobody.x = 1',
      'MATCH (subject:Person)',
      'MATCH (subject:Person), (resource:Car) SET subject.admin = true',
      `${CYPHER} RETURN subject`,
      'CREATE (subject:Person), (resource:Car)',
    ]) {
      const [issue] = await issuesOf({ ...good, condition: { cypher } })
      expect(issue).toMatch(/^policy\.condition\.cypher: line 1, column \d+: .+\n.+\n *\^+$/)
    }
  })

  test('for `$subject_id` in 3.0, and takes it in 2.0', async () => {
    const condition = { cypher: `${CYPHER} WHERE subject.external_id = $subject_id` }
    const [issue] = await issuesOf({ ...good, meta: { policy_version: '3.0-kbac' }, condition })
    expect(issue).toContain('parameter "$subject_id" is reserved and cannot be referenced')
    valueIn(await create({ ...good, condition }))
  })

  test('but not for parameters that only a token or the application can supply', async () => {
    for (const [i, parameter] of ['$token.sub', '$svc_token.act.sub', '$_appId'].entries()) {
      const condition = { cypher: `MATCH (subject)-->(resource) WHERE resource.x = ${parameter}` }
      valueIn(await create({ ...good, condition }, { name: `claims-${i}` }))
    }
    expect(
      setup.library.find(project, 'Person', 'drive', 'Car').grants.map((policy) => policy.inputParameters),
    ).toEqual([[], [], []])
  })

  test('but not for parameters with the names of inherited members', async () => {
    for (const name of ['constructor', 'toString', '__proto__', 'valueOf', 'hasOwnProperty']) {
      const condition = { cypher: `${CYPHER} WHERE subject.x = $${name}` }
      valueIn(await create({ ...good, condition }, { name: `for-${name.toLowerCase().replaceAll('_', 'x')}` }))
    }
  })

  test.each([[null], [{}], [[]]])('but not for the empty filter %j', async (filter) => {
    valueIn(await create({ ...good, condition: { cypher: CYPHER, filter } }))
  })
})

describe('the policy index', () => {
  const find = (action = 'drive', projectId = project) => setup.library.find(projectId, 'Person', action, 'Car').grants

  test('finds a policy by the exact terms of a request', async () => {
    const id = valueIn(await create({ ...good, actions: ['drive', 'wash'] }, { tags: ['fleet'] })).body.id
    for (const action of ['drive', 'wash']) {
      expect(find(action)).toMatchObject([
        { id, name: 'owners-drive', version: '2.0-kbac', subjectType: 'Person', resourceType: 'Car', tags: ['fleet'] },
      ])
    }
    for (const none of [
      find('fly'),
      find('drive', 'gid:other'),
      setup.library.find(project, 'person', 'drive', 'Car').grants,
      setup.library.find(project, 'Person', 'drive', 'Bus').grants,
      setup.library.find(project, 'constructor', '__proto__', 'toString').grants,
    ]) {
      expect(none).toEqual([])
    }
  })

  test('names the parameters that the caller must send, not those that the service binds', async () => {
    const cypher = `${CYPHER} WHERE resource.wheels >= $min AND subject.external_id = $subject_external_id AND resource.colour = $resource_properties.colour`
    valueIn(await create({ ...good, condition: { cypher } }))
    expect(find()[0]?.inputParameters).toEqual(['min'])
  })

  test('applies every change at once', async () => {
    expect(find()).toEqual([])
    const id = valueIn(await create(good)).body.id as string
    const second = valueIn(await create(good, { name: 'second' })).body.id as string
    expect(find().map((policy) => policy.id)).toEqual([id, second])
    const change = (fields: Record<string, unknown>) =>
      setup.service.update(setup.admin, kind(), id, { policy: JSON.stringify(good), status: 'ACTIVE', ...fields }, null)
    for (const status of ['INACTIVE', 'DRAFT']) {
      valueIn(await change({ status }))
      expect(find().map((policy) => policy.id)).toEqual([second])
    }
    valueIn(await change({ policy: JSON.stringify({ ...good, actions: ['park'] }) }))
    expect(find('park').map((policy) => policy.id)).toEqual([id])
    expect(find().map((policy) => policy.id)).toEqual([second])
    valueIn(await setup.service.remove(setup.admin, kind(), second, null))
    expect(find()).toEqual([])
    valueIn(await setup.service.remove(setup.admin, setup.kind('projects'), project, null))
    expect(find('park')).toEqual([])
  })

  test('returns the same compiled policy until it is changed', async () => {
    valueIn(await create(good))
    const [first] = find()
    valueIn(await create(good, { name: 'second' }))
    expect(find()[0]).toBe(first)
  })

  test('finds the same after a restart', async () => {
    const id = valueIn(await create(good)).body.id as string
    await setup.close()
    setup = await openConfiguration({ dir: setup.dir, board: setup.board })
    for (const _ of setup.library.warming()) expect(setup.log).toEqual([])
    expect(find().map((policy) => policy.id)).toEqual([id])
    expect(setup.log).toEqual([])
  })

  describe('reads the header of a policy from its text', () => {
    const stored = (id: string) => setup.documents.get('authorization-policies', id)
    const listed = (type: string) =>
      valueIn(
        setup.service.list(setup.admin, kind(), new URLSearchParams(`project_id=${project}&type=${type}`)),
      ).data.map((one) => one.id)

    test('and lists by it, after a restart too', async () => {
      const id = valueIn(await create(good)).body.id as string
      const draft = valueIn(await create('no JSON', { name: 'draft', status: 'DRAFT' })).body.id as string
      const context = {
        meta: { policy_version: '1.0-ciq' },
        subject: { type: 'Person' },
        condition: { cypher: 'MATCH (subject:Person)' },
      }
      const other = valueIn(await create(context, { name: 'context' })).body.id as string
      await setup.close()
      setup = await openConfiguration({ dir: setup.dir, board: setup.board })
      expect(find().map((policy) => policy.id)).toEqual([id])
      expect(listed('kbac')).toEqual([id, draft])
      expect(listed('ciq')).toEqual([other])
    })

    test('also where another release or an import changed the text, and whatever fields it left', async () => {
      const id = valueIn(await create(good)).body.id as string
      expect(find().map((policy) => policy.id)).toEqual([id])
      await setup.documents.write((changes) => {
        const document = stored(id)
        if (document === null) throw new Error('not stored')
        const policy = JSON.stringify({ ...good, actions: ['park'] })
        const policy_header = { actions: ['drive'], policy_version: '2.0-kbac', subject_type: 'Person' }
        changes.put({ ...document, fields: { ...document.fields, policy, policy_header } })
      })
      expect(find()).toEqual([])
    })

    test('so that the same update creates no new revision', async () => {
      const id = valueIn(await create(good)).body.id as string
      const { etag } = valueIn(setup.service.read(setup.admin, kind(), id))
      const same = { policy: JSON.stringify(good), status: 'ACTIVE' }
      expect(valueIn(await setup.service.update(setup.admin, kind(), id, same, null)).etag).toBe(etag)
    })
  })

  test('denies for a stored policy that does not compile any more, and reports it once', async () => {
    const id = valueIn(await create(good)).body.id as string
    // As a later release with a narrower language would find it.
    await setup.documents.write((draft) => {
      const stored = draft.get('authorization-policies', id)
      if (stored === null) throw new Error('not stored')
      draft.put({
        ...stored,
        fields: { ...stored.fields, policy: JSON.stringify({ ...good, condition: { cypher: 'GRANT' } }) },
      })
    })
    valueIn(await create(good, { name: 'second' }))
    expect(find().map((policy) => policy.name)).toEqual(['second'])
    expect(find()).toHaveLength(1)
    expect(setup.log).toHaveLength(1)
    expect(setup.log[0]).toContain(
      `policy ${id} (owners-drive) no longer compiles and grants nothing: policy.condition.cypher: line 1`,
    )
  })

  test('keeps a policy that forbids and does not compile any more, because it may forbid anything', async () => {
    const forbidding = { ...good, effect: 'forbid' }
    const id = valueIn(await create(forbidding)).body.id as string
    expect(setup.library.find(project, 'Person', 'drive', 'Car')).toMatchObject({
      grants: [],
      forbids: [{ id }],
      broken: [],
    })
    await setup.documents.write((draft) => {
      const stored = draft.get('authorization-policies', id)
      if (stored === null) throw new Error('not stored')
      const policy = JSON.stringify({ ...forbidding, condition: { cypher: 'GRANT' } })
      draft.put({ ...stored, fields: { ...stored.fields, policy } })
    })
    valueIn(await create(good, { name: 'second' }))
    expect(setup.library.find(project, 'Person', 'drive', 'Car')).toMatchObject({
      grants: [{ name: 'second' }],
      forbids: [],
      broken: [{ id, name: 'owners-drive', version: '2.0-kbac' }],
    })
    expect(setup.log[0]).toContain(`policy ${id} (owners-drive) no longer compiles and denies everything that it names`)
  })
})
