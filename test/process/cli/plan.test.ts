// `verdigraph plan` as a real process, on a data folder that is served and on the URL of the service: the difference of the
// documents, who gains and who loses, exit codes.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
let folder: string

beforeAll(async () => {
  service = await startService({}, { sync: false, log: () => {} })
  const node = (type: string, external_id: string) => ({ type, external_id })
  const nodes = [
    node('Person', 'ann'),
    node('Person', 'bob'),
    node('Team', 'red'),
    node('Car', 'c1'),
    node('Car', 'c2'),
  ]
  const link = (source: object, type: string, target: object) => ({ source, type, target })
  const relationships = [
    link(node('Person', 'ann'), 'OWNS', node('Car', 'c1')),
    link(node('Person', 'bob'), 'MEMBER', node('Team', 'red')),
    link(node('Team', 'red'), 'USES', node('Car', 'c1')),
    link(node('Team', 'red'), 'USES', node('Car', 'c2')),
  ]
  await service.ask('/capture/v1/nodes', { nodes })
  await service.ask('/capture/v1/relationships', { relationships })
  await service.addPolicy({ name: 'own', actions: ['drive', 'sell'], cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  folder = temporaryFolder()
  mkdirSync(join(folder, 'policies'))
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: test\n')
})
afterAll(() => service?.stop())

function policy(name: string, actions: string, cypher: string, status = 'ACTIVE'): void {
  const lines = [
    'subject: Person',
    `actions: [${actions}]`,
    'resource: Car',
    `status: ${status}`,
    `cypher: ${JSON.stringify(cypher)}`,
  ]
  writeFileSync(join(folder, 'policies', `${name}.policy.yaml`), `${lines.join('\n')}\n`)
}

const own = 'MATCH (subject)-[:OWNS]->(resource)'
const team = 'MATCH (subject)-[:MEMBER]->(:Team)-[:USES]->(resource)'

function plan(...flags: string[]) {
  return runCommand(['plan', folder, '--data', service.dataDir, ...flags])
}
function planByUrl(...flags: string[]) {
  return runCommand(['plan', folder, '--url', service.url, ...flags], { VERDIGRAPH_TOKEN: service.token })
}

const unmanaged =
  'without a file, left alone because the folder has no applications and agents: application agent test, application test'

describe('a plan', () => {
  it('is empty for a folder with the stored policies', async () => {
    policy('own', 'drive, sell', own)
    for (const run of [plan, planByUrl]) {
      const { exitCode, stdout } = await run('--exit-code')
      expect([exitCode, stdout]).toEqual([
        0,
        `${unmanaged}\n0 to create, 0 to update, 0 to delete, 2 unchanged\nno decision policy changes, so no decision does\n`,
      ])
    }
  })

  it('prints gains and losses by action, with examples and paths, the same for a folder and a URL', async () => {
    policy('own', 'drive', own)
    policy('team', 'drive', team)
    for (const run of [plan, planByUrl]) {
      const { exitCode, stdout, stderr } = await run()
      expect(stderr).toBe('')
      expect(exitCode).toBe(0)
      expect(stdout.replace(/[\d.]+ s$/m, 'T s')).toBe(
        `${`
~ authorization policy own (policies/own.policy.yaml)
    actions: ["drive","sell"] → ["drive"]
+ authorization policy team (policies/team.policy.yaml)
${unmanaged}
1 to create, 1 to update, 0 to delete, 1 unchanged

action  subject  resource  gain  lose
──────  ───────  ────────  ────  ────
drive   Person   Car       +2    0
sell    Person   Car       0     -1

+ drive: 2 pairs gained by policy team
    bob → c1  (bob)-[:MEMBER]->(red)-[:USES]->(c1)
    bob → c2  (bob)-[:MEMBER]->(red)-[:USES]->(c2)

- sell: 1 pair lost with policy own
    ann → c1  (ann)-[:OWNS]->(c1)
2 gains and 1 loss of decisions, compared in T s
`.trimStart()}`,
      )
    }
    expect((await plan('--exit-code')).exitCode).toBe(3)
  })

  it('prints JSON for programs', async () => {
    const { stdout } = await plan('--json', '--action', 'drive', '--sample', '1')
    const printed = JSON.parse(stdout) as { documents: object[]; comparison: { gains: { sample: object[] }[] } }
    expect(printed.documents).toContainEqual(expect.objectContaining({ action: 'create', name: 'team' }))
    expect(printed.comparison).toMatchObject({ complete: true, gained: 2, lost: 0 })
    expect(printed.comparison.gains[0]?.sample).toHaveLength(1)
  })

  it('names a policy that it left out, and takes its parameters', async () => {
    policy('own', 'drive, sell', own)
    policy('team', 'drive', `${team} WHERE $token.level > $min AND resource.external_id <> $not`)
    const left = await plan()
    expect(left.stdout).toContain(
      'left out: policy team (as in the folder), drive: not compared without `$token`, `$min`, `$not`',
    )
    expect(left.stdout).toContain('at least 0 gains and 0 losses')
    const given = await planByUrl('--token', '{"level":3}', '--param', 'min=2', '--param', 'not=c2')
    expect(given.stdout).toContain('+ drive: 1 pair gained by policy team')
    expect(given.stdout).not.toContain('left out')
    expect((await plan('--token', '{"level":3}', '--param', 'min=4', '--param', 'not=c2')).stdout).toContain('0 gains')
  })

  it('names a policy whose tags change, and compares decisions with tags', async () => {
    rmSync(join(folder, 'policies', 'team.policy.yaml'))
    policy('own', 'drive, sell', own, 'ACTIVE\ntags: [beta]')
    for (const run of [plan, planByUrl]) {
      expect((await run()).stdout).toContain(
        'left out: policy own (stored and in the folder), drive, sell: its tags differ: decisions with `context.policy_tags`',
      )
      expect((await run('--tag', 'beta', '--tag', 'other')).stdout).toContain('\n2 gains and 0 losses of decisions')
    }
    policy('team', 'drive', team)
  })

  it('counts an inactive policy, and with --prune one without a file, as lost', async () => {
    policy('own', 'drive, sell', own, 'INACTIVE')
    rmSync(join(folder, 'policies', 'team.policy.yaml'))
    expect((await plan()).stdout).toContain('0 gains and 2 losses')
    rmSync(join(folder, 'policies', 'own.policy.yaml'))
    const kept = await plan('--exit-code')
    expect([kept.exitCode, kept.stdout]).toEqual([0, expect.stringContaining('--prune deletes them')])
    const pruned = await plan('--prune', '--exit-code')
    expect([pruned.exitCode, pruned.stdout]).toEqual([3, expect.stringContaining('0 gains and 2 losses')])
  })
})

it('is compared for a type that only the graph has', async () => {
  policy('own', 'drive', team)
  for (const run of [plan, planByUrl]) {
    const { exitCode, stdout, stderr } = await run('--resource', 'Team')
    expect([exitCode, stdout], stderr).toEqual([0, expect.stringContaining('0 gains and 0 losses')])
  }
  const other = await plan('--resource', 'Car')
  expect(other.stdout).not.toContain('0 gains and 0 losses')
})

describe('a plan is refused', () => {
  it('for a policy that does not compile, with its place', async () => {
    policy('own', 'drive', 'MATCH (subject)-[:OWNS]->(')
    const { exitCode, stdout, stderr } = await plan()
    expect([exitCode, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(/own\.policy\.yaml:5:\d+: /)
    policy('own', 'drive', own)
  })

  it.each([
    [['--param', 'min'], 'expected name=value'],
    [['--param', 'min=1', '--param', '$min=2'], '--param: `min` is given twice'],
    [['--action', 'drvie'], '--action: no policy has `drvie`; did you mean `drive`?'],
    [['--subject', 'Persn'], '--subject: neither a policy nor the graph has `Persn`; did you mean `Person`?'],
    [['--resource', 'Tem'], '--resource: neither a policy nor the graph has `Tem`; did you mean `Team`?'],
    [['--resource', '_AppAgent'], '--resource: neither a policy nor the graph has `_AppAgent`'],
    [['--sample', '1.5'], '--sample: expected an integer, found `1.5`'],
    [['--token', 'x'], 'expected a JSON object'],
    [['--budget', 'soon'], 'expected 0.001 to 3600 seconds'],
    [['--subject', ':ann'], 'expected a type'],
  ])('for %j', async (flags, message) => {
    const { exitCode, stderr } = await plan(...flags)
    expect(exitCode).toBe(2)
    expect(stderr).toContain(message)
  })

  it('in its comparison only, for an account that may read: the documents are printed first', async () => {
    policy('own', 'drive', own)
    const { organizationId: organization_id } = service.app
    const account = { organization_id, name: 'reader', role: 'all_viewer' }
    const headers = { authorization: `Bearer ${service.token}`, 'content-type': 'application/json' }
    const post = async (kind: string, body: object): Promise<Record<string, unknown>> => {
      const sent = { method: 'POST', headers, body: JSON.stringify(body) }
      return (await fetch(`${service.url}/configs/v1/${kind}`, sent)).json() as Promise<Record<string, unknown>>
    }
    const { id } = await post('service-accounts', account)
    const made = await post('service-account-credentials', { service_account_id: id })
    const { token } = made.service_account_config as { token: string }
    const args = ['plan', folder, '--url', service.url]
    const { exitCode, stdout, stderr } = await runCommand(args, { VERDIGRAPH_TOKEN: token })
    expect(exitCode, stderr).toBe(1)
    expect(stdout).toContain('~ authorization policy own (policies/own.policy.yaml)')
    expect(stdout).toContain(' 1 to update, 0 to delete')
    expect(stderr).toContain('the decisions are not compared')
  })

  it('for an unknown project, and without a permission', async () => {
    const unknown = await plan('--project', 'tests')
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('did you mean `test`?')])
  })
})
