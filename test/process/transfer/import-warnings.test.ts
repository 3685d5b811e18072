// The warnings that `import` prints about names in policies and knowledge queries which no capture has ever used.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { killAll, runCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
/** A second project of the same organization. */
let other: string
let lines: string

beforeAll(async () => {
  service = await startService({}, { sync: false })
  const { projectId } = service
  await service.configure('PUT', `projects/${projectId}`, {
    db_connection: { url: 'lmdb:', composite_db_name: 'all', alias_mapping: 'eu=eu-db&us=us-db&de=eu-db' },
  })
  const at = (type: string, external_id: string, location: string, name: string) => {
    return { type, external_id, location, properties: [{ type: name, value: 'x' }] }
  }
  await service.ask('/capture/v1/nodes', {
    nodes: [at('Author', 'ada', 'eu', 'email'), at('Page', 'home', 'us', 'title')],
  })
  const [source, target] = [
    { type: 'Author', external_id: 'ada' },
    { type: 'Page', external_id: 'home' },
  ]
  const wrote = await service.ask('/capture/v1/relationships', {
    relationships: [{ source, type: 'WROTE', target }],
    use_global_db: true,
  })
  expect(wrote.status).toBe(200)

  const organization_id = (await service.configure('GET', `projects/${projectId}`)).body.organization_id
  const made = await service.configure('POST', 'projects', { organization_id, name: 'empty', region: 'eu-west' })
  other = String(made.body.id)
  await service.provisioned(other)
  await storePolicy('good', decision('MATCH (subject:Author {email: $mail})-[:WROTE]->(resource:Page {title: "x"})'))
  await storePolicy(
    'misspelt',
    decision('MATCH (subject:Autor)\nMATCH (subject)-[:WROT]->(resource:Page {titel: "x"})'),
  )
  await storePolicy('draft', 'not JSON', projectId, 'DRAFT')
  await storePolicy('unseen', decision('MATCH (subject:Autor)-[:WROT]->(resource:Page)'), other)
  const policy_id = await storePolicy('pages', {
    meta: { policy_version: '1.0-ciq' },
    subject: { type: 'Author' },
    condition: { cypher: 'MATCH (subject:Author {external_id: $token.sub})-[:WROTE]->(page:Page)' },
    allowed_reads: { nodes: ['page.*'] },
  })
  const query = await service.configure('POST', 'knowledge-queries', {
    project_id: projectId,
    name: 'titles',
    policy_id,
    query: JSON.stringify({ nodes: ['page.property.tilte'] }),
    status: 'ACTIVE',
  })
  expect(query.status).toBe(201)
  lines = await exported()
})
afterAll(async () => {
  await service?.stop()
  await killAll()
})

function decision(cypher: string): object {
  return {
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Author' },
    actions: ['edit'],
    resource: { type: 'Page' },
    condition: { cypher },
  }
}

async function storePolicy(name: string, policy: object | string, project = service.projectId, status = 'ACTIVE') {
  const text = typeof policy === 'string' ? policy : JSON.stringify(policy)
  const sent = { project_id: project, name, policy: text, status }
  const stored = await service.configure('POST', 'authorization-policies', sent)
  if (stored.status !== 201) throw new Error(stored.text)
  return stored.body.id as string
}

async function exported(projectId?: string): Promise<string> {
  const out = join(temporaryFolder(), 'lines')
  await exportFolder({ dataDir: service.dataDir, out, progress: () => {}, ...(projectId && { projectId }) })
  return out
}

/** Imports a file, which must succeed, and returns the warnings. */
async function warningsOf(data: string, file: string, ...more: string[]): Promise<string[]> {
  const { exitCode, stdout, stderr } = await runCommand(['import', '--data', data, '--in', file, ...more])
  expect([exitCode, stdout], stderr).toEqual([0, ''])
  const printed = stderr.trimEnd().split('\n')
  // Everything after the counts.
  const counts = printed.findIndex((line) => /configuration documents, \d+ nodes/.test(line))
  expect(counts, stderr).toBeGreaterThanOrEqual(0)
  return printed.slice(counts + 1).filter((line) => !line.startsWith('new: '))
}

test('an import prints one line for each unknown name of its policies and queries, and succeeds', async () => {
  const { name } = (await service.configure('GET', `projects/${service.projectId}`)).body
  const of = `of project \`${name}\``
  const expected = [
    `warning: authorization policy \`misspelt\` ${of}: policy.condition.cypher: line 1, column 16: no node with the label \`Autor\` was ever captured; did you mean \`(:Author)\`?`,
    `warning: authorization policy \`misspelt\` ${of}: policy.condition.cypher: line 2, column 19: no relationship of type \`WROT\` was ever captured; did you mean \`[:WROTE]\`?`,
    `warning: authorization policy \`misspelt\` ${of}: policy.condition.cypher: line 2, column 42: no property \`titel\` was ever captured; did you mean \`title\`?`,
    `warning: knowledge query \`titles\` ${of}: query.nodes[0]: no property \`tilte\` was ever captured; did you mean \`title\`?`,
  ]
  const data = join(temporaryFolder(), 'data')
  expect(await warningsOf(data, lines, '--dry-run')).toEqual([])
  expect(await warningsOf(data, lines)).toEqual(expected)
  // The folder has the same configuration now.
  expect(await warningsOf(data, lines)).toEqual(expected)
  // The configuration in the file is ignored.
  expect(await warningsOf(data, await exported(other), '--project', other)).toEqual([])
  // The other project has no nodes; policies that the file does not contain are not checked.
  expect(await warningsOf(data, await exported(other))).toEqual([])
  expect(await warningsOf(data, await exported(service.projectId))).toEqual(expected)
})

test('an import of policies without a text, and of a graph without some constituents, succeeds', async () => {
  const text = await Bun.file(lines).text()
  const own: string[] = text
    .split('\n')
    .filter((line) => line.startsWith('{"configuration":') && /"kind":"(?:projects|knowledge-queries)"/.test(line))
  const bare = (id: string, kind: string, more: object = {}) =>
    JSON.stringify({ configuration: { id, kind, project_id: service.projectId, name: id, ...more } })
  const file = join(temporaryFolder(), 'lines')
  const fields = {
    policy: JSON.stringify(decision('MATCH (subject:Author)-[:WROTE]->(resource:Pag)')),
    status: 'ACTIVE',
  }
  writeFileSync(
    file,
    [
      ...own,
      bare('p1', 'authorization-policies'),
      bare('p2', 'authorization-policies', { fields: { policy: 5 } }),
      bare('p3', 'authorization-policies', { fields, project_id: 'nowhere' }),
      bare('p4', 'authorization-policies', { fields }),
      bare('q1', 'knowledge-queries', { fields: { query: '{}', policy_id: 'p2' } }),
      bare('q2', 'knowledge-queries', { fields: { query: '{}' } }),
      JSON.stringify({ graph: { project: service.projectId, part: 'default' } }),
      JSON.stringify({ node: { type: 'Author', external_id: 'ada' } }),
      JSON.stringify({ node: { type: 'Page', external_id: 'home' } }),
    ].join('\n'),
  )
  const data = join(temporaryFolder(), 'data')
  const warnings = await warningsOf(data, file)
  expect(warnings.map((line) => line.split(' of project ')[0])).toEqual([
    'warning: authorization policy `p4`',
    'warning: authorization policy `p4`',
  ])
  expect(warnings[0]).toContain('no relationship of type `WROTE` was ever captured')
  expect(warnings[1]).toContain('no node with the label `Pag` was ever captured; did you mean `(:Page)`?')
})
