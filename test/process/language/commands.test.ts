// The commands `lint` and `fmt` as processes: exit codes, output, and files that are written.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bin, ownEnvironment, runCommand, type Server, startServer } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const base = temporaryFolder()
const project = join(base, 'authz')
const drive = join(project, 'policies', 'drive.policy.yaml')

beforeAll(() => {
  mkdirSync(join(project, 'policies'), { recursive: true })
  mkdirSync(join(project, 'scenarios'))
})
afterAll(removeTemporaryFolders)

const policy = (cypher: string): string =>
  `# Who may drive\nsubject: Person\nactions: [drive]\nresource: Car\ncypher: |\n  ${cypher}\n`

const schemaFile = join(base, 'schema.json')
const schema = {
  graph: {
    directed: true,
    metadata: { created_at: '', updated_at: '' },
    nodes: {
      Person: { metadata: { node_count: 1, properties: {}, system_labels: [], user_defined_labels: [] } },
      Car: {
        metadata: {
          node_count: 1,
          properties: { wheels: { count: 1, types: [], metadata: {} } },
          system_labels: [],
          user_defined_labels: [],
        },
      },
    },
    edges: [
      { source: 'Person', target: 'Car', relation: 'OWNS', directed: true, metadata: { count: 1, properties: {} } },
    ],
  },
}

test('lint has exit code 1 for errors, 0 for warnings unless strict, and 2 if it did not run', async () => {
  writeFileSync(schemaFile, JSON.stringify(schema))
  writeFileSync(drive, policy('MATCH (subject)-[:OWNZ]->(resource) WHERE resource.wheels = null'))
  const failed = await runCommand(['lint', project, '--schema', schemaFile])
  expect([failed.exitCode, failed.stdout]).toEqual([
    1,
    `${drive}:6:3: error: the policy never grants: a comparison with null is never true: use \`IS NULL\` or \`IS NOT NULL\` (never-grants)\n` +
      `${drive}:6:21: warning: no relationship of type \`OWNZ\` was ever captured; did you mean \`[:OWNS]\`? (unknown-relationship-type)\n`,
  ])
  expect(failed.stderr).toBe('1 error, 1 warning in 1 file\n')
  writeFileSync(drive, policy('MATCH (subject)-[:OWNS*]->(resource)'))
  const warned = await runCommand(['lint', project])
  expect([warned.exitCode, warned.stdout]).toEqual([0, expect.stringContaining('(unbounded-walk)')])
  expect((await runCommand(['lint', project, '--strict'])).exitCode).toBe(1)
  const asked = await runCommand(['lint', drive, '--action', 'drvie', '--json'])
  const { findings, ...rest } = JSON.parse(asked.stdout)
  expect(rest).toEqual({ version: 1, files: 1, errors: 0, warnings: 2 })
  expect(findings[0]).toEqual({
    rule: 'unnamed-action',
    severity: 'warning',
    file: '',
    line: 1,
    column: 1,
    end_line: 1,
    end_column: 1,
    message: 'no active policy names the action `drvie`; did you mean `drive`?',
    suggestion: 'drive',
  })
  const sarif = await runCommand(['lint', drive, '--sarif'])
  expect(JSON.parse(sarif.stdout).runs[0].results[0].ruleId).toBe('unbounded-walk')
  for (const [args, message] of [
    [['lint'], 'nothing to check'],
    [['lint', join(base, 'none')], 'does not exist'],
    [['lint', bin], 'expected a file that ends with .cypher, .gql, .yaml, .yml or .json'],
    [['lint', join(project, 'scenarios')], 'no file ends with'],
    [['lint', drive, '--json', '--sarif'], 'exclude each other'],
    [['lint', drive, '--schema', drive], 'JSON'],
    [['fmt'], 'nothing to format'],
  ] as const) {
    const refused = await runCommand([...args])
    expect([refused.exitCode, refused.stdout], args.join(' ')).toEqual([2, ''])
    expect(refused.stderr).toContain(message)
  }
})

test('lint and fmt read patterns and clauses of GQL', async () => {
  const file = join(base, 'gql.policy.yaml')
  const pattern = 'match (subject) ((a)-[:OWNZ]->(b where b.weels>3)){1,2} (resource)'
  const other =
    'MATCH (subject)-[:OWNS]->(resource) RETURN subject, resource NEXT WHEN subject.wheels = 1 THEN { RETURN subject }'
  writeFileSync(schemaFile, JSON.stringify(schema))
  writeFileSync(file, policy(pattern))
  const found = await runCommand(['lint', file, '--schema', schemaFile])
  expect([found.exitCode, found.stdout]).toEqual([
    0,
    `${file}:6:26: warning: no relationship of type \`OWNZ\` was ever captured; did you mean \`[:OWNS]\`? (unknown-relationship-type)\n` +
      `${file}:6:44: warning: no property \`weels\` was ever captured; did you mean \`wheels\`? (unknown-property)\n`,
  ])
  expect((await runCommand(['fmt', file])).exitCode).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(
    policy('MATCH (subject) ((a)-[:OWNZ]->(b WHERE b.weels > 3)){1,2} (resource)'),
  )
  writeFileSync(file, policy(other))
  const refused = await runCommand(['lint', file])
  expect([refused.exitCode, refused.stdout]).toEqual([1, expect.stringContaining('does not return `resource`')])
  expect((await runCommand(['fmt', file])).exitCode).toBe(0)
  expect(readFileSync(file, 'utf8')).toContain('\n  NEXT\n  WHEN subject.wheels = 1 THEN { RETURN subject }\n')
})

test('lint reports the errors of all files of a project folder, each of them once', async () => {
  const folder = join(base, 'whole')
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('verdigraph.yaml', 'name: cars\n')
  write('policies/drive.policy.yaml', policy('MATCH (subject)-[:OWNS]->(resource)').replace('actions', 'action'))
  write('policies/sell.policy.yaml', policy('MATCH (subject)-[:OWNS]->(resouce)').replace('drive', 'sell'))
  write('applications/shop.application.yaml', '')
  write('agents/server.agent.yaml', 'application: shop\napi_permissions: [CIX]\n')
  const { exitCode, stdout, stderr } = await runCommand(['lint', base, '--json'])
  expect([exitCode, stderr]).toEqual([1, ''])
  const found = JSON.parse(stdout).findings.filter(({ file }: { file: string }) => file.startsWith(folder))
  expect(
    found.map(
      ({ file, line, column, rule, message }: Record<string, string | number>) =>
        `${String(file).slice(folder.length + 1)}:${line}:${column}: ${rule}: ${message}`,
    ),
  ).toEqual([
    expect.stringMatching(/^agents\/server\.agent\.yaml:2:19: invalid-document: .*did you mean `CIQ`\?$/),
    'policies/drive.policy.yaml:2:1: invalid-document: actions: expected array, found nothing',
    'policies/drive.policy.yaml:3:1: invalid-document: unknown member `action`; did you mean `actions`?',
    expect.stringMatching(/^policies\/sell\.policy\.yaml:6:3: invalid-cypher: .*must bind `resource`/),
  ])
})

test('fmt writes files that are not formatted, and --check only names them', async () => {
  const text = policy('match (subject)-[:OWNS]->(resource) where resource.wheels>2 // some')
  writeFileSync(drive, text)
  const stored = join(project, 'stored.json')
  const inner = { meta: { policy_version: '2.0-kbac' }, condition: { cypher: "match (a) return 'x'" } }
  const outer = JSON.stringify({ name: 'edit', policy: JSON.stringify(inner), status: 'DRAFT' }, null, 4)
  writeFileSync(stored, outer)
  const checked = await runCommand(['fmt', '--check', project, stored])
  expect([checked.exitCode, checked.stdout]).toEqual([1, `${drive}\n${stored}\n`])
  expect(readFileSync(drive, 'utf8')).toBe(text)
  expect((await runCommand(['fmt', project, stored])).exitCode).toBe(0)
  expect(readFileSync(drive, 'utf8')).toBe(
    policy('MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels > 2 // some'),
  )
  const formatted = JSON.parse(readFileSync(stored, 'utf8'))
  expect(JSON.parse(formatted.policy).condition.cypher).toBe("MATCH (a)\nRETURN 'x'")
  expect(JSON.stringify({ ...formatted, policy: JSON.stringify(inner) }, null, 4)).toBe(outer)
  expect((await runCommand(['fmt', '--check', project, stored])).exitCode).toBe(0)
  writeFileSync(drive, policy('match (subject'))
  const refused = await runCommand(['fmt', project, stored])
  expect([refused.exitCode, refused.stderr]).toEqual([1, expect.stringContaining(`${drive}:6:`)])
})

test('fmt formats the standard input', async () => {
  const child = Bun.spawn([bin, 'fmt', '-'], {
    stdin: new Blob(['match (n) return n']),
    stdout: 'pipe',
    env: ownEnvironment,
  })
  expect(await child.stdout.text()).toBe('MATCH (n)\nRETURN n\n')
})

test('lint checks the policies that a project stores, with the names of its data, in its folder and over HTTP', async () => {
  const data = join(base, 'data')
  const server: Server = await startServer(['--data', data, '--demo'])
  try {
    const { stdout } = await runCommand(['token', '--data', data, '--json'])
    const { token } = JSON.parse(stdout) as { token: string }
    const call = async (method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const response = await fetch(`${server.url}/configs/v1/${path}`, {
        method,
        headers,
        ...(body && { body: JSON.stringify(body) }),
      })
      return (await response.json()) as { data: { id: string; name: string }[] } & { id: string }
    }
    const organization = await call('GET', 'organizations/current')
    const { data: projects } = await call('GET', `projects?organization_id=${organization.id}`)
    const projectId = projects[0]!.id
    const document = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['test-lint'],
      resource: { type: 'Document' },
      condition: { cypher: 'MATCH (subject)-[:MEMBR_OF]->(resource) WHERE resource.level IN []' },
    }
    await call('POST', 'authorization-policies', {
      project_id: projectId,
      name: 'lint-me',
      status: 'ACTIVE',
      policy: JSON.stringify(document),
    })
    const inFolder = await runCommand(['lint', '--project', projectId, '--data', data, '--json'])
    const findings = JSON.parse(inFolder.stdout).findings as { rule: string; file: string }[]
    const rules = findings.filter(({ file }) => file === 'authorization-policies/lint-me.json').map(({ rule }) => rule)
    expect([inFolder.exitCode, rules]).toEqual([
      1,
      expect.arrayContaining(['never-grants', 'unknown-relationship-type']),
    ])
    const overHttp = await runCommand(['lint', '--project', projectId, '--url', server.url, '--json'], {
      VERDIGRAPH_TOKEN: token,
    })
    expect([overHttp.exitCode, JSON.parse(overHttp.stdout).files]).toEqual([1, JSON.parse(inFolder.stdout).files])
    // By its name too.
    const listed = (await call('GET', 'projects')) as { data: { id: string; name: string }[] }
    const { name = '' } = listed.data.find(({ id }) => id === projectId) ?? {}
    const named = await runCommand(['lint', '--project', name, '--data', data, '--json'])
    expect(named.stdout).toBe(inFolder.stdout)
    const namedOverHttp = await runCommand(['lint', '--project', name, '--url', server.url, '--json'], {
      VERDIGRAPH_TOKEN: token,
    })
    expect(namedOverHttp.stdout).toBe(overHttp.stdout)
    const wrong = await runCommand(['lint', '--project', 'gid:none', '--data', data])
    expect([wrong.exitCode === 0, wrong.stderr]).toEqual([false, expect.stringContaining('has no project')])
  } finally {
    await server.kill('SIGTERM')
  }
})
