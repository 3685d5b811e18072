// The difference between a project folder and the stored configuration.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { CurrentDocument, CurrentProject } from '../../../src/project/current-project.ts'
import { type DocumentDifference, differenceOf, hasChanges } from '../../../src/project/difference.ts'
import { loadProject } from '../../../src/project/load-project.ts'
import type { ProjectFolder } from '../../../src/project/project-folder.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const project = 'name: cars\n'
const drive = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'
const price = `url: https://example.org/price
method: GET
headers: {Authorization: "Bearer \${env:TOKEN}"}
request_content_type: JSON
response_content_type: JSON
response_selector: .price
`

function load(files: Readonly<Record<string, string>>): Promise<ProjectFolder> {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries({ 'verdigraph.yaml': project, ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return loadProject(folder)
}

function stored(documents: readonly Partial<CurrentDocument>[], own: Partial<CurrentDocument> = {}): CurrentProject {
  const complete = (document: Partial<CurrentDocument>): CurrentDocument => ({
    kind: 'authorization-policies',
    id: `id-${document.name}`,
    name: '',
    body: {},
    references: [],
    secrets: [],
    ...document,
  })
  return {
    etag: '"1"',
    project: complete({ kind: 'projects', name: 'cars', body: { region: 'local', ikg_size: '2GB' }, ...own }),
    documents: documents.map(complete),
    credentials: {},
  }
}

const storedDrive = (cypher: string, more: object = {}): Partial<CurrentDocument> => ({
  name: 'drive',
  body: {
    // Another order and spacing than a file gives.
    policy: JSON.stringify(
      {
        condition: { cypher },
        resource: { type: 'Car' },
        actions: ['drive'],
        subject: { type: 'Person' },
        meta: { policy_version: '3.0-kbac' },
      },
      null,
      2,
    ),
    status: 'ACTIVE',
    tags: [],
    ...more,
  },
})

const summary = ({ action, kind, name, members }: DocumentDifference): string =>
  `${action} ${kind} ${name}${members.map(({ member }) => ` ${member}`).join('')}`

describe('a difference', () => {
  test('is empty for documents that mean the same', async () => {
    const folder = await load({ 'policies/drive.policy.yaml': `${drive}display_name: drive\n` })
    const difference = differenceOf(folder, stored([storedDrive('MATCH (subject)-[:OWNS]->(resource)')]))
    expect(difference.documents.map(summary)).toEqual([
      'unchanged projects cars',
      'unchanged authorization-policies drive',
    ])
    expect(hasChanges(difference)).toBe(false)
  })

  test('names members as the file has them, with both values', async () => {
    const folder = await load({
      'policies/drive.policy.yaml': `${drive}filter: {attribute: car.price, operator: EQUALS, value: 1}\n`,
    })
    const [, policy] = differenceOf(folder, stored([storedDrive('MATCH (subject)', { tags: ['x'] })])).documents
    expect(policy).toMatchObject({ action: 'update', file: 'policies/drive.policy.yaml', id: 'id-drive' })
    expect(policy?.members).toEqual([
      { member: 'cypher', before: 'MATCH (subject)', after: 'MATCH (subject)-[:OWNS]->(resource)', isSecret: false },
      {
        member: 'filter',
        before: undefined,
        after: { attribute: 'car.price', operator: 'EQUALS', value: 1 },
        isSecret: false,
      },
      { member: 'tags', before: ['x'], after: undefined, isSecret: false },
    ])
  })

  test('distinguishes integers and floats in filters', async () => {
    const policy = (value: string) =>
      load({
        'policies/drive.policy.yaml': `${drive}filter: {attribute: car.price, operator: EQUALS, value: ${value}}\n`,
      })
    const one = (await policy('1')).documents[0]?.body ?? {}
    const difference = differenceOf(await policy('1.0'), stored([{ name: 'drive', body: one }]))
    expect(difference.documents.map(summary)[1]).toBe('update authorization-policies drive filter.value')
  })

  test('creates all documents of a project that does not exist', async () => {
    const folder = await load({
      'policies/drive.policy.yaml': drive,
      'queries/my-cars.query.yaml': 'policy: drive\nnodes: [car]\n',
    })
    const { projectId, documents } = differenceOf(folder, null)
    expect(projectId).toBeNull()
    expect(documents.map(({ action, name }) => `${action} ${name}`)).toEqual([
      'create cars',
      'create drive',
      'create my-cars',
    ])
  })

  test('shows secrets only as the file refers to them, and compares stored ones later', async () => {
    const folder = await load({ 'resolvers/price.resolver.yaml': price })
    const { headers: _, ...body } = folder.documents[0]?.body ?? {}
    const resolver = { kind: 'external-data-resolvers', name: 'price', body }
    const without = differenceOf(folder, stored([resolver])).documents[1]
    expect(without?.members).toEqual([
      { member: 'headers.Authorization', before: undefined, after: 'Bearer ${env:TOKEN}', isSecret: true },
    ])
    const withTwo = stored([
      {
        ...resolver,
        secrets: [
          ['headers', 'Authorization'],
          ['headers', 'X-Key'],
        ],
      },
    ])
    const both = differenceOf(folder, withTwo).documents[1]
    expect(both?.comparedLater).toEqual([['headers', 'Authorization']])
    expect(both?.members).toEqual([{ member: 'headers.X-Key', before: '(secret)', after: undefined, isSecret: true }])
  })

  test('leaves token introspections alone unless the folder has any', async () => {
    const current = stored([{ kind: 'token-introspects', name: 'own' }, { name: 'see' }])
    const actions = async (files: Readonly<Record<string, string>>): Promise<string[]> =>
      differenceOf(await load(files), current)
        .documents.slice(-2)
        .map(summary)
    const kept = ['delete authorization-policies see', 'unmanaged token-introspects own']
    expect(await actions({})).toEqual(kept)
    expect(await actions({ 'applications/web.application.yaml': '' })).toEqual(kept)
    const introspection =
      'jwt_matcher: {issuer: "https://example.org", audience: cars}\noffline_validation: {}\nikg_node_type: Person\n'
    expect(await actions({ 'introspections/other.introspection.yaml': introspection })).toEqual([
      'delete authorization-policies see',
      'delete token-introspects own',
    ])
  })

  test('deletes in reverse order, and leaves agents alone unless the folder has any', async () => {
    const extra: Partial<CurrentDocument>[] = [
      { kind: 'applications', name: 'web' },
      {
        kind: 'application-agents',
        name: 'web-agent',
        references: [{ member: 'application_id', kind: 'applications', name: 'web' }],
      },
      { name: 'see' },
      { kind: 'knowledge-queries', name: 'seen' },
    ]
    const current = { ...stored(extra), credentials: { 'id-web-agent': 2 } }
    const bare = differenceOf(await load({}), current)
    expect(bare.documents.slice(1).map(summary)).toEqual([
      'delete knowledge-queries seen',
      'delete authorization-policies see',
      'unmanaged application-agents web-agent',
      'unmanaged applications web',
    ])
    const managed = differenceOf(await load({ 'applications/other.application.yaml': '' }), current)
    expect(managed.documents.slice(-2).map((one) => [summary(one), one.credentials])).toEqual([
      ['delete application-agents web-agent', 2],
      ['delete applications web', 2],
    ])
  })
})
