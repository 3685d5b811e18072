// Tutorials, pasted into a shell while the demo runs: "Getting started" with the demo on the default port of the service, and
// "Your first policy" in a shell that has the variables of other pages.
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { readPages } from '../docs/pages.ts'
import { runPage } from '../docs/run-page.ts'
import { bin, killAll, ownEnvironment, startServer } from '../support/cli-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

afterEach(killAll)

const walkThrough = readPages().find(({ path }) => path === 'docs/tutorials/getting-started.md')
const firstPolicy = readPages().find(({ path }) => path === 'docs/tutorials/first-policy.md')

/** Starts the demo on port 8080, or on another one if 8080 is occupied already. */
async function startDemo(data: string): Promise<Awaited<ReturnType<typeof startServer>>> {
  const metrics = { VERDIGRAPH_METRICS_ACCESS: 'public' }
  try {
    return await startServer(['--data', data, '--demo', '--port', '8080'], metrics)
  } catch (error) {
    if (!String(error).includes('the port is in use')) throw error
    return await startServer(['--data', join(data, '..', 'other'), '--demo'], metrics)
  }
}

test('the walk-through works while the demo runs, asks its own service, and stops it', async () => {
  if (walkThrough === undefined) throw new Error('no such page')
  const demo = await startDemo(join(temporaryFolder(), 'data'))
  const key = /KEY=(\S+)/.exec(await demo.printed('claude mcp add'))?.[1] as string
  // The variables of a user who has pasted the lines of the demo before.
  const requests = async (): Promise<string[]> =>
    (await (await fetch(`${demo.url}/metrics`)).text())
      .split('\n')
      .filter((line) => line.startsWith('http_server_request_duration_seconds_count') && !line.includes('/metrics'))
  const before = await requests()
  expect(before.length).toBeGreaterThan(0)
  const { differences, exitCode, log } = await runPage(walkThrough, { URL: demo.url, KEY: key })
  expect(differences, log).toEqual([])
  expect(exitCode, log).toBe(0)
  expect(await requests()).toEqual(before)
  expect(await demo.kill('SIGTERM')).toBe(0)
})

test('the walk-through says why its service does not start, and does not wait for ever', async () => {
  if (walkThrough === undefined) throw new Error('no such page')
  const [start] = walkThrough.blocks
  const broken = start?.text.replace('--port 0', '--host 999.1.1.1').replaceAll('src/cli/verdigraph.sh', `'${bin}'`)
  const child = Bun.spawn(['bash', '-c', broken as string], {
    cwd: temporaryFolder(),
    env: ownEnvironment,
    stdin: 'ignore',
    stdout: 'ignore',
    stderr: 'pipe',
  })
  expect(await child.stderr.text()).toContain('`999.1.1.1` is not an address of this machine')
  await child.exited
})

test('a tutorial works in a shell that has a user token and a key of the demo', async () => {
  if (firstPolicy === undefined) throw new Error('no such page')
  const data = join(temporaryFolder(), 'data')
  const demo = await startServer(['--data', data, '--demo'])
  const key = /KEY=(\S+)/.exec(await demo.printed('claude mcp add'))?.[1] as string
  const ofDemo = { URL: demo.url, KEY: key, TOKEN: 'a-token-of-the-demo' }
  const { differences, exitCode, log } = await runPage(firstPolicy, { ...ofDemo, VERDIGRAPH_DATA: data })
  expect(differences, log).toEqual([])
  expect(exitCode, log).toBe(0)
  expect(log).toContain('KEY and PROJECT now belong to a new project')
  expect(await demo.kill('SIGTERM')).toBe(0)
})
