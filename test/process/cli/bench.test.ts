// The command `bench`: what it measures, checks, writes and refuses.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { runCommand } from '../../support/cli-process.ts'
import { isSkipped, openBrowser } from '../../support/console-browser.ts'

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-test-'))
const SHORT = ['--duration', '0.5', '--warm-up', '0.1']

interface ShownReport {
  readonly seed: number | null
  readonly load: { readonly mode: string; readonly callers: number }
  readonly sides: readonly {
    readonly name: string
    readonly result: {
      readonly wrong: number
      readonly errors: number
      readonly checked: number
      readonly latency: {
        readonly count: number
        readonly maxUs: number
        readonly percentiles: readonly { readonly percentile: number; readonly us: number | null }[]
      }
    }
  }[]
  readonly refused: readonly object[]
  readonly warnings: readonly string[]
}

/** A scenario with a policy, a graph, and expected decisions. */
function world(expected: 'yes' | 'no'): string {
  const file = join(folder, `${expected}.scenario.yaml`)
  const lines = [
    'graph: |',
    '  (ann:Person)-[:OWNS]->(c1:Car)',
    '  (bob:Person)',
    'policies:',
    '  - name: drive',
    '    subject: Person',
    '    action: drive',
    '    resource: Car',
    "    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'",
    'decisions:',
    `  - { subject: 'Person:ann', action: drive, resource: 'Car:c1', expect: ${expected} }`,
    "  - { subject: 'Person:bob', action: drive, resource: 'Car:c1', expect: no }",
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}

test('a scenario file is asked in process, and a page shows the latencies without foreign requests', async () => {
  const html = join(folder, 'world.html')
  // A percentile needs more answers than the one of a process that is held up for the whole time.
  const args = ['bench', '--world', world('yes'), '--duration', '3', '--warm-up', '0.1', '--html', html]
  const { exitCode, stdout, stderr } = await runCommand(args)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout).toMatch(/load +closed loop, 1 caller, 3 s after 0\.1 s of warm-up/)
  expect(stdout).toMatch(/questions +2: 1 granted, 1 denied, 0 without an expected answer/)
  expect(stdout).toMatch(/p50 +[\d.]+ (µs|ms|s)\n/)
  // A dash on a machine that answers less than 10,000 questions.
  expect(stdout).toMatch(/p99\.99 +([\d.]+ (µs|ms|s)|–)\n/)
  const page = readFileSync(html, 'utf8')
  expect(page).not.toMatch(/<script|https?:\/\/(?!www\.w3\.org)/)
  expect(page.match(/<svg /g)).toHaveLength(3)
})

test.skipIf(isSkipped)('the page has no errors in a browser, in light and in dark', async () => {
  const html = join(folder, 'browser.html')
  await runCommand(['bench', '--world', world('yes'), ...SHORT, '--html', html])
  const browser = await openBrowser()
  try {
    const backgrounds: string[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (await browser.newContext({ colorScheme })).newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('request', (request) => {
        if (!/^(file|data):/.test(request.url())) complaints.push(request.url())
      })
      await page.goto(pathToFileURL(html).href)
      expect(await page.locator('svg polyline, svg circle').count()).toBe(2)
      expect(await page.locator('h1').textContent()).toBe('verdigraph bench')
      expect(await page.locator('table').first().textContent()).toContain('Machine')
      backgrounds.push(await page.evaluate<string>('getComputedStyle(document.body).backgroundColor'))
      expect(complaints).toEqual([])
    }
    expect(backgrounds[0]).not.toBe(backgrounds[1])
  } finally {
    await browser.close()
  }
})

test.skipIf(isSkipped)('a plot shows a single point, and no label is cut', async () => {
  const html = join(folder, 'single.html')
  await runCommand(['bench', '--world', world('yes'), ...SHORT, '--html', html])
  const browser = await openBrowser()
  try {
    const page = await (await browser.newContext()).newPage()
    await page.goto(pathToFileURL(html).href)
    // Half a second has one point in the plot of seconds.
    const plot = page.locator('svg[aria-label="p99 of each second"]')
    expect([await plot.locator('polyline').count(), await plot.locator('circle').count()]).toEqual([0, 1])
    const cut = await page.evaluate<string[]>(
      `[...document.querySelectorAll('svg')].flatMap((svg) => {
        const { left, right } = svg.getBoundingClientRect()
        return [...svg.querySelectorAll('text')].flatMap((text) => {
          const box = text.getBoundingClientRect()
          return box.left < left || box.right > right ? [text.textContent] : []
        })
      })`,
    )
    expect(cut).toEqual([])
  } finally {
    await browser.close()
  }
})

test('a rate that the machine does not reach is reported and fails the command; one that it reaches does not', async () => {
  const args = ['bench', '--world', world('yes'), ...SHORT]
  const { exitCode, stderr } = await runCommand([...args, '--rate', '10000000'])
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/verdigraph: the rate was not reached: [\d,.]+ of 10,000,000 questions\/s were answered/),
  ])
  const json = await runCommand([...args, '--rate', '10000000', '--json'])
  expect([json.exitCode, json.stderr]).toEqual([1, ''])
  expect(JSON.parse(json.stdout).warnings).toEqual([expect.stringContaining('the rate was not reached')])
  // One question, which has ten seconds.
  const reached = await runCommand([...args, '--warm-up', '0', '--rate', '0.1'])
  expect(reached).toMatchObject({ exitCode: 0, stderr: '' })
})

test('a wrong answer is counted, shown, and fails the command', async () => {
  const { exitCode, stdout } = await runCommand(['bench', '--world', world('no'), ...SHORT, '--json'])
  const { sides, warnings } = JSON.parse(stdout) as ShownReport
  expect(exitCode).toBe(1)
  expect(sides[0]!.result.wrong).toBeGreaterThan(0)
  expect(sides[0]!.result.wrong * 2).toBeLessThanOrEqual(sides[0]!.result.checked + 1)
  expect(warnings[0]).toMatch(/wrong answers, the first: Person:ann drive Car:c1 is granted, expected denied$/)
})

describe('a service', () => {
  let server: Server
  let url: string
  let asked = 0
  let stallAt = Number.POSITIVE_INFINITY

  beforeAll(async () => {
    // A service whose delays are known: while it stalls, it answers nothing.
    let stalledUntil = 0
    server = createServer((request, response) => {
      request.resume()
      request.on('end', () => {
        asked += 1
        if (asked === stallAt) stalledUntil = performance.now() + 1000
        const answer = (): void => void response.end('{"decision":true}')
        const left = stalledUntil - performance.now()
        if (left > 0) setTimeout(answer, left)
        else answer()
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const questions = (expected?: boolean): string => {
    const file = join(folder, `questions-${expected}.ndjson`)
    const short = { subject: 'Person:ann', action: 'drive', resource: 'Car:c1', expected }
    const long = {
      subject: { type: 'Person', id: 'bob' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    }
    writeFileSync(file, `${JSON.stringify(short)}\n\n${JSON.stringify({ ...long, expected })}\n`)
    return file
  }
  const bench = (...args: readonly string[]) =>
    runCommand(['bench', '--url', url, '--json', ...args], { VERDIGRAPH_AGENT_KEY: 'key' })
  const percentileOf = ({ sides }: ShownReport, wanted: number): number =>
    sides[0]!.result.latency.percentiles.find(({ percentile }) => percentile === wanted)?.us ?? Number.NaN

  it('that stalls for a second delays the questions that were due in it, with any number of connections', async () => {
    asked = 0
    stallAt = 50
    const flags = [
      '--rate',
      '100',
      '--duration',
      '4',
      '--warm-up',
      '0',
      '--connections',
      '2',
      '--questions',
      questions(true),
    ]
    const { exitCode, stdout } = await bench(...flags)
    const report = JSON.parse(stdout) as ShownReport
    expect(report.load).toMatchObject({ mode: 'fixed rate', callers: 2 })
    expect(report.sides[0]!.result).toMatchObject({ wrong: 0, errors: 0 })
    // A busy machine may delay more than the stall does: then the rate is not reached, and its last questions may not be asked.
    if (report.warnings.length === 0) expect([exitCode, report.sides[0]!.result.latency.count]).toEqual([0, 400])
    else expect([exitCode, report.warnings]).toEqual([1, [expect.stringContaining('the rate was not reached')]])
    // A quarter of the questions was due in the stall, evenly spread over its second. Two connections alone would show two of 400.
    expect(percentileOf(report, 90)).toBeGreaterThan(500_000)
    expect(percentileOf(report, 99)).toBeGreaterThan(900_000)
  }, 60_000)

  it('is asked in a closed loop with the questions in turn, and answers without expectation are not checked', async () => {
    stallAt = Number.POSITIVE_INFINITY
    const { stdout } = await bench(...SHORT, '--questions', questions())
    const { sides, load } = JSON.parse(stdout) as ShownReport
    expect(load).toMatchObject({ mode: 'closed loop', callers: 8 })
    expect(sides[0]!.result).toMatchObject({ checked: 0, wrong: 0, errors: 0 })
  })

  it('that cannot be reached, or refuses, is an error of the command', async () => {
    const gone = await runCommand(['bench', '--url', 'http://127.0.0.1:9', ...SHORT, '--questions', questions()], {
      VERDIGRAPH_AGENT_KEY: 'key',
    })
    expect([gone.exitCode, gone.stdout]).toEqual([2, ''])
    expect(gone.stderr).toContain('http://127.0.0.1:9 cannot be reached')
    const keyless = await runCommand(['bench', '--url', url, ...SHORT, '--questions', questions()])
    expect([keyless.exitCode, keyless.stderr]).toEqual([
      2,
      `error: a bench asks ${url} as an application agent: set VERDIGRAPH_AGENT_KEY, or the key of a context\n`,
    ])
  })
})

test('a generated graph is asked in process with a seed, and all answers are right', async () => {
  const { exitCode, stdout } = await runCommand([
    'bench',
    '--generated',
    '--nodes',
    '300',
    '--seed',
    '7',
    '--actions',
    'open,read,clear',
    ...SHORT,
    '--json',
  ])
  const { sides, seed } = JSON.parse(stdout) as ShownReport
  expect([exitCode, seed]).toEqual([0, 7])
  expect(sides[0]!.result).toMatchObject({ wrong: 0, errors: 0 })
  expect(sides[0]!.result.checked).toBeGreaterThan(0)
}, 120_000)

test('a peer that cannot express a policy is not asked, with the reason; the graph is served and asked over HTTP', async () => {
  const peer = join(folder, 'openfga')
  writeFileSync(peer, '')
  const { exitCode, stdout } = await runCommand([
    'bench',
    '--generated',
    '--nodes',
    '300',
    '--actions',
    'clear',
    '--compare',
    `openfga=${peer}`,
    ...SHORT,
    '--json',
  ])
  const { sides, refused } = JSON.parse(stdout) as ShownReport
  expect(exitCode).toBe(0)
  expect(sides.map(({ name }) => name)).toEqual(['verdigraph'])
  expect(sides[0]!.result).toMatchObject({ wrong: 0, errors: 0 })
  expect(refused).toEqual([{ name: 'openfga', reason: expect.stringMatching(/^clear: OpenFGA stores relationships/) }])
}, 120_000)

const wrongLines: readonly (readonly [string, string, string])[] = [
  ['no JSON', '{', 'invalid JSON'],
  ['an unknown member', '{"subject":"A:a","action":"x","resource":"B:b","expect":true}', 'unknown member `expect`'],
  ['no type', '{"subject":"a","action":"x","resource":"B:b"}', 'subject: expected TYPE:ID'],
  ['no action', '{"subject":"A:a","resource":"B:b"}', 'action: expected a name'],
  [
    'another expectation',
    '{"subject":"A:a","action":"x","resource":"B:b","expected":"yes"}',
    'expected: expected true or false',
  ],
  [
    'the expectation of earlier drills',
    '{"subject":"A:a","action":"x","resource":"B:b","decision":true}',
    'rename the member `decision` to `expected`',
  ],
  [
    'an unknown member of an entity',
    '{"subject":{"type":"A","id":"a","name":"x"},"action":"x","resource":"B:b"}',
    'subject: unknown member `name`; the members are type, id, properties',
  ],
  [
    'properties that are no object',
    '{"subject":"A:a","action":{"name":"x","properties":[]},"resource":"B:b"}',
    'action.properties: expected an object',
  ],
  [
    'a project',
    '{"subject":"A:a","action":"x","resource":"B:b","project":"p"}',
    '`bench` asks one project, which the option --project names',
  ],
]
test.each(wrongLines)('a file of questions with %s is refused with its line', async (_, line, message) => {
  const file = join(folder, 'wrong.ndjson')
  writeFileSync(file, `${line}\n`)
  const { exitCode, stderr } = await runCommand(['bench', '--url', 'http://127.0.0.1:9', '--questions', file])
  expect(exitCode).toBe(2)
  expect(stderr).toContain(`${file}:1: ${message}`)
})

test.each([
  [[], 'expected one of --questions, --world and --generated'],
  [
    ['--generated', '--world', 'x'],
    'expected one of --questions, --world and --generated, found --generated and --world',
  ],
  [['--generated', '--rate', 'fast'], '--rate: expected questions per second from 0.1 to 10000000, found `fast`'],
  [['--generated', '--duration', '0'], '--duration: expected seconds from 0.1 to 86400, found `0`'],
  [['--generated', '--nodes', '5'], '--nodes: expected an integer from 100 to 10000000, found `5`'],
  [['--generated', '--connections', '0'], '--connections: expected an integer from 1 to 1000, found `0`'],
  [['--generated', '--actions', 'fly'], '--actions: there is no action `fly`; the actions are open, read, clear'],
  [['--generated', '--compare', 'x=/bin/sh'], '--compare: there is no peer `x`; the peers are openfga, cerbos, neo4j'],
  [['--generated', '--compare', 'openfga=/no/file'], '--compare: openfga: /no/file is no file'],
  [['--generated', '--data', 'd'], 'expected either --generated or --data: each names a graph'],
  [['--questions', '/no/file'], '--questions: /no/file: '],
  [['--generated', '--html', '/no/folder/page.html'], '--html: the folder /no/folder does not exist'],
  [['--questions', 'x', '--compare', 'openfga=x'], '--compare needs --generated: the peers load the same graph'],
])('%j is refused', async (args, message) => {
  const { exitCode, stdout, stderr } = await runCommand(['bench', ...args])
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).toContain(`error: ${message}`)
})
