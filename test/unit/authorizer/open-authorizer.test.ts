// An authorizer in memory: decisions, searches, knowledge queries, tokens and writes, and the errors of each.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Authorizer, EvaluationInput } from '../../../src/authorizer/authorizer.ts'
import { AuthorizerError } from '../../../src/authorizer/authorizer-error.ts'
import { matchers } from '../../../src/authorizer/matchers.ts'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { Float } from '../../../src/kernel/float.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const files = {
  'verdigraph.yaml': 'name: cars\n',
  'policies/drive.policy.yaml':
    'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels >= $min\n',
  'policies/sign.policy.yaml':
    'subject: Person\nactions: [sign]\nresource: Car\ncypher: |\n  MATCH (subject {email: $token.email})-[:OWNS]->(resource)\n',
  'policies/application.policy.yaml':
    'subject: _Application\nactions: [list]\nresource: Car\ncypher: MATCH (subject:_Application), (resource:Car)\n',
  'policies/see.policy.yaml':
    'version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject:Person)-[:OWNS]->(car:Car)\nfilter: [{operator: "=", attribute: subject.external_id, value: $token.sub}]\nallowed_reads: {nodes: [car.external_id]}\nallowed_upserts: {nodes: {existing_nodes: [car]}}\n',
  'queries/my-cars.query.yaml': 'policy: see\nnodes: [car.external_id]\n',
  'queries/paint.query.yaml':
    'policy: see\nnodes: [car.external_id]\nupsert_nodes: [{name: car, properties: [{type: colour, value: $colour}]}]\n',
}

function projectFolder(): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const person = (external_id: string) => ({ type: 'Person', external_id })
const car = (external_id: string) => ({ type: 'Car', external_id })
const ann = { type: 'Person', id: 'ann' }
const c1 = { type: 'Car', id: 'c1' }

function request(action: string, input_params: Record<string, unknown> = {}): EvaluationInput {
  return { subject: ann, action: { name: action }, resource: c1, context: { input_params } }
}

function errorOf(ask: () => unknown): AuthorizerError {
  try {
    ask()
  } catch (error) {
    if (error instanceof AuthorizerError) return error
    throw error
  }
  throw new Error('expected an error')
}

describe('an authorizer in memory', () => {
  let authorizer: Authorizer
  beforeAll(async () => {
    authorizer = await openAuthorizer({ memory: true, project: projectFolder() })
    const written = await authorizer.write({
      nodes: [
        { ...person('ann'), is_identity: true, properties: [{ type: 'email', value: 'ann@example.org' }] },
        person('bob'),
        { ...car('c1'), properties: [{ type: 'wheels', value: 4 }] },
        { ...car('c2'), properties: [{ type: 'wheels', value: 2 }] },
      ],
      relationships: [
        { source: person('ann'), target: car('c1'), type: 'OWNS' },
        { source: person('ann'), target: car('c2'), type: 'OWNS' },
      ],
    })
    expect([written.nodes.length, written.relationships.length]).toEqual([4, 2])
  })
  afterAll(() => authorizer.close())

  test('decides, also with exact numbers, and returns an object of its own each time', () => {
    expect(authorizer.evaluate(request('drive', { min: 4 }))).toEqual({ decision: true })
    expect(authorizer.evaluate(request('drive', { min: new Float(4) }))).toEqual({ decision: true })
    expect(authorizer.evaluate(request('drive', { min: 2n ** 60n }))).toEqual({ decision: false })
    const changed = authorizer.evaluate(request('drive', { min: 5 })) as { decision: boolean }
    changed.decision = true
    expect(authorizer.evaluate(request('drive', { min: 5 }))).toEqual({ decision: false })
  })

  test('decides a batch, and keeps the error of an item in the item', () => {
    const { evaluations } = authorizer.evaluations({
      subject: ann,
      action: { name: 'drive' },
      evaluations: [
        { resource: c1, context: { input_params: { min: 4 } } },
        { resource: c1 },
        { resource: { type: 'Car', id: 'c2' }, context: { input_params: { min: 4 } } },
      ],
    })
    expect(evaluations.map(({ decision }) => decision)).toEqual([true, false, false])
    expect(evaluations[1]?.context?.reason).toContain("missing or wrong input params, 'min'")
    expect(errorOf(() => authorizer.evaluations({ evaluations: [] })).message).toContain('expected at least 1 item')
  })

  test('searches by pages', () => {
    const search = {
      subject: ann,
      action: { name: 'drive' },
      resource: { type: 'Car' },
      context: { input_params: { min: 1 } },
    }
    const first = authorizer.search.resource({ ...search, page: { limit: 1 } })
    const second = authorizer.search.resource({ ...search, page: { limit: 1, token: String(first.page?.next_token) } })
    expect([...first.results, ...second.results].map(({ id }) => id).sort()).toEqual(['c1', 'c2'])
    const context = { input_params: { min: 4 } }
    expect(authorizer.search.action({ subject: ann, resource: c1, context }).results).toEqual([{ name: 'drive' }])
    expect(authorizer.search.subject({ ...search, subject: { type: 'Person' }, resource: c1 }).results).toEqual([
      { type: 'Person', id: 'ann' },
    ])
  })

  test('explains with the path and the nearest miss', () => {
    const granted = authorizer.explain(request('drive', { min: 4 }))
    expect(granted.policies[0]).toMatchObject({ name: 'drive', outcome: 'granted' })
    const denied = authorizer.explain(request('drive', { min: 5 }))
    expect(denied.policies[0]?.nearest_miss?.stopped.says).toContain('resource.wheels >= $min')
    expect(denied.parameters).toEqual({ min: 5 })
  })

  test('decides for the user of a token', () => {
    const token = { type: 'Person', id: 'ann', claims: { email: 'ann@example.org' } }
    expect(authorizer.evaluate(request('sign'), { token }).decision).toBe(true)
    expect(authorizer.evaluate(request('sign')).decision).toBe(false)
    const other = errorOf(() => authorizer.evaluate(request('sign'), { token: { type: 'Person', id: 'bob' } }))
    expect([other.status, other.message]).toEqual([403, 'bearer token subject differs from requested subject'])
    const foreign = { ...token, claims: { at: new Date() } }
    expect(errorOf(() => authorizer.evaluate(request('sign'), { token: foreign })).message).toBe(
      'Bad Request: token.claims.at: expected data, found an instance of Date',
    )
  })

  test('has the node of its application, as a project of the service has', () => {
    const found = authorizer.search.subject({
      subject: { type: '_Application' },
      action: { name: 'list' },
      resource: c1,
    })
    expect(found.results).toHaveLength(1)
  })

  test('runs knowledge queries for the user of a token, and writes with them', async () => {
    const token = { type: 'Person', id: 'ann' }
    const read = await authorizer.execute({ id: 'my-cars' }, { token })
    expect(read.data.map(({ nodes }) => nodes?.['car.external_id']).sort()).toEqual(['c1', 'c2'])
    expect((await authorizer.execute({ id: 'my-cars' }, { token: { type: 'Person', id: 'bob' } })).data).toEqual([])
    await authorizer.execute({ id: 'paint', input_params: { colour: 'red' } }, { token })
    await expect(authorizer.execute({ id: 'my-cars' })).rejects.toThrow('end-user token is required')
    await expect(authorizer.execute({ id: 'my-car' }, { token })).rejects.toThrow('no active knowledge query `my-car`')
    await expect(authorizer.execute({ id: 'my-cars', page: 0 }, { token })).rejects.toThrow('page: expected at least 1')
  })

  test('deletes what is written, and refuses a list with an error as a whole', async () => {
    await authorizer.write({ nodes: [car('c9')] })
    const gone = await authorizer.write({ delete_nodes: [car('c9'), car('absent')] })
    expect(gone.delete_nodes.map(({ id }) => id !== '')).toEqual([true, false])
    await expect(
      authorizer.write({ relationships: [{ source: person('ann'), target: car('absent'), type: 'OWNS' }] }),
    ).rejects.toThrow('Unprocessable Entity')
    await expect(authorizer.write({ nodes: [{ type: '1A' } as never], nodez: [] } as never)).rejects.toThrow(
      /unknown member `nodez`; nodes\[0\]\.external_id: expected string, found nothing; nodes\[0\]\.type/,
    )
  })

  test.each<[string, unknown, number, string]>([
    ['no action', { subject: ann, resource: c1 }, 400, 'action: expected object, found nothing'],
    [
      'a number as an id',
      { ...request('drive'), subject: { type: 'Person', id: 1 } },
      400,
      'subject.id: expected string',
    ],
    ['a reserved parameter', request('sign', { token: {} }), 422, 'reserved, filled by the service'],
    [
      'a date',
      request('drive', { min: new Date(0) }),
      400,
      'context.input_params.min: expected data, found an instance of Date',
    ],
    [
      'a function',
      request('drive', { min: () => 1 }),
      400,
      'context.input_params.min: expected data, found a function',
    ],
    ['NaN', request('drive', { min: Number.NaN }), 400, 'expected a finite number, found NaN'],
    ['undefined in a list', request('drive', { min: [undefined] }), 400, 'context.input_params.min[0]: expected data'],
    ['a missing parameter', request('drive'), 422, "missing or wrong input params, 'min'"],
  ])('refuses a request with %s', (_case, body, status, message) => {
    const error = errorOf(() => authorizer.evaluate(body as EvaluationInput))
    expect([error.status, error.message]).toEqual([status, expect.stringContaining(message)])
  })

  test('refuses a value that contains itself', () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop
    expect(errorOf(() => authorizer.evaluate(request('drive', { min: loop }))).message).toContain('nested deeper than')
  })

  describe('with the matchers', () => {
    const run = (name: 'toAllow' | 'toDeny', ...args: Parameters<(typeof matchers)['toAllow']>) =>
      matchers[name](...args)

    test('passes for what is decided, in each spelling of an entity', () => {
      for (const [subject, resource] of [
        ['Person:ann', 'Car:c1'],
        [{ Person: 'ann' }, { Car: 'c1' }],
        [ann, c1],
      ] as const) {
        expect(run('toAllow', authorizer, subject, 'drive', resource, { min: 4 }).pass).toBe(true)
        expect(run('toDeny', authorizer, subject, 'drive', resource, { min: 5 }).pass).toBe(true)
      }
      expect(() => run('toAllow', authorizer, 'ann', 'drive', c1)).toThrow("expected 'Type:id'")
      expect(() => run('toAllow', {} as Authorizer, ann, 'drive', c1)).toThrow('expected an authorizer')
    })

    test('prints the nearest miss of a denial, and the path of a permit', () => {
      expect(run('toAllow', authorizer, ann, 'drive', c1, { min: 5 }).message()).toBe(
        [
          'expected Person:ann drive Car:c1 with {"min":5} to be allowed',
          '',
          'policy drive does not grant',
          '  reached: Argument subject, resource, for example (Person:ann), (Car:c1)',
          '  stopped: the predicate is not true: resource.wheels >= $min',
          '  values: resource.wheels = 4, $min = 5',
          'with $min = 5',
        ].join('\n'),
      )
      expect(run('toDeny', authorizer, ann, 'drive', c1, { min: 4 }).message()).toContain(
        'to be denied\n\npolicy drive grants: (Person:ann)-[:OWNS]->(Car:c1)',
      )
    })

    test.each<[string, string, string, string, Record<string, unknown>, string]>([
      ['an action', 'Person:ann', 'drvie', 'Car:c1', {}, 'names the action `drvie`; did you mean `drive`?'],
      ['a subject type', 'Persn:ann', 'drive', 'Car:c1', { min: 9 }, 'has the type `Persn`; did you mean `Person`?'],
      ['a resource type', 'Person:ann', 'drive', 'Cra:c1', { min: 9 }, 'has the type `Cra`; did you mean `Car`?'],
      [
        'a subject',
        'Person:anm',
        'drive',
        'Car:c1',
        { min: 9 },
        '`Person:anm` is not in the graph; did you mean `Person:ann`?',
      ],
      ['a resource', 'Person:ann', 'drive', 'Car:c3', { min: 9 }, '`Car:c3` is not in the graph; did you mean `Car:c'],
      ['a parameter', 'Person:ann', 'drive', 'Car:c1', { mni: 9 }, 'the parameter `$mni`; did you mean `$min`?'],
    ])(
      'fail for %s that is misspelt, also where a denial is expected',
      (_, subject, action, resource, params, message) => {
        for (const name of ['toAllow', 'toDeny'] as const) {
          expect(() => run(name, authorizer, subject, action, resource, params)).toThrow(message)
        }
      },
    )

    test('pass for what is unknown on purpose, and only then', () => {
      const deny = (...args: Parameters<(typeof matchers)['toDeny']>) => matchers.toDeny(...args).pass
      expect(deny(authorizer, ann, 'fly', c1, {}, { because: 'unknown-action' })).toBe(true)
      expect(deny(authorizer, 'Person:zoe', 'drive', c1, { min: 1 }, { because: 'unknown-node' })).toBe(true)
      expect(deny(authorizer, 'Robot:r2', 'drive', c1, {}, { because: 'unknown-type' })).toBe(true)
      expect(deny(authorizer, ann, 'drive', c1, {}, { because: 'refused' })).toBe(true)
      expect(() => deny(authorizer, ann, 'drive', c1, { min: 9 }, { because: 'unknown-node' })).toThrow(
        'expected an unknown node, and the request has none',
      )
      expect(() => deny(authorizer, ann, 'drive', c1, { min: 9 }, { because: 'refused' })).toThrow('and not refused')
    })

    test('fail for a refused request, also where a denial is expected', () => {
      expect(() => run('toDeny', authorizer, ann, 'drive', c1)).toThrow(
        "Person:ann drive Car:c1 was refused: missing or wrong input params, 'min'",
      )
    })
  })
})

test('an authorizer that is closed answers nothing, and its graph is gone', async () => {
  const project = projectFolder()
  const first = await openAuthorizer({ memory: true, project })
  await first.write({ nodes: [person('ann'), car('c1')] })
  await first.close()
  await first.close()
  expect(() => first.evaluate(request('drive', { min: 1 }))).toThrow('the authorizer is closed')
  await expect(first.write({ nodes: [car('c2')] })).rejects.toThrow('the authorizer is closed')
  await using second = await openAuthorizer({ memory: true, project })
  expect(second.explain(request('drive', { min: 1 })).policies[0]?.unknown).toEqual(['subject', 'resource'])
})

test.each([
  [{}, 'expected either `memory: true` or `folder`'],
  [{ memory: true as const, folder: 'x' }, 'expected either `memory: true` or `folder`'],
  [{ memory: true as const }, 'expected `project` with `memory`'],
  [{ memory: true as const, project: '/absent' }, 'there is no folder `/absent`'],
  [{ folder: '/absent' }, 'the folder /absent is no data folder'],
])('%j does not open', async (options, message) => {
  await expect(openAuthorizer(options)).rejects.toThrow(message)
})

test('errors of policies have their place in the files', async () => {
  const project = projectFolder()
  writeFileSync(
    join(project, 'policies', 'bad.policy.yaml'),
    'subject: Person\nactions: [sell]\nresource: Car\ncypher: |\n  MATCH (subject)-[:OWNS]->(resource)\n  WHERE resorce.wheels > 1\n',
  )
  writeFileSync(
    join(project, 'policies', 'worse.cypher'),
    '---\nsubject: Person\nactions: [s1]\nresource: Car\n---\nMATCH (subject)\n  -[:OWNS->(resource)\n',
  )
  const error = await openAuthorizer({ memory: true, project }).catch((error: Error) => error)
  expect(String((error as Error).message).split('\n')).toEqual([
    expect.stringMatching(/^policies\/bad\.policy\.yaml:6:9: .*resorce/),
    expect.stringMatching(/^policies\/worse\.cypher:7:\d+: .*expected `\]`/),
  ])
})
