// The examples in the help: every command has some, and those of the commands that ask run as they are.
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import type { CliCommand } from '../../../src/cli/commands/cli-command.ts'
import { program } from '../../../src/cli/program.ts'
import { carProject } from '../../support/car-project.ts'
import { bin } from '../../support/cli-process.ts'

function leavesOf(command: CliCommand): readonly CliCommand[] {
  const visible = new Set<unknown>(command.createHelp().visibleCommands(command))
  return command.commands
    .filter((inner) => visible.has(inner))
    .flatMap((inner) => (inner.commands.length === 0 ? [inner] : leavesOf(inner)))
}

const leaves = leavesOf(program())
const examplesOf = (name: string): readonly string[] => leaves.find(({ path }) => path === name)?.exampleLines ?? []

function helpOf(command: CliCommand): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

test.each(leaves.map((command) => [command.path, command] as const))(
  'the help of %s has examples that begin with its name',
  (path, command) => {
    const [, examples = ''] = helpOf(command).split('\nExamples:\n')
    const lines = examples.split('\n').filter((line) => line.trim() !== '')
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines) expect(line).toMatch(new RegExp(`^ {2}\\$ verdigraph ${path}( |$)`))
  },
)

test('each option of an example is one of its command', () => {
  for (const { path, exampleLines, options } of leaves) {
    for (const example of exampleLines) {
      const unquoted = example.replace(/'[^']*'|"[^"]*"/g, '')
      for (const [option] of unquoted.matchAll(/--[a-z-]+/g)) {
        expect([path, option, options.some(({ long }) => long === option)]).toEqual([path, option, true])
      }
    }
  }
})

const asking = ['check', 'why', 'who', 'what', 'actions', 'query', 'policy list', 'policy show', 'shell', 'completion']
const contexts = ['context set', 'context list', 'context show', 'context delete', 'context use']

let folder: string
let environment: Record<string, string>

async function run(example: string): Promise<{ readonly exitCode: number; readonly output: string }> {
  const child = Bun.spawn(['sh', '-c', `verdigraph ${example}`], {
    cwd: folder,
    env: environment,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, output: stdout + stderr }
}

beforeAll(async () => {
  folder = carProject()
  for (const path of ['bin', '.zfunc', '.config/fish/completions', '.local/share/bash-completion/completions'])
    mkdirSync(join(folder, path), { recursive: true })
  writeFileSync(join(folder, 'bin', 'verdigraph'), `#!/bin/sh\nexec "${bin}" "$@"\n`)
  chmodSync(join(folder, 'bin', 'verdigraph'), 0o755)
  writeFileSync(join(folder, 'query.cypher'), 'MATCH (p:Person) RETURN p.age AS age')
  writeFileSync(join(folder, 'queries.cypher'), 'MATCH (p:Person) RETURN p.age AS age; RETURN 1 AS one;')
  writeFileSync(join(folder, 'agent.key'), 'key\n')
  environment = { PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`, HOME: folder, NO_COLOR: '1' }
  expect((await run('context set local --folder authz --use')).exitCode).toBe(0)
})

test.each(asking.flatMap((path) => examplesOf(path)))('verdigraph %s', async (example) => {
  const { exitCode, output } = await run(example)
  // A denial is an answer too.
  expect(exitCode === 0 || (exitCode === 1 && /^(check|why)/.test(example)), output).toBe(true)
})

test('the examples of contexts run one after another', async () => {
  for (const example of contexts.flatMap((path) => examplesOf(path))) {
    const { exitCode, output } = await run(example)
    expect(exitCode, `${example}: ${output}`).toBe(0)
  }
})
