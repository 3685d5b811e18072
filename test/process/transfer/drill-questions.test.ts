// A restore drill with a file of questions: the answers of the backup are compared with the expected decisions. The bench reads the same file.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let folder: string
let data: string
let archive: string
let work: string

const towing = (kilograms: number, expected?: boolean) => ({
  subject: 'Person:dara',
  action: 'tow',
  resource: { type: 'Car', id: 'bramble' },
  context: { input_params: { load_kg: kilograms } },
  ...(expected !== undefined && { expected }),
})

beforeAll(async () => {
  folder = temporaryFolder()
  data = join(folder, 'data')
  archive = join(folder, 'demo.tar')
  work = join(folder, 'work')
  mkdirSync(work)
  const server = await startServer(['--data', data, '--demo'], { VERDIGRAPH_LANES: '0' })
  await server.kill('SIGTERM')
  expect(await runCommand(['backup', '--data', data, '--out', archive])).toMatchObject({ exitCode: 0 })
})
afterAll(killAll)

interface ReadReport {
  readonly outcome: string
  readonly steps: readonly { readonly step: string; readonly outcome: string; readonly detail: string }[]
  readonly answers: { readonly faults: readonly string[] } | null
}

async function drill(...questions: readonly object[]) {
  const file = join(folder, 'questions.ndjson')
  writeFileSync(file, questions.map((question) => `${JSON.stringify(question)}\n`).join(''))
  const options = ['--in', archive, '--work', work, '--questions', file, '--json']
  const { exitCode, stdout, stderr } = await runCommand(['drill', '--data', data, ...options])
  // Whatever the result is, no copy is left.
  expect(readdirSync(work)).toEqual([])
  return { exitCode, stderr, file, report: stdout === '' ? null : (JSON.parse(stdout) as ReadReport) }
}

test('compares the answers that have an expected decision, and reads the files of `bench`', async () => {
  const { exitCode, report, file } = await drill(towing(1800, true), towing(9000, false), towing(9000))
  expect(report?.answers).toEqual({
    kind: 'given',
    asked: 3,
    compared: 2,
    granted: 1,
    denied: 2,
    left_out: 0,
    without_nodes: 0,
    faults: [],
  })
  expect(report?.steps.at(-1)).toMatchObject({
    outcome: 'ok',
    detail: '3 questions: 1 granted, 2 denied; 2 compared, all as expected',
  })
  expect([exitCode, report?.outcome]).toEqual([0, 'proven'])
  const short = ['--duration', '0.3', '--warm-up', '0']
  const measured = await runCommand(['bench', '--data', data, '--questions', file, ...short, '--json'])
  expect(measured.exitCode).toBe(0)
  expect(JSON.parse(measured.stdout)).toMatchObject({
    questions: { count: 3, granted: 1, denied: 1, unknown: 1 },
    sides: [{ result: { wrong: 0, errors: 0 } }],
  })
})

test('fails with each answer that is another than expected, and with a question that has no answer', async () => {
  const { load_kg: _, ...none } = towing(0).context.input_params
  const incomplete = { ...towing(0), context: { input_params: none } }
  const { exitCode, report } = await drill(towing(1800, false), towing(9000, true), incomplete)
  expect(exitCode).toBe(1)
  expect(report).toMatchObject({ outcome: 'failed', answers: { compared: 2 } })
  expect(report?.answers?.faults).toEqual([
    'Person:dara tow Car:bramble: expected denied, the backup answers granted',
    'Person:dara tow Car:bramble: expected granted, the backup answers denied',
    expect.stringMatching(/^Person:dara tow Car:bramble: .*load_kg/),
  ])
})

test('asks the project that a question names', async () => {
  const listed = await runCommand(['drill', '--data', data, '--in', archive, '--work', work, '--json'])
  expect(JSON.parse(listed.stdout)).toMatchObject({ outcome: 'proven', answers: { kind: 'sampled', compared: 0 } })
  const { report } = await drill({ ...towing(1800, true), project: 'no-such-project' })
  expect(report).toMatchObject({ outcome: 'failed' })
  expect(report?.steps.at(-1)?.detail).toContain('no-such-project')
})

test.each([
  [{ ...towing(1800), decision: true }, 'rename the member `decision` to `expected`'],
  [{ subject: 'Person:dara', action: 'tow' }, 'resource: expected TYPE:ID'],
])('refuses a file with a wrong line, names the line, and restores nothing', async (line, message) => {
  const { exitCode, stderr, report, file } = await drill(towing(1800, true), line)
  expect([exitCode, report]).toEqual([2, null])
  expect(stderr).toContain(`the questions of the drill cannot be used: ${file}:2: ${message}`)
})

test('a file of questions or identities that cannot be used is an error of usage, and doctor reports that of the setting', async () => {
  const empty = join(folder, 'empty.ndjson')
  writeFileSync(empty, '')
  const run = (...options: string[]) => runCommand(['drill', '--data', data, '--in', archive, '--json', ...options])
  for (const [options, message] of [
    [['--questions', '/nowhere/questions.ndjson'], '/nowhere/questions.ndjson: it does not exist'],
    [['--questions', empty], `${empty} has no question`],
    [['--identity', '/nowhere/key.txt'], 'the identity file /nowhere/key.txt cannot be read'],
    [['--identity', empty], `the identity file ${empty} contains no identity`],
  ] as const) {
    const { exitCode, stdout, stderr } = await run(...options)
    expect([exitCode, stdout, stderr]).toEqual([2, '', expect.stringContaining(message)])
  }
  const doctor = async (path: string) => {
    const { stdout } = await runCommand(['doctor', '--data', data, '--json'], { VERDIGRAPH_DRILL_QUESTIONS: path })
    return JSON.parse(stdout).findings as { readonly found: string; readonly status: string }[]
  }
  expect(await doctor(empty)).toContainEqual(
    expect.objectContaining({ status: 'failed', found: `drill_questions: ${empty} has no question` }),
  )
  expect(await doctor('/nowhere/questions.ndjson')).toContainEqual(
    expect.objectContaining({ status: 'failed', found: expect.stringContaining('drill_questions: /nowhere/') }),
  )
  const good = join(folder, 'good.ndjson')
  writeFileSync(good, JSON.stringify(towing(1800, true)))
  expect(await doctor(good)).toContainEqual(expect.objectContaining({ status: 'ok', found: `${good} can be read` }))
})
