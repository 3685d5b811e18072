// Project folders: what is read, and the place and the suggestion of each error.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ProjectFolderError } from '../../../src/project/file-diagnostic.ts'
import { createBody, loadProject } from '../../../src/project/load-project.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

type Files = Readonly<Record<string, string>>

const project = 'name: cars\n'
const drive = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'

function folderWith(files: Files): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

async function errorsOf(files: Files): Promise<string[]> {
  const error = await loadProject(folderWith(files)).then(
    () => null,
    (error: unknown) => error,
  )
  if (!(error instanceof ProjectFolderError)) throw new Error(`expected errors, found ${String(error)}`)
  return error.message.split('\n')
}

describe('a project folder', () => {
  test('refuses links, to files and to folders, and special files: a document without its file would be deleted', async () => {
    const files = { 'verdigraph.yaml': project, 'policies/drive.policy.yaml': drive }
    const linked = folderWith(files)
    const other = folderWith({ ...files, 'policies/sub/sell.policy.yaml': drive })
    symlinkSync(join(other, 'policies/drive.policy.yaml'), join(linked, 'policies/linked.policy.yaml'))
    symlinkSync(join(other, 'policies/sub'), join(linked, 'policies/sub'))
    symlinkSync(join(other, 'absent'), join(linked, 'policies/dangling.policy.yaml'))
    symlinkSync(join(other, 'policies'), join(linked, 'queries'))
    symlinkSync(join(other, 'absent'), join(linked, 'agents'))
    execFileSync('mkfifo', [join(linked, 'policies/pipe.policy.yaml')])
    // These are no documents.
    symlinkSync(join(other, 'absent'), join(linked, 'policies/.#lock'))
    symlinkSync(join(other, 'absent'), join(linked, 'policies/notes.md'))
    symlinkSync(other, join(linked, 'other'))
    const paths = ['agents', 'policies/dangling.policy.yaml', 'policies/linked.policy.yaml']
    const more = ['policies/pipe.policy.yaml', 'policies/sub', 'queries']
    await expect(loadProject(linked)).rejects.toThrow(
      [...paths, ...more].map((path) => `${path}:1:1: symbolic links and special files are not read`).join('\n'),
    )
    const pipe = folderWith({})
    execFileSync('mkfifo', [join(pipe, 'verdigraph.yaml')])
    await expect(loadProject(pipe)).rejects.toThrow(
      'verdigraph.yaml:1:1: symbolic links and special files are not read',
    )
    // The folder itself may be named by a link.
    const link = join(pipe, 'link')
    symlinkSync(folderWith(files), link)
    expect((await loadProject(link)).documents).toHaveLength(1)
    expect(await errorsOf({ ...files, queries: '' })).toEqual(['queries:1:1: expected a folder, found a file'])
  })

  test('gives the create bodies of its documents in an order in which each refers to earlier ones', async () => {
    const {
      project: own,
      documents,
      scenarios,
    } = await loadProject(
      folderWith({
        'verdigraph.yaml': 'name: cars\ndescription: The cars of a team.\n',
        'README.md': 'for people',
        'policies/notes.md': 'for people',
        'policies/drive.policy.yaml': `${drive}tags: [cars]\ndescription: Owners drive.\n`,
        'policies/sub/sell.cypher': `---\nsubject: Person\nactions: [sell]\nresource: Car\nstatus: DRAFT\n---\nMATCH (subject)-[:OWNS]->(resource)\n`,
        'policies/see.policy.yaml':
          'version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)-[:OWNS]->(car:Car)\nallowed_reads: {nodes: [car.external_id]}\n',
        'queries/my-cars.query.yaml': 'policy: see\nnodes: [car.external_id]\n',
        'resolvers/price.resolver.yaml':
          'url: https://example.org/{$id}\nmethod: GET\nheaders: {Authorization: "Bearer ${env:TOKEN}"}\nrequest_content_type: JSON\nresponse_content_type: JSON\nresponse_selector: .price\n',
        'applications/web.application.yaml': '',
        'scenarios/drive.scenario.yaml': 'graph: ""\n',
      }),
    )
    expect(own).toMatchObject({ name: 'cars', body: { region: 'local', description: 'The cars of a team.' } })
    expect(documents.map(({ kind, name }) => `${kind} ${name}`)).toEqual([
      'applications web',
      'external-data-resolvers price',
      'authorization-policies drive',
      'authorization-policies see',
      'authorization-policies sell',
      'knowledge-queries my-cars',
    ])
    const bodies = documents.map((document) => createBody(document, (kind, name) => `id of ${kind} ${name}`))
    expect(bodies[2]).toEqual({
      name: 'drive',
      description: 'Owners drive.',
      tags: ['cars'],
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: 'Person' },
        actions: ['drive'],
        resource: { type: 'Car' },
        condition: { cypher: 'MATCH (subject)-[:OWNS]->(resource)' },
      }),
    })
    expect(bodies[4]).toMatchObject({ name: 'sell', status: 'DRAFT' })
    expect(JSON.parse(String(bodies[4]?.policy)).condition).toEqual({ cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
    expect(bodies[5]).toEqual({
      name: 'my-cars',
      status: 'ACTIVE',
      policy_id: 'id of authorization-policies see',
      query: '{"nodes":["car.external_id"]}',
    })
    expect(documents[1]?.secrets).toEqual([{ path: ['headers', 'Authorization'], text: 'Bearer ${env:TOKEN}' }])
    expect(scenarios).toEqual(['scenarios/drive.scenario.yaml'])
  })

  test('keeps 1 and 1.0 distinct, and every digit of an integer, in the text of a query', async () => {
    const query =
      'policy: see\nupsert_nodes:\n  - name: car\n    properties: [{type: a, value: 1}, {type: b, value: 1.0}, {type: c, value: 9007199254740993}]\n'
    const { documents } = await loadProject(
      folderWith({
        'verdigraph.yaml': project,
        'policies/see.policy.yaml': 'version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)-[:OWNS]->(car:Car)\n',
        'queries/q1.query.yaml': query,
      }),
    )
    expect(documents[1]?.body.query).toContain(
      '"value":1},{"type":"b","value":1.0},{"type":"c","value":9007199254740993}',
    )
  })

  const policy = 'policies/drive.policy.yaml'
  test.each<[string, Files, string[]]>([
    ['no file of the project', {}, ['verdigraph.yaml:1:1: the file is missing: a project folder begins with it']],
    [
      'invalid YAML',
      { [policy]: 'subject: Person\nactions: [drive\n' },
      [
        'policies/drive.policy.yaml:3:1: flow sequence in block collection must be sufficiently indented and end with a ]',
      ],
    ],
    [
      'Cypher that is YAML',
      { [policy]: 'subject: Person\ncypher: MATCH (subject {age: 4})-[:OWNS]->(resource)\n' },
      [
        'policies/drive.policy.yaml:2:9: nested mappings are not allowed in compact mappings; write Cypher on lines of its own, after `cypher: |`',
      ],
    ],
    [
      'a misspelt member',
      { [policy]: `${drive}acions: [sell]\n` },
      ['policies/drive.policy.yaml:5:1: unknown member `acions`; did you mean `actions`?'],
    ],
    [
      'a wrong status',
      { [policy]: `${drive}status: ACTVE\n` },
      [
        'policies/drive.policy.yaml:5:9: status: expected `ACTIVE` or `INACTIVE` or `DRAFT`, found `ACTVE`; did you mean `ACTIVE`?',
      ],
    ],
    [
      'an anchor, an alias, a number as a name and an infinite number',
      { [policy]: 'subject: &a Person\nresource: *a\n1: x\nactions: [.inf]\n' },
      [
        'policies/drive.policy.yaml:1:13: anchors are not supported',
        'policies/drive.policy.yaml:2:11: aliases are not supported: repeat the value',
        'policies/drive.policy.yaml:3:1: expected a name: put it in quotes if it is not a word',
        'policies/drive.policy.yaml:4:11: expected a finite number',
      ],
    ],
    [
      'values that are nested too deep, in brackets, in members and in front matters',
      {
        [policy]: `${drive}tags: ${'['.repeat(3_000)}\n`,
        'policies/sell.policy.yaml': `${drive}tags:\n${Array.from({ length: 300 }, (_, i) => `${' '.repeat(i + 1)}a:\n`).join('')}`,
        'policies/see.cypher': `---\nsubject: ${'{a: '.repeat(3_000)}1${'}'.repeat(3_000)}\n---\nMATCH (subject)\n`,
        'verdigraph.yaml': `${project}description:\n  ${'- '.repeat(3_000)}\n`,
      },
      [
        'policies/drive.policy.yaml:5:206: nested deeper than 200 levels',
        'policies/see.cypher:2:806: nested deeper than 200 levels',
        'policies/sell.policy.yaml:205:201: nested deeper than 200 levels',
        'verdigraph.yaml:3:401: nested deeper than 200 levels',
      ],
    ],
    [
      'a query of a policy that does not exist',
      {
        'policies/see-cars.policy.yaml':
          'version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)-[:OWNS]->(car:Car)\n',
        'queries/my-cars.query.yaml': 'policy: see-car\n',
      },
      ['queries/my-cars.query.yaml:1:9: no authorization policy is named `see-car`; did you mean `see-cars`?'],
    ],
    [
      'a secret in clear',
      {
        'resolvers/price.resolver.yaml':
          'url: https://example.org\nmethod: GET\nheaders:\n  X-Key: abc\nrequest_content_type: JSON\nresponse_content_type: JSON\nresponse_selector: .a\n',
      },
      [
        'resolvers/price.resolver.yaml:4:10: headers.X-Key: expected a reference to a secret, `${env:NAME}` or `secret://NAME`: a file must not contain the secret',
      ],
    ],
    [
      'a folder with a misspelt name',
      { [policy]: drive, 'polices/sell.policy.yaml': drive },
      ['polices/sell.policy.yaml:1:1: the folder `polices` is not read; did you mean `policies`?'],
    ],
    [
      'a policy outside of its folder',
      { 'drive.policy.yaml': drive },
      ['drive.policy.yaml:1:1: expected this file in the folder `policies`'],
    ],
    [
      'a file with another ending',
      { 'policies/drive.yml': drive },
      ['policies/drive.yml:1:1: expected a file `NAME.policy.yaml` or `NAME.cypher` in this folder'],
    ],
    [
      'a name that is taken',
      {
        [policy]: drive,
        'policies/drive.cypher': `---\nsubject: Person\nactions: [a1]\nresource: Car\n---\nMATCH (subject)`,
      },
      ['policies/drive.policy.yaml:1:1: the name `drive` is taken by policies/drive.cypher'],
    ],
    [
      'a name with a capital',
      { 'policies/Drive.policy.yaml': drive },
      [
        'policies/Drive.policy.yaml:1:1: the file name: expected a lower-case letter, then letters, digits and hyphens, and no hyphen at the end',
      ],
    ],
    [
      'a Cypher file without a front matter',
      { 'policies/drive.cypher': 'MATCH (subject)-[:OWNS]->(resource)' },
      ['policies/drive.cypher:1:1: expected a front matter: a line `---`, the members of the policy, and a line `---`'],
    ],
    [
      'an error in a front matter',
      { 'policies/drive.cypher': '---\nsubject: Person\naction: drive\nresource: Car\n---\nMATCH (subject)' },
      [
        'policies/drive.cypher:2:1: actions: expected array, found nothing',
        'policies/drive.cypher:3:1: unknown member `action`; did you mean `actions`?',
      ],
    ],
  ])('refuses %s', async (_case, files, expected) => {
    const others = Object.keys(files).length === 0 ? {} : { 'verdigraph.yaml': project }
    expect(await errorsOf({ ...others, ...files })).toEqual(expected)
  })
})
