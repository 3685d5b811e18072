// Control characters, bidirectional controls and line feeds of ids, values, descriptions and file names do not reach the terminal.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { washCypher } from '../../support/car-project.ts'
import { bin, type Finished, runCommand, startCommand } from '../../support/cli-process.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A colour, a title of the window, a new line, a text direction, a space without width, a tag, and a C1 control that erases the screen. */
const hostile = 'x\u001b[31m\u001b]0;t\u0007\r\nFORGED\u202e\u200b\u{e0041}\u009b2Jy'
const escaped = 'x\\u001b[31m\\u001b]0;t\\u0007\\u000d\\nFORGED\\u202e\\u200b\\udb40\\udc41\\u009b2Jy'
const raw =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|^FORGED/mu

let service: TestService
let folder: string
let log: string
let account: Record<string, string>

beforeAll(async () => {
  log = join(temporaryFolder(), 'decisions.log')
  service = await startService({ decisionLog: log }, { sync: false, log: () => undefined })
  const person = { type: 'Person', external_id: hostile }
  const car = { type: 'Car', external_id: `c${hostile}` }
  const captured = await service.ask('/capture/v1/nodes', {
    nodes: [
      { ...person, is_identity: true, properties: [{ type: 'name', value: hostile }] },
      { ...car, properties: [{ type: 'name', value: hostile }] },
    ],
  })
  expect(captured.status, captured.text).toBe(200)
  await service.ask('/capture/v1/relationships', { relationships: [{ source: person, target: car, type: 'OWNS' }] })
  await service.addPolicy({ name: 'wash', cypher: washCypher, actions: ['wash', 'sell'], tags: ['t'] })
  account = { VERDIGRAPH_URL: service.url, VERDIGRAPH_TOKEN: service.token }

  folder = temporaryFolder()
  const write = (path: string, text: string): void => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  write('verdigraph.yaml', 'name: test\n')
  const policy = {
    subject: 'Person',
    actions: ['wash'],
    resource: 'Car',
    description: hostile,
    cypher: `${washCypher} WHERE resource.name <> ${JSON.stringify(hostile)}`,
  }
  write('policies/wash.policy.yaml', JSON.stringify(policy))
  write(
    `scenarios/a${hostile}.scenario.yaml`,
    JSON.stringify({
      graph: '(ann:Person)-[:OWNS]->(c1:Car)',
      evaluations: [{ subject: 'Person:ann', action: 'fly', resource: `Car:${hostile}`, decision: true }],
    }),
  )
  write(`broken/b${hostile}.cypher`, `MATCH (a:Car) RETURN a.\`${hostile}\`, missing`)
})
afterAll(() => service.stop())

function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Finished> {
  return runCommand(args, { XDG_CONFIG_HOME: join(folder, '.config'), ...account, ...environment })
}

const [ann, c1] = [`Person:${hostile}`, `Car:c${hostile}`]

/** Commands that print the hostile text, each with its exit code. */
const commands: Readonly<Record<string, () => readonly [args: readonly string[], exitCode: number]>> = {
  check: () => [['check', ann, 'wash', c1], 0],
  'check of an unknown type': () => [['check', `${hostile}:1`, 'wash', c1], 2],
  why: () => [['why', ann, 'wash', c1], 0],
  who: () => [['who', 'wash', c1], 0],
  what: () => [['what', ann, 'wash', '--type', 'Car'], 0],
  query: () => [['query', 'MATCH p = (a:Person)-[:OWNS]->(c) RETURN p, a.name'], 0],
  'query as JSON': () => [['query', 'MATCH (a:Person) RETURN a', '--json'], 0],
  'query --plan': () => [['query', `MATCH (a:Person) WHERE a.name = ${JSON.stringify(hostile)} RETURN a`, '--plan'], 0],
  'policy show of an unknown policy': () => [['policy', 'show', hostile], 2],
  plan: () => [['plan', folder, '--url', service.url], 0],
  'apply --dry-run': () => [['apply', folder, '--url', service.url, '--dry-run'], 0],
  test: () => [['test', folder], 2],
  lint: () => [['lint', join(folder, 'broken')], 1],
  'an unknown command': () => [[hostile], 2],
  'an unknown command with a suggestion': () => [[`serv${'\u001b'}e`], 2],
  'the help of an unknown command': () => [['help', hostile], 2],
  'an unknown option': () => [[`--${hostile}`], 2],
  'an unknown option of a command': () => [['check', `--${hostile}\n(Did you mean --data?)`], 2],
  'an unknown command of a command': () => [['context', hostile], 2],
  'a value that an option does not have': () => [['test', folder, '--reporter', hostile], 2],
  'too many arguments': () => [['context', 'list', hostile], 2],
}

describe('no control character of data reaches stdout or stderr', () => {
  test.each(Object.keys(commands))('%s', async (name) => {
    const [args, exitCode] = commands[name]!()
    const finished = await run(args)
    const printed = `${finished.stdout}\n${finished.stderr}`
    expect(printed).not.toMatch(raw)
    expect(printed).toContain('\\u001b')
    expect(finished.exitCode, printed).toBe(exitCode)
  })

  test('actions, policy list and policy show', async () => {
    for (const args of [
      ['actions', ann, c1],
      ['policy', 'list'],
      ['policy', 'show', 'wash'],
    ]) {
      const { stdout, stderr, exitCode } = await run(args)
      expect([exitCode, `${stdout}\n${stderr}`]).toEqual([0, expect.not.stringMatching(raw)])
    }
  })

  test('tail and replay of a decision', async () => {
    const tail = startCommand(['tail', '--count', '1'], account)
    let isOver = false
    const ended = tail.ended.finally(() => {
      isOver = true
    })
    // The command does not report when it has connected.
    while (!isOver) await run(['check', ann, 'wash', c1])
    expect(await ended, tail.notices()).toBe(0)
    expect(tail.output()).toContain(escaped)
    expect(`${tail.output()}${tail.notices()}`).not.toMatch(raw)
    // The service writes its log in the background: a line is complete at its end.
    const lastLogged = (): { readonly id: string } | undefined =>
      readFileSync(log, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line))
        .findLast(({ kind }) => kind === 'evaluation')
    await expect.poll(lastLogged).toBeDefined()
    const { id } = lastLogged()!
    const replay = await run(['replay', id])
    expect(replay.stdout, replay.stderr).toContain(escaped)
    expect(`${replay.stdout}${replay.stderr}`).not.toMatch(raw)
  })

  test('shell', async () => {
    const shell = Bun.spawn([bin, 'shell'], {
      env: { PATH: process.env.PATH ?? '', XDG_STATE_HOME: folder, ...account },
      stdin: new Blob(['MATCH (a:Person) RETURN a, a.name;\n:schema\n:who wash "Car:absent"\n']),
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [stdout, stderr] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited])
    expect(stdout).toContain(escaped)
    expect(`${stdout}${stderr}`).not.toMatch(raw)
  })
})

test('our own colours stay, and those of data do not', async () => {
  const { stdout } = await run(['check', ann, 'wash', c1], { FORCE_COLOR: '1' })
  expect(stdout).toBe(`\u001b[32m✓ granted\u001b[39m  Person:${escaped} \u001b[1mwash\u001b[22m Car:c${escaped}\n`)
  const forged = await run(['policy', 'show', '\u001b[31mred'], { FORCE_COLOR: '1' })
  expect(forged.stderr).toContain('`\\u001b[31mred`')
})

test.each([
  ['audit acknowledge-loss', ['audit', 'acknowledge-loss', 'log'], '--reason'],
  ['match decide', ['match', 'decide', '--pipeline', 'p', '--source', 'a', '--target', 'b', '--same'], '--comment'],
])('%s refuses a text for a record with a character that cannot be seen', async (_, words, flag) => {
  for (const text of ['a\u001b[2J', 'a\u202eb', 'a\u200b', 'a\nFORGED', 'a\tb', 'a\r']) {
    const { exitCode, stderr } = await runCommand([...words, flag, text, '--data', temporaryFolder()])
    expect([exitCode, stderr], JSON.stringify(text)).toEqual([
      2,
      expect.stringContaining('it has a character that cannot be seen: write one line of visible characters'),
    ])
  }
})
