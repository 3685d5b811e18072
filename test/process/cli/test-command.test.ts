// The command `test` as a process: exit codes, reports in files, filters, coverage, and runs again after changes.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { bin, ownEnvironment, runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
/** Replaces a file at once, as editors do, so that no run reads a part of it. */
const write = (path: string, text: string): void => {
  const file = join(folder, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}
const policy = (condition: string): string =>
  `subject: Person\nactions: [drive]\nresource: Car\ncypher: |\n  MATCH (subject)-[:OWNS]->(resource)\n  WHERE ${condition}\n`
const scenario = (wheels: number, expected: string): string =>
  `graph: |\n  (ann:Person)-[:OWNS]->(c1:Car {wheels: ${wheels}})\ndecisions:\n  - [Person:ann, drive, Car:c1, {min: 4}, ${expected}]\n`

beforeEach(() => {
  folder = temporaryFolder()
  write('verdigraph.yaml', 'name: cars\n')
  write('policies/drive.policy.yaml', policy('resource.wheels >= $min'))
  write('scenarios/four.scenario.yaml', scenario(4, 'yes'))
  write('scenarios/three.scenario.yaml', scenario(3, 'no'))
})
afterAll(removeTemporaryFolders)

test('has exit code 0 if all checks pass, 1 if one fails, and 2 if a file is not valid', async () => {
  const passed = await runCommand(['test', folder])
  expect([passed.exitCode, passed.stderr]).toEqual([0, ''])
  expect(passed.stdout).toContain('2 files: 2 passed; 2 checks: 2 passed')
  write('scenarios/three.scenario.yaml', scenario(3, 'yes'))
  const failed = await runCommand(['test', folder])
  expect(failed.exitCode).toBe(1)
  expect(failed.stdout).toContain(
    `  ${folder}/scenarios/three.scenario.yaml:4:5: decisions: Person:ann drive Car:c1 {"min":4}: expected yes, found no\n`,
  )
  expect(failed.stdout).toContain('      values: resource.wheels = 3, $min = 4\n')
  expect((await runCommand(['test', folder, '--filter', 'four'])).exitCode).toBe(0)
  const ended = await runCommand(['test', join(folder, 'scenarios/three.scenario.yaml'), folder, '--bail'])
  expect([ended.exitCode, ended.stdout.includes('four')]).toEqual([1, false])
  write('policies/drive.policy.yaml', policy('resource.wheels >= $min AND resouce.x = 1'))
  const invalid = await runCommand(['test', folder])
  expect(invalid.exitCode).toBe(2)
  expect(invalid.stdout).toContain(
    `${folder}/policies/drive.policy.yaml:6:37: variable \`resouce\` is not defined; did you mean \`resource\`?`,
  )
})

test('writes reports, and fails below a minimum of coverage', async () => {
  const junit = join(folder, 'reports', 'junit.xml')
  const both = await runCommand(['test', folder, '--reporter', 'junit', '--out', junit, '--min-coverage', '100'])
  expect([both.exitCode, both.stdout]).toEqual([0, expect.stringContaining('coverage: 100 %')])
  expect(readFileSync(junit, 'utf8')).toContain('<testsuites name="verdigraph test" tests="2" failures="0" errors="0"')
  rmSync(join(folder, 'scenarios/three.scenario.yaml'))
  const low = await runCommand(['test', folder, '--min-coverage', '95.5'])
  expect(low.exitCode).toBe(1)
  expect(low.stdout).toContain(
    `${folder}/policies/drive.policy.yaml:6:9: policy drive: \`resource.wheels >= $min\` is never false`,
  )
  expect(low.stdout).toContain('the coverage is below the minimum of 95.5 %')
  expect((await runCommand(['test', folder, '--min-coverage', '10'])).exitCode).toBe(0)
  const json = await runCommand(['test', folder, '--reporter', 'json', '--coverage'])
  expect(JSON.parse(json.stdout)).toMatchObject({
    version: 1,
    checks: { total: 1 },
    coverage: { policies: [{ asked: 1 }] },
  })
})

test('does not run with wrong paths or options, and writes no report', async () => {
  const out = join(folder, 'report')
  const empty = temporaryFolder()
  writeFileSync(join(empty, 'a.scenario.yaml'), 'policies: []\n')
  const cases = [
    [[join(folder, 'absent')], 'does not exist'],
    [[join(folder, 'policies')], 'no file ends with .scenario.yaml'],
    [[bin], 'expected a file that ends with .scenario.yaml'],
    [[empty, '--out', out, '--reporter', 'json'], 'the files contain no expected answer'],
    [[folder, '--filter', 'absent'], 'no check contains `absent`'],
    [[folder, '--reporter', 'tap'], 'Allowed choices are human, junit, json'],
    [[folder, '--out', out], '--out needs --reporter'],
    [[folder, '--reporter', 'json', '--out', folder], 'is a folder'],
    [[folder, '--min-coverage', '101'], 'expected a number from 0 to 100, found `101`'],
    [[folder, '--min-coverage', ''], 'expected a number from 0 to 100'],
    [[folder, '--watch', '--reporter', 'json'], 'needs --out'],
  ] as const
  const refusals = cases.map(async ([args, message]) => {
    const refused = await runCommand(['test', ...args])
    expect([refused.exitCode, refused.stderr, refused.stdout], args.join(' ')).toEqual([
      2,
      expect.stringContaining(message),
      expect.not.stringContaining('passed'),
    ])
  })
  await Promise.all(refusals)
  expect(existsSync(out)).toBe(false)
})

test('runs again what a change concerns, also new and removed files', async () => {
  const other = temporaryFolder()
  writeFileSync(
    join(other, 'alone.scenario.yaml'),
    `policies:\n  - {subject: Person, action: drive, resource: Car, cypher: 'MATCH (subject)-[:OWNS]->(resource) WHERE resource.wheels > $min'}\n${scenario(1, 'no')}`,
  )
  const child = Bun.spawn([bin, 'test', folder, other, '--watch'], {
    env: ownEnvironment,
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const notices: string[] = []
  const waiting = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stderr) notices.push(decoder.decode(bytes, { stream: true }))
  })()
  let output = ''
  const reading = (async () => {
    const decoder = new TextDecoder()
    for await (const bytes of child.stdout) output += decoder.decode(bytes, { stream: true })
  })()
  /** The output of the next run, without times. */
  const nextRun = async (): Promise<string> => {
    while (!/checks?: .*\(\d+\.\d+ s\)\n/.test(output)) await Bun.sleep(5)
    const run = output.replaceAll(`${folder}/`, '').replace(/ \(\d+ ms\)| \(\d+\.\d+ s\)/g, '')
    output = ''
    return run
  }
  try {
    expect(await nextRun()).toContain('3 files: 3 passed; 3 checks: 3 passed')
    write('policies/drive.policy.yaml', policy('resource.wheels > $min'))
    const changed = await nextRun()
    expect(changed).toContain('✗ scenarios/four.scenario.yaml')
    expect(changed).toContain('✓ scenarios/three.scenario.yaml')
    expect(changed).not.toContain('alone.scenario.yaml')
    expect(changed).toContain('3 files: 2 passed, 1 failed; 3 checks: 2 passed, 1 failed')
    write('scenarios/four.scenario.yaml', scenario(5, 'yes'))
    expect(await nextRun()).toBe('✓ scenarios/four.scenario.yaml: 1 check\n3 files: 3 passed; 3 checks: 3 passed\n')
    write('scenarios/more/five.scenario.yaml', scenario(5, 'no'))
    expect(await nextRun()).toContain('4 files: 3 passed, 1 failed; 4 checks: 3 passed, 1 failed')
    rmSync(join(folder, 'scenarios/more/five.scenario.yaml'))
    expect(await nextRun()).toBe('3 files: 3 passed; 3 checks: 3 passed\n')
    write('scenarios/three.scenario.yaml', 'graph: (\n')
    expect(await nextRun()).toContain('3 files: 2 passed, 1 not run')
  } finally {
    child.kill('SIGINT')
    await Promise.all([child.exited, waiting, reading])
  }
  expect(notices.join('')).toContain('waiting for changes')
})
