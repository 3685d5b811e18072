// A token that a command issues from the data folder goes only to the address of the settings.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const received: (string | null)[] = []
let stranger: Bun.Server<undefined>
let data: string
let folder: string

beforeAll(async () => {
  data = join(temporaryFolder(), 'data')
  const { exitCode, stderr } = await runCommand(['init', '--data', data])
  expect(exitCode, stderr).toBe(0)
  folder = temporaryFolder()
  writeFileSync(join(folder, 'verdigraph.yaml'), 'name: cars\n')
  stranger = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: ({ headers }) => {
      received.push(headers.get('authorization'))
      return new Response('{"message":"refused here"}', { status: 403 })
    },
  })
})
afterAll(async () => {
  await stranger?.stop(true)
  removeTemporaryFolders()
})

describe('a command with the URL of another service sends nothing without a token', () => {
  const project = ['--project', 'cars']
  test.concurrent.for([
    ['apply', 'FOLDER'],
    ['plan', 'FOLDER'],
    ['pull', 'OUT', ...project],
    ['lint', ...project],
    ['match', 'status', '--pipeline', 'people'],
    ['events', 'tail', ...project],
    ['audit', 'export', '--out', 'OUT', ...project],
    ['console-link'],
    ['check', 'Person:ann', 'drive', 'Car:c1', ...project],
    ['tail', ...project],
    ['replay', '01J00000000000000000000000', ...project],
  ])('%s', async (words) => {
    const args = words.map((word) => (word === 'FOLDER' ? folder : word === 'OUT' ? join(data, '..', 'out') : word))
    const { exitCode, stdout, stderr } = await runCommand([...args, '--url', stranger.url.origin, '--data', data])
    expect([exitCode, stdout, stderr]).toEqual([
      2,
      '',
      expect.stringContaining(`is not the address of the settings, http://127.0.0.1:8080`),
    ])
    expect(stderr).toContain('set VERDIGRAPH_TOKEN')
    expect(received).not.toContainEqual(expect.stringContaining('Bearer ey'))
  })
})

test('the address of the settings gets a token of the folder, and any address one of the environment', async () => {
  const { port, origin } = stranger.url
  const links = (at: string, more: Record<string, string>) =>
    runCommand(['console-link', '--url', at, '--data', data], more)
  const own = await links(`http://localhost:${port}`, { VERDIGRAPH_PORT: port })
  expect(own.stderr).toContain('refused here')
  expect(received.at(-1)).toMatch(/^Bearer ey/)
  const given = await links(origin, { VERDIGRAPH_TOKEN: 'my-token' })
  expect(given.stderr).toContain('refused here')
  expect(received.at(-1)).toBe('Bearer my-token')
})
