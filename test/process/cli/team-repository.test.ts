// The example "a team's repository": the commands of its page, its workflow, and what is deployed.
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { blocksOf, repositoryRoot } from '../../docs/pages.ts'
import { runPage } from '../../docs/run-page.ts'
import { bin, ownEnvironment, runCommand, startServer } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const example = join(repositoryRoot, 'examples', 'team-repository')
afterAll(removeTemporaryFolders)
const text = readFileSync(join(example, 'README.md'), 'utf8')

test('the commands of the page print what it shows', async () => {
  const page = { path: 'examples/team-repository/README.md', text, blocks: blocksOf(text) }
  const { differences, exitCode, log } = await runPage(page, {}, example)
  expect(differences, log).toEqual([])
  expect(exitCode, log).toBe(0)
})

test('the links of the page and the scripts of the workflow exist', () => {
  const links = [...text.matchAll(/\]\(([^)#]+)/g)].map(([, link = '']) => link)
  expect(links.length).toBeGreaterThan(0)
  const workflow = parse(readFileSync(join(example, '.github', 'workflows', 'policies.yml'), 'utf8'))
  const steps: { run?: string }[] = Object.values<{ steps: { run?: string }[] }>(workflow.jobs).flatMap(
    (job) => job.steps,
  )
  const scripts = steps.flatMap(({ run = '' }) => /^sh (\S+)$/.exec(run)?.[1] ?? [])
  expect(scripts).toEqual(['ci/check.sh', 'ci/plan.sh', 'ci/deploy.sh'])
  for (const path of [...links, ...scripts]) expect(existsSync(join(example, path)), path).toBe(true)
})

test('a pull request runs no job with a secret, and the token of `init` is private and not committed', () => {
  const workflow = parse(readFileSync(join(example, '.github', 'workflows', 'policies.yml'), 'utf8'))
  const jobs = Object.entries<{ if?: string; environment?: string }>(workflow.jobs)
  const withSecrets = jobs.filter(([, job]) => JSON.stringify(job).includes('secrets.'))
  expect(withSecrets.map(([name, job]) => [name, job.if, job.environment])).toEqual([
    ['plan', "github.event_name == 'push'", 'plan'],
    ['deploy', "github.event_name == 'push'", 'production'],
  ])
  expect(workflow.on.push).toEqual({ branches: ['main'] })
  for (const [, secret] of JSON.stringify(workflow).matchAll(/secrets\.(\w+)/g)) expect(text).toContain(`\`${secret}\``)
  expect(existsSync(join(example, 'package-lock.json')) || !JSON.stringify(workflow).includes('npm ci')).toBe(true)
  expect(text).toContain('(umask 077 && npx verdigraph init > organization.txt)')
  expect(readFileSync(join(example, '.gitignore'), 'utf8').split('\n')).toContain('organization.txt')
})

test('the scripts plan and deploy for a service, as the workflow runs them', async () => {
  const folder = join(temporaryFolder(), 'repository')
  cpSync(example, folder, { recursive: true })
  const programs = join(folder, '.bin')
  mkdirSync(programs)
  writeFileSync(join(programs, 'npx'), `#!/bin/sh\nshift\nexec '${bin}' "$@"\n`, { mode: 0o755 })
  const data = temporaryFolder()
  const { token } = JSON.parse((await runCommand(['init', '--data', join(data, 'data'), '--json'])).stdout)
  const server = await startServer(['--data', join(data, 'data')])
  try {
    const script = async (...args: readonly string[]): Promise<{ exitCode: number; last: string }> => {
      const child = Bun.spawn(['sh', ...args], {
        cwd: folder,
        env: {
          ...ownEnvironment,
          PATH: `${programs}:${process.env.PATH}`,
          VERDIGRAPH_URL: server.url,
          VERDIGRAPH_TOKEN: token,
        },
        stderr: 'inherit',
      })
      const [stdout, exitCode] = await Promise.all([child.stdout.text(), child.exited])
      return { exitCode, last: stdout.trimEnd().split('\n').at(-1) ?? '' }
    }
    expect((await script('ci/plan.sh')).last).toBe('the project is new, so it has no decisions that could change')
    expect((await script('ci/deploy.sh')).last).toBe('9 created, 0 updated, 0 deleted, 0 unchanged')
    expect((await script('ci/plan.sh', '--exit-code')).exitCode).toBe(0)
    const policy = join(folder, 'authz', 'policies', 'edit.cypher')
    writeFileSync(policy, readFileSync(policy, 'utf8').replace(" {role: 'editor'}", ''))
    expect((await script('ci/plan.sh', '--exit-code')).exitCode).toBe(3)
    expect((await script('ci/deploy.sh')).last).toBe('0 created, 1 updated, 0 deleted, 8 unchanged')
  } finally {
    await server.kill('SIGTERM')
  }
})
