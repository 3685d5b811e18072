// The commands `model types` and `model infer` as processes. The types are compiled with good uses and with bad ones, each of which must
// be an error.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const repository = join(import.meta.dirname, '..', '..', '..')
afterAll(removeTemporaryFolders)

function project(): string {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: lorries\n')
  writeFileSync(
    join(folder, 'model.gql'),
    '(:User), (:Group), (:Lorry {max_load_kg INTEGER}), (:User)-[:DRIVES]->(:Lorry)\nDEFINE (u:User)-[:may_use]->(l:Lorry) AS { MATCH (u)-[:DRIVES]->(l) }\n',
  )
  writeFileSync(
    join(folder, 'policies', 'load.policy.yaml'),
    'subject: User\nactions: [load]\nresource: Lorry\ncypher: MATCH (subject)-[:may_use]->(resource) WHERE resource.max_load_kg >= $load_kg\n',
  )
  writeFileSync(
    join(folder, 'policies', 'view.policy.yaml'),
    'subject: User\nactions: [view]\nresource: Lorry\ncypher: MATCH (subject)-[:may_use]->(resource)\n',
  )
  return folder
}

const USES = `import { openAuthorizer } from '${repository}/src/index.ts'
import { createClient } from '${repository}/src/client/index.ts'
import type { AuthorizerMatchers } from '${repository}/src/authorizer/matchers.ts'

declare const expected: AuthorizerMatchers<void>
const authorizer = await openAuthorizer({ memory: true, project: '.' })

authorizer.may({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: 1800 })
authorizer.may('User:ann', 'view', { type: 'Lorry', id: 'l1' })
authorizer.resources({ User: 'ann' }, 'load', 'Lorry', { load_kg: 1800 })
expected.toAllow({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: 1800 })
expected.toDeny({ User: 'ann' }, 'view', { Lorry: 'l1' }, {}, { because: 'unknown-node' })

const client = createClient({ url: 'http://127.0.0.1:8080', key: 'key' })
client.may({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: 1800 }, { token: 't' })
client.why('User:ann', 'view', { type: 'Lorry', id: 'l1' })
client.resources({ User: 'ann' }, 'load', 'Lorry', { load_kg: 1800 })

// @ts-expect-error A parameter of the wrong type.
authorizer.may({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: '1800' })
// @ts-expect-error A parameter of the wrong type.
client.may({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: true })
// @ts-expect-error A misspelt action.
client.may({ User: 'ann' }, 'laod', { Lorry: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt type.
client.why('Usr:ann', 'view', { Lorry: 'l1' })
// @ts-expect-error A misspelt parameter.
client.resources({ User: 'ann' }, 'load', 'Lorry', { loadkg: 1800 })
// @ts-expect-error A misspelt type of the subject.
authorizer.may({ Usr: 'ann' }, 'load', { Lorry: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt type of the resource.
authorizer.may({ User: 'ann' }, 'load', { Lory: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt action.
authorizer.may({ User: 'ann' }, 'laod', { Lorry: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt parameter.
authorizer.may({ User: 'ann' }, 'load', { Lorry: 'l1' }, { loadKg: 1800 })
// @ts-expect-error A parameter that no policy for the action reads.
authorizer.may({ User: 'ann' }, 'view', { Lorry: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt type in a text.
authorizer.may('Usr:ann', 'load', { Lorry: 'l1' })
// @ts-expect-error A misspelt type in an entity.
authorizer.may({ type: 'Usr', id: 'ann' }, 'load', { Lorry: 'l1' })
// @ts-expect-error A type that no policy is for.
authorizer.resources({ User: 'ann' }, 'load', 'Group')
// @ts-expect-error A misspelt action.
authorizer.resources({ User: 'ann' }, 'laod', 'Lorry', { load_kg: 1800 })
// @ts-expect-error A misspelt parameter.
authorizer.resources({ User: 'ann' }, 'load', 'Lorry', { loadkg: 1800 })
// @ts-expect-error A misspelt action.
expected.toAllow({ User: 'ann' }, 'laod', { Lorry: 'l1' }, { load_kg: 1800 })
// @ts-expect-error A misspelt parameter.
expected.toAllow({ User: 'ann' }, 'load', { Lorry: 'l1' }, { load: 1800 })
`

/** The errors of the compiler. */
function compiled(folder: string, files: readonly string[]): readonly string[] {
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(repository, 'tsconfig.json'),
      compilerOptions: { types: [], lib: ['ESNext', 'DOM'] },
      include: files,
      exclude: [],
    }),
  )
  const run = spawnSync(join(repository, 'node_modules', '.bin', 'tsc'), ['-p', folder, '--pretty', 'false'], {
    encoding: 'utf8',
  })
  return `${run.stdout}${run.stderr}`
    .split('\n')
    .filter((line) => line.includes('uses.ts') || line.includes('authz.d.ts'))
}

test('with the types of a project, a misspelt type, action or parameter does not compile', async () => {
  const folder = project()
  const out = join(folder, 'authz.d.ts')
  const { exitCode, stdout, stderr } = await runCommand(['model', 'types', folder, '--out', out])
  expect([exitCode, stdout, stderr]).toEqual([0, `wrote ${out}\n`, ''])
  expect(readFileSync(out, 'utf8')).toContain(
    '| { subject: "User"; action: "load"; resource: "Lorry"; parameters: { load_kg?: number } }',
  )
  writeFileSync(join(folder, 'uses.ts'), USES)
  expect(compiled(folder, ['uses.ts', 'authz.d.ts'])).toEqual([])
  // Without the file every name compiles, so each expected error is one that does not occur.
  expect(compiled(folder, ['uses.ts']).length).toBe(USES.split('@ts-expect-error').length - 1)
})

test('a project folder with an error has no types', async () => {
  const folder = project()
  writeFileSync(join(folder, 'model.gql'), '(:User {age NUMBR})')
  const { exitCode, stderr } = await runCommand(['model', 'types', folder])
  expect([exitCode === 0, stderr]).toEqual([false, expect.stringContaining('NUMBR')])
})

test('a model is inferred from a data schema', async () => {
  const folder = temporaryFolder()
  const schema = join(folder, 'schema.json')
  const property = (count: number, type: string) => ({ count, types: [{ type, count }], metadata: {} })
  const node = (count: number, properties: object, labels: readonly object[] = []) => ({
    metadata: { node_count: count, properties, system_labels: [], user_defined_labels: labels },
  })
  writeFileSync(
    schema,
    JSON.stringify({
      graph: {
        directed: true,
        metadata: { created_at: '', updated_at: '' },
        nodes: {
          User: node(2, { email: property(2, 'string'), born: property(1, 'date') }, [{ name: 'Admin', count: 1 }]),
          Group: node(1, { tags: property(1, 'array of string') }),
        },
        edges: [
          {
            source: 'User',
            target: 'Group',
            relation: 'MEMBER',
            directed: true,
            metadata: { count: 2, properties: { since: property(1, 'integer') } },
          },
        ],
      },
    }),
  )
  const { exitCode, stdout } = await runCommand(['model', 'infer', '--schema', schema])
  expect([exitCode, stdout]).toEqual([
    0,
    `(:User {email STRING NOT NULL, born DATE}),
(:User&Admin {email STRING NOT NULL, born DATE}),
(:Group {tags LIST<STRING> NOT NULL}),
(:User)-[:MEMBER {since INTEGER}]->(:Group)
`,
  ])
})
