// A secret in the URL of a resolver: the commands for project folders notice it as they notice one in a header, and never print it.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Finished, runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const SECRET = 'hunter2-hunter2'
const message =
  'url: the value of the query parameter `api_key` looks like a secret, which a file must not contain: send it in a header, as `${env:NAME}` or `secret://NAME`'

let data: string
let folder: string

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  await runCommand(['init', '--data', data])
  folder = temporaryFolder()
  write('verdigraph.yaml', 'name: cars\n')
})
afterAll(removeTemporaryFolders)

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

function resolver(url: string): void {
  write(
    'resolvers/price.resolver.yaml',
    `# Prices.\nurl: ${url}\nmethod: GET\nrequest_content_type: JSON\nresponse_content_type: JSON\nresponse_selector: .price\n`,
  )
}

async function run(...args: string[]): Promise<Finished> {
  const finished = await runCommand(args)
  expect(finished.stdout + finished.stderr).not.toContain('hunter2')
  return finished
}

test('apply, plan, lint and pull report the parameter, and print no value of it', async () => {
  resolver(`https://prices.example.org/{$id}?unit=NOK&api_key=${SECRET}`)
  const warning = `warning: resolvers/price.resolver.yaml:2:6: ${message}\n`
  const file = join(folder, 'resolvers/price.resolver.yaml')
  const lint = await run('lint', folder)
  expect(lint.stdout).toBe(`${file}:2:6: warning: ${message} (secret-in-url)\n`)
  expect([lint.exitCode, (await run('lint', folder, '--strict')).exitCode]).toEqual([0, 1])
  const applied = await run('apply', folder, '--create', '--data', data)
  expect([applied.exitCode, applied.stderr]).toEqual([0, warning])

  // A difference of the value shows that the value differs.
  resolver(`https://prices.example.org/{$id}?unit=EUR&api_key=${SECRET}3`)
  const url = 'https://prices.example.org/{$id}?unit='
  for (const format of [[], ['--json']]) {
    const planned = await run('plan', folder, '--data', data, ...format)
    expect([planned.exitCode, planned.stderr]).toEqual([0, warning])
    for (const unit of ['NOK', 'EUR']) expect(planned.stdout).toContain(`${url}${unit}&api_key=(secret)`)
  }

  const pulled = join(temporaryFolder(), 'pulled')
  const pull = await run('pull', pulled, '--project', 'cars', '--data', data)
  expect([pull.exitCode, pull.stderr]).toEqual([0, warning.replace(':2:6:', ':1:6:')])
  expect(readFileSync(join(pulled, 'resolvers/price.resolver.yaml'), 'utf8')).toContain(SECRET)
})

test('a user name and a password are refused, and a placeholder and other parameters are not noticed', async () => {
  resolver(`https://ann:${SECRET}@prices.example.org/{$id}`)
  for (const args of [
    ['apply', folder, '--create', '--data', data],
    ['lint', folder],
  ]) {
    const { exitCode, stdout, stderr } = await run(...args)
    expect(exitCode).toBe(args[0] === 'lint' ? 1 : 2)
    expect(stdout + stderr).toContain('a URL with user name or password is not allowed')
  }
  resolver('https://prices.example.org/{$id}?api_key={$key}&sort_key=price&page=2')
  const applied = await run('apply', folder, '--create', '--data', data)
  expect([applied.exitCode, applied.stderr]).toEqual([0, ''])
  expect((await run('lint', folder, '--strict')).exitCode).toBe(0)
})
