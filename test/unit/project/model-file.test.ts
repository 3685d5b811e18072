// The file `model.gql` of a project folder: what it may contain, where errors are, that `pull` writes it back, and that the library
// decides with it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { ProjectFolderError } from '../../../src/project/file-diagnostic.ts'
import { loadProject } from '../../../src/project/load-project.ts'
import { writeProject } from '../../../src/project/write-project.ts'

const MODEL = `DEFINE (u:User)-[:can_read]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_read]->(f)
}
`
const POLICY = `subject: User
actions: [read]
resource: Doc
cypher: MATCH (subject)-[:can_read]->(resource)
`

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-model-'))
  write('verdigraph.yaml', 'name: docs\n')
})
afterEach(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

async function errors(load: Promise<unknown>): Promise<readonly string[]> {
  const failure: unknown = await load.then(
    () => null,
    (error: unknown) => error,
  )
  if (!(failure instanceof ProjectFolderError)) throw failure ?? new Error('the folder was read')
  return failure.diagnostics.map(({ file, line, column, message }) => `${file}:${line}:${column}: ${message}`)
}

describe('a project folder with a model', () => {
  test('decides with its definitions, and answers queries with them', async () => {
    write('model.gql', MODEL)
    write('policies/read.policy.yaml', POLICY)
    await using authorizer = await openAuthorizer({ memory: true, project: folder })
    await authorizer.write({
      nodes: [
        { type: 'User', external_id: 'ann' },
        { type: 'Folder', external_id: 'top' },
        { type: 'Doc', external_id: 'plan' },
      ],
      relationships: [
        { source: { type: 'User', external_id: 'ann' }, target: { type: 'Folder', external_id: 'top' }, type: 'OWNER' },
        {
          source: { type: 'Doc', external_id: 'plan' },
          target: { type: 'Folder', external_id: 'top' },
          type: 'PARENT',
        },
      ],
    })
    const request = {
      subject: { type: 'User', id: 'ann' },
      action: { name: 'read' },
      resource: { type: 'Doc', id: 'plan' },
    }
    expect(authorizer.evaluate(request).decision).toBe(true)
    const { rows } = authorizer.query({ query: 'MATCH (u:User)-[:can_read]->(d:Doc) RETURN d.external_id' })
    expect(rows).toEqual([['plan']])
    await expect(
      authorizer.write({
        relationships: [
          {
            source: { type: 'User', external_id: 'ann' },
            target: { type: 'Doc', external_id: 'plan' },
            type: 'can_read',
          },
        ],
      }),
    ).rejects.toThrow('is a definition of the model')
  })

  test('has the model first, with the name of the front matter', async () => {
    write('policies/read.policy.yaml', POLICY)
    write('model.gql', `---\nname: docs-model\ndescription: Who reads\n---\n${MODEL.replaceAll('\n', '\r\n')}`)
    const { documents } = await loadProject(folder)
    expect(documents.map(({ kind, name }) => [kind, name])).toEqual([
      ['models', 'docs-model'],
      ['authorization-policies', 'read'],
    ])
    expect(documents[0]?.body).toEqual({ description: 'Who reads', model: MODEL.trimEnd() })
  })

  test('places the errors of the model, and no errors of policies that need it', async () => {
    write('model.gql', `---\ndescription: Who reads\n---\n${MODEL.replace('OWNER', 'OWNER {')}`)
    write('policies/read.policy.yaml', POLICY)
    const found = await errors(openAuthorizer({ memory: true, project: folder }))
    expect(found).toEqual([expect.stringMatching(/model\.gql:5:\d+: /)])
  })

  test('places the error of a policy under the model', async () => {
    write('model.gql', MODEL)
    write('policies/read.policy.yaml', POLICY.replace('[:can_read]', '[r:can_read]'))
    const found = await errors(openAuthorizer({ memory: true, project: folder }))
    expect(found).toEqual([expect.stringMatching(/policies\/read\.policy\.yaml:4:\d+: /)])
  })

  test('refuses unknown members, an empty model, and a model under another name', async () => {
    write('model.gql', `---\nnmae: x\n---\n${MODEL}`)
    expect(await errors(loadProject(folder))).toEqual(['model.gql:2:1: unknown member `nmae`; did you mean `name`?'])
    write('model.gql', '\n')
    expect(await errors(loadProject(folder))).toEqual([expect.stringContaining('expected the text of a model')])
    write('model.gql', MODEL)
    write('shop.gql', MODEL)
    expect(await errors(loadProject(folder))).toEqual(['shop.gql:1:1: expected the name `model.gql`'])
  })

  test.each([
    ['the text alone', 'model', {}],
    ['another name and a description', 'docs-model', { description: '---\nWho\n--- reads\n' }],
  ])('is written and read again: %s', async (_, name, members) => {
    const model = `// the model\n${MODEL.trimEnd()}`
    const project = {
      kind: 'projects',
      id: 'gid:p',
      name: 'docs',
      body: { region: 'local' },
      references: [],
      secrets: [],
    }
    const document = { kind: 'models', id: 'gid:m', name, body: { ...members, model }, references: [], secrets: [] }
    const current = { etag: '', project, documents: [document], credentials: {} }
    const { files } = writeProject(current, null, () => '')
    for (const { path, text } of files) write(path, text)
    const read = await loadProject(folder)
    expect(read.documents.map(({ name, file, body }) => ({ name, file, body }))).toEqual([
      { name, file: 'model.gql', body: document.body },
    ])
    const changed = { ...current, documents: [{ ...document, body: { model: `${model}\n// more` } }] }
    const again = writeProject(changed, read, (file) => files.find(({ path }) => path === file)?.text ?? '')
    for (const { path, text } of again.files) write(path, text)
    expect((await loadProject(folder)).documents.map(({ body }) => body)).toEqual([{ model: `${model}\n// more` }])
  })
})
