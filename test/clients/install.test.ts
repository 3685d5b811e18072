// The readers who have a package file of a clone and a registry, and nothing else of the repository: the author of a program, of policies
// in files, and of a repository that was copied from the example. Each path is followed with the commands of its page.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import packageJson from '../../package.json' with { type: 'json' }
import { blocksOf, repositoryRoot } from '../docs/pages.ts'
import { agrees, isOutput, isRunnable } from '../docs/run-page.ts'
import { nodeProgram } from '../support/node-program.ts'

const NOT_RUN = 'not-run: test/clients/install.test.ts runs it'
const packageFile = `verdigraph-${packageJson.version}.tgz`
const pageOf = (path: string): string => readFileSync(join(repositoryRoot, path), 'utf8')
const commandsOf = (path: string): readonly string[] =>
  blocksOf(pageOf(path)).flatMap(({ info, text }) => (info === NOT_RUN ? [text] : []))

/** Has the folder `verdigraph` with the package file, as a clone beside the reader's own folders. */
let folder: string
/** An installed program: `package.json`, the package and Bun. */
let program: string

/** No variable of this process is known to the reader's programs, except the place of programs and of the cache of npm. */
async function run(
  script: string,
  cwd: string,
): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> {
  const npm = Object.entries(process.env).filter(([name]) =>
    /^npm_config_(cache|registry|userconfig|fetch)/i.test(name),
  )
  const env = {
    ...Object.fromEntries(npm),
    PATH: `${dirname(nodeProgram())}:/usr/local/bin:/usr/bin:/bin`,
    HOME: process.env.HOME ?? '',
    NO_COLOR: '1',
    npm_config_audit: 'false',
    npm_config_fund: 'false',
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  }
  const child = Bun.spawn(['bash', '-euo', 'pipefail', '-c', script], {
    cwd,
    env: env as Record<string, string>,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { exitCode, stdout, stderr }
}

async function succeed(script: string, cwd: string): Promise<string> {
  const { exitCode, stdout, stderr } = await run(script, cwd)
  expect(exitCode, `${script}\n${stdout}${stderr}`).toBe(0)
  return stdout
}

/** Runs the blocks of a page in a folder, in one shell, and compares what they print with what the page shows. */
async function follow(path: string, cwd: string): Promise<void> {
  const blocks = blocksOf(pageOf(path))
  const steps = blocks.flatMap((block, i) => {
    if (!isRunnable(block) || block.language === 'ts') return []
    const next = blocks[i + 1]
    return [{ block, output: next !== undefined && isOutput(next) ? next : null }]
  })
  expect(steps.length).toBeGreaterThan(3)
  const stdout = await succeed(steps.map(({ block }, i) => `printf '\\001${i}\\n'\n${block.text}`).join('\n'), cwd)
  const printed = stdout.split('\u0001').slice(1)
  const differences = steps.flatMap(({ block, output }, i) => {
    const found = (printed[i] ?? '').replace(/^\d+\n/, '').trim()
    return output === null || agrees(found, output)
      ? []
      : [{ where: `${path}:${block.line}`, expected: output.text, found }]
  })
  expect(differences).toEqual([])
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-install-'))
  const [pack = '', install = ''] = commandsOf('docs/how-to/install.md')
  expect(pack).toBe('npm pack')
  mkdirSync(join(folder, 'verdigraph'))
  await succeed(`${pack} --silent --pack-destination '${join(folder, 'verdigraph')}'`, repositoryRoot)
  expect(existsSync(join(folder, 'verdigraph', packageFile))).toBe(true)
  program = join(folder, 'program')
  mkdirSync(program)
  writeFileSync(join(program, 'package.json'), '{"private":true,"type":"module"}')
  const { exitCode, stderr } = await run(install, program)
  expect(exitCode, stderr).toBe(0)
  // npm 11 names install scripts that the user has not allowed.
  expect(stderr).not.toMatch(/EBADENGINE|ERESOLVE|deprecated/)
}, 600_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('a reader with the package file', () => {
  it('runs the example of the README under Node', async () => {
    const [example] = blocksOf(pageOf('README.md')).filter(({ language }) => language === 'ts')
    const promised = [...(example?.text ?? '').matchAll(/^(owns\..*) \/\/ (.*)$/gm)].map(([, , value]) => value)
    expect(promised).toHaveLength(3)
    const text = (example?.text ?? '').replace(/^(owns\..*) \/\/ .*$/gm, 'console.log(JSON.stringify($1))')
    writeFileSync(join(program, 'example.mjs'), `${text}\nawait store.close()\n`)
    expect((await succeed('node example.mjs', program)).trim().split('\n')).toEqual(promised)
  })

  it('runs the first example of the tutorial of the library', async () => {
    const [example] = blocksOf(pageOf('docs/tutorials/local-tests.md')).filter(({ language }) => language === 'ts')
    const text = (example?.text ?? '').replace(/^(read\..*) \/\/ (.*)$/gm, (_, call, value) =>
      [`if (JSON.stringify(${call}) !== JSON.stringify(${value}))`, '  throw new Error("differs")'].join('\n'),
    )
    expect(text).toContain('differs')
    writeFileSync(join(program, 'tutorial.mjs'), text)
    await succeed('node tutorial.mjs', program)
  })

  it('follows the tutorial of policies as code', async () => {
    await follow('docs/tutorials/policies-as-code.md', program)
  }, 600_000)

  it('has the command', async () => {
    expect(await succeed('npx verdigraph --version', program)).toContain(packageJson.version)
  })
})

describe('a reader who copied the example repository', () => {
  it('installs what its package.json names, and follows its page', async () => {
    const copy = join(folder, 'team')
    cpSync(join(repositoryRoot, 'examples', 'team-repository'), copy, { recursive: true })
    mkdirSync(join(copy, 'vendor'))
    cpSync(join(folder, 'verdigraph', packageFile), join(copy, 'vendor', packageFile))
    const [install = ''] = commandsOf('examples/team-repository/README.md')
    await succeed(install, copy)
    expect(await succeed('npx verdigraph --version', copy)).toContain(packageJson.version)
    await follow('examples/team-repository/README.md', copy)
    // Clones of the copy have the file too, so the workflow can install it.
    expect(await succeed(`git init -q && git check-ignore vendor/${packageFile} || echo committed`, copy)).toBe(
      'committed\n',
    )
  }, 600_000)
})
