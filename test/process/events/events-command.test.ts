// The commands `events` against a served folder whose dispatcher delivers events.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { killAll, runCommand, type Server, startCommand, startServer } from '../../support/cli-process.ts'
import { untilCommitted } from '../../support/commits.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { sinkBody } from '../../support/events.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const environment = { VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1' }
const data = join(temporaryFolder(), 'data')
const serve = ['--data', data, '--workers', '2']
const none = `gid:${'0'.repeat(26)}`

const gone = { event_topic: { topic_endpoint: 'http://127.0.0.1:1/events', access_key: 'k' } }

let server: Server
let receiver: EventReceiver
let token: string
let project: string
let empty: string
let key: string
let nodes = 0

async function call(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const response = await fetch(`${server.url}/configs/v1/${path}`, { headers, ...sent })
  const text = await response.text()
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`)
  return JSON.parse(text)
}

/** Captures a car with a new external id. */
async function captureOne(): Promise<void> {
  const body = JSON.stringify({ nodes: [{ type: 'Car', external_id: `c${nodes++}` }] })
  // On a connection of its own, because the service is started again at the same address.
  const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json', connection: 'close' }
  const response = await fetch(`${server.url}/capture/v1/nodes`, { method: 'POST', headers, body })
  if (!response.ok) throw new Error(`a capture answered ${response.status}: ${await response.text()}`)
}

beforeAll(async () => {
  receiver = startReceiver()
  const made = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  token = made.token
  server = await startServer(serve, environment)
  const { organization_id } = made
  project = (await call('projects', { organization_id, name: 'fleet', region: 'local' })).id as string
  empty = (await call('projects', { organization_id, name: 'empty', region: 'local' })).id as string
  const isActive = async (): Promise<boolean> => (await call(`projects/${project}`)).ikg_status === 'ACTIVE'
  await untilCommitted(data, 'the project is provisioned', isActive)
  const application_id = (await call('applications', { project_id: project, name: 'shop' })).id
  const agent = { application_id, name: 'shop-agent', api_permissions: ['Capture'] }
  const application_agent_id = (await call('application-agents', agent)).id
  key = (await call('application-agent-credentials', { application_agent_id })).api_key as string
  const routes = [
    { type: 'svc.audit.capture.*', context: { captureLabel: 'Car' } },
    { type: 'svc.audit.config.*', provider: 'gone' },
  ]
  await call('event-sinks', sinkBody(project, routes, { main: receiverProvider(receiver), gone }))
})
afterEach(() => {
  receiver.answer = () => 200
})
afterAll(async () => {
  await killAll()
  await receiver.stop()
})

const events = (command: string, ...args: string[]): string[] => [
  'events',
  command,
  '--data',
  data,
  '--url',
  server.url,
  '--port',
  new URL(server.url).port,
  ...args,
]

describe('events tail', () => {
  test('prints every later event once, in order, while a provider receives them and the service starts again', async () => {
    const tail = startCommand(events('tail', '--project', project, '--type', 'svc.audit.capture.*', '--json'))
    while (tail.output() === '') {
      await captureOne()
      await Bun.sleep(50)
    }
    for (let count = 0; count < 20; count++) await captureOne()
    const url = new URL(server.url)
    await tail.until((output) => output.includes(`"subject":"nodes/Car/c${nodes - 1}"`))
    expect(await server.kill('SIGTERM')).toBe(0)
    await tail.until((_, notices) => notices.includes('cannot be reached'))
    server = await startServer([...serve, '--port', url.port], environment)
    await captureOne()
    // The whole line, and what is printed to the other stream.
    await tail.until(
      (output, notices) =>
        output.includes(`"subject":"nodes/Car/c${nodes - 1}"`) &&
        output.endsWith('\n') &&
        notices.includes('the service answers again\n'),
    )
    await receiver.until((accepted) => accepted.some(({ subject }) => subject === `nodes/Car/c${nodes - 1}`))

    const printed = tail
      .output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    const numbers = printed.map(({ subject }) => Number(subject.slice('nodes/Car/c'.length)))
    const first = numbers[0] as number
    expect(numbers).toEqual(Array.from({ length: nodes - first }, (_, at) => first + at))
    expect(printed[0]).toMatchObject({ specversion: '1.0', data: { nodes: [{ type: 'Car' }] } })
    expect(tail.notices()).toContain(
      'following the sink sink; events exist only where one of its routes matches: svc.audit.capture.*, svc.audit.config.*\n',
    )
    expect(tail.notices()).not.toContain('removed before they were read')
  })

  test('prints the stored events and ends after the given number; a line has time, type, subject and providers', async () => {
    // The provider `gone` never receives this event, so it stays.
    const { exitCode, stdout } = await runCommand(
      events('tail', '--project', 'fleet', '--type', 'svc.audit.config.create', '--oldest', '--count', '1'),
    )
    expect(exitCode).toBe(0)
    expect(stdout).toMatch(/^\d{4}-\S+Z svc\.audit\.config\.create event-sinks\/gid:\w+ → gone\n$/)
  })

  test('names what is wrong: project, type, number, address, token', async () => {
    const failed = async (args: readonly string[], more: Record<string, string> = {}): Promise<[number, string]> => {
      const { exitCode, stdout, stderr } = await runCommand(args, more)
      expect(stdout).toBe('')
      return [exitCode, stderr]
    }
    expect(await failed(events('tail', '--project', empty))).toEqual([
      1,
      `error: the project ${empty} has no event sink: events are recorded only where a route of a sink matches\n`,
    ])
    expect(await failed(events('tail', '--project', none))).toEqual([1, expect.stringContaining(none)])
    expect(await failed(events('tail', '--project', 'flete'))).toEqual([
      1,
      `error: ${server.url} has no project \`flete\`; did you mean \`fleet\`?\n`,
    ])
    const wrongType = await failed(events('tail', '--project', project, '--type', 'svc.*.node'))
    expect([wrongType[0], wrongType[1]]).toEqual([1, expect.stringContaining('event_type: expected words of letters')])
    expect(await failed(events('tail', '--project', project, '--count', '0'))).toEqual([
      2,
      'error: --count: expected an integer from 1, found `0`\n',
    ])
    const [code, text] = await failed([
      'events',
      'tail',
      '--data',
      data,
      '--url',
      'http://127.0.0.1:1',
      '--port',
      '1',
      '--project',
      project,
    ])
    expect([code, text]).toEqual([1, expect.stringMatching(/^error: http:\/\/127\.0\.0\.1:1 cannot be reached: /)])
    expect(await failed(events('tail', '--project', project), { VERDIGRAPH_TOKEN: 'wrong' })).toEqual([
      1,
      expect.stringContaining('token'),
    ])
    expect((await failed(['events', 'tail', '--data', data]))[0]).toBe(2)
    const elsewhere = ['events', 'tail', '--data', join(data, 'none'), '--project', project]
    expect(await failed(elsewhere)).toEqual([1, expect.stringContaining('set VERDIGRAPH_TOKEN')])
  })

  test('reads without the data folder, with a token from the environment', async () => {
    const args = ['--url', server.url, '--project', project, '--oldest', '--count', '1', '--json']
    const { exitCode, stdout } = await runCommand(['events', 'tail', '--data', join(data, 'none'), ...args], {
      VERDIGRAPH_TOKEN: token,
    })
    expect([exitCode, JSON.parse(stdout).specversion]).toEqual([0, '1.0'])
  })
})

describe('events test', () => {
  test('prints each route with its reason, and sends a test event', async () => {
    const type = [
      '--type',
      'svc.audit.capture.upsert.node',
      '--context',
      'captureLabel=Car',
      '--context',
      'captureLabel=x',
    ]
    const { exitCode, stdout, stderr } = await runCommand(events('test', '--project', project, ...type, '--send'))
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout.split('\n')).toEqual([
      'routes[0] sent: sent to `main`',
      'routes[1] type-differs: `svc.audit.config.*` does not match `svc.audit.capture.upsert.node`',
      'received by main',
      expect.stringMatching(/^the test event was delivered to main in \d+ ms$/),
      '',
    ])
    const arrived = receiver.accepted.filter((event) => event.type === 'svc.events.test')
    expect(arrived.map(({ data }) => data)).toMatchObject([{ tested: { context: { captureLabel: ['Car', 'x'] } } }])
    const json = await runCommand(events('test', '--project', project, '--type', 'svc.audit.ciq.execute', '--json'))
    expect(JSON.parse(json.stdout).providers).toEqual([])
  })

  test('exits with 1 if a provider does not accept it, and with 2 for wrong options', async () => {
    const type = ['--type', 'svc.audit.config.read']
    const failed = await runCommand(events('test', '--project', project, ...type, '--send'))
    expect([failed.exitCode, failed.stderr]).toEqual([
      1,
      expect.stringMatching(/^error: the test event was not delivered to gone: failed: /),
    ])
    const context = await runCommand(events('test', '--project', project, ...type, '--context', 'Car'))
    expect([context.exitCode, context.stderr]).toEqual([2, 'error: --context: expected key=value, found `Car`\n'])
    const unknown = await runCommand(events('test', '--project', project, '--type', 'svc.audit.none'))
    expect([unknown.exitCode, unknown.stderr]).toEqual([1, expect.stringContaining('event.type: expected')])
  })

  test('tests a sink in a file', async () => {
    const file = join(temporaryFolder(), 'sink.json')
    const routes = [{ type: 'svc.audit.*' }]
    const { project_id: _, ...draft } = sinkBody(project, routes, { main: receiverProvider(receiver) }) as {
      project_id: string
    }
    writeFileSync(file, JSON.stringify(draft))
    const args = ['--project', empty, '--type', 'svc.audit.ciq.execute', '--draft', file]
    const { exitCode, stdout } = await runCommand(events('test', ...args))
    expect([exitCode, stdout]).toEqual([0, 'routes[0] sent: sent to `main`\nreceived by main\n'])
    writeFileSync(file, '[]')
    const wrong = await runCommand(events('test', ...args))
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      `error: ${file}: expected a JSON object, the body of an event sink\n`,
    ])
  })
})

describe('events dead-letters', () => {
  const letters = (command: string, ...args: string[]): string[] => [
    'events',
    'dead-letters',
    command,
    ...['--data', data, '--url', server.url, '--port', new URL(server.url).port, '--project', project],
    ...args,
  ]
  interface Letter {
    readonly id: string
    readonly subject: string
  }
  async function listed(...args: string[]): Promise<Letter[]> {
    const { exitCode, stdout, stderr } = await runCommand(letters('list', '--json', ...args))
    expect([exitCode, stderr === '' || stderr === 'no dead letters\n']).toEqual([0, true])
    return stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  }
  async function untilListed(count: number): Promise<Letter[]> {
    const end = performance.now() + 60_000
    for (;;) {
      const found = await listed()
      if (found.length === count) return found
      if (performance.now() > end) throw new Error(`there are ${found.length} dead letters, not ${count}`)
    }
  }

  test('lists, shows, resends and deletes the events that a provider refused', async () => {
    const isRefused = new Set<string>()
    receiver.answer = (batch) => (batch.some(({ subject }) => isRefused.has(subject)) ? 413 : 200)
    for (let count = 0; count < 5; count++) {
      isRefused.add(`nodes/Car/c${nodes}`)
      await captureOne()
    }
    const all = await untilListed(5)
    expect(all.map(({ subject }) => subject).sort()).toEqual([...isRefused].sort())
    const [first, second, third] = all as [Letter, Letter, Letter]

    const lines = await runCommand(letters('list', '--count', '2'))
    expect([lines.exitCode, lines.stdout.split('\n')]).toEqual([
      0,
      [
        expect.stringMatching(
          new RegExp(
            `^${first.id} svc\\.audit\\.capture\\.upsert\\.node ${first.subject} \\(1 attempt\\) HTTP status 413`,
          ),
        ),
        expect.stringContaining(second.id),
        '',
      ],
    ])
    const shown = await runCommand(letters('show', first.id))
    expect([shown.exitCode, JSON.parse(shown.stdout)]).toEqual([
      0,
      expect.objectContaining({ id: first.id, event: expect.objectContaining({ subject: first.subject }) }),
    ])
    expect((await runCommand(letters('show', first.id, '--json'))).stdout.split('\n')).toHaveLength(2)

    const deleted = await runCommand(letters('delete', first.id, 'main.1.none-1', second.id, first.id))
    expect([deleted.exitCode, deleted.stdout, deleted.stderr]).toEqual([
      1,
      '2 dead letters deleted\n',
      'error: no dead letter `main.1.none-1`\n',
    ])
    expect((await listed('--provider', 'gone')).length).toBe(0)

    receiver.answer = () => 200
    const resent = await runCommand(letters('resend', third.id, first.id, '--json'))
    expect([resent.exitCode, JSON.parse(resent.stdout), resent.stderr]).toEqual([
      1,
      { requested: 1, refused: [{ id: first.id, reason: `no dead letter \`${first.id}\`` }] },
      `error: no dead letter \`${first.id}\`\n`,
    ])
    await receiver.until((accepted) => accepted.some(({ subject }) => subject === third.subject))
    await untilListed(2)
    const rest = await runCommand(letters('resend', '--provider', 'main'))
    expect([rest.exitCode, rest.stdout]).toEqual([0, '2 dead letters will be sent again\n'])
    await untilListed(0)
    const nothing = await runCommand(letters('delete', '--provider', 'main', '--json'))
    expect([nothing.exitCode, nothing.stdout]).toEqual([0, '{"deleted":0}\n'])
    const list = await runCommand(letters('list'))
    expect([list.exitCode, list.stdout, list.stderr]).toEqual([0, '', 'no dead letters\n'])
  })

  test('and tail print the numbers of an event as it was delivered', async () => {
    const [sink] = (await call(`event-sinks?project_id=${project}`)).data as { id: string; routes: object[] }[]
    const send = async (method: string, path: string, headers: object, body: string): Promise<void> => {
      const init = { method, headers: { 'content-type': 'application/json', ...headers }, body }
      const response = await fetch(`${server.url}${path}`, init)
      expect(response.status, await response.text()).toBe(200)
    }
    const update = (include_cdc_events: boolean, routes: readonly object[]): Promise<void> => {
      const providers = {
        main: receiverProvider(receiver, { include_cdc_events }),
        gone: { ...gone, include_cdc_events },
      }
      const path = `/configs/v1/event-sinks/${sink?.id}`
      return send('PUT', path, { authorization: `Bearer ${token}` }, JSON.stringify({ providers, routes }))
    }
    const routes = sink?.routes as object[]
    // The event stays for `tail`, because the provider `gone` never receives it.
    const changes = ['main', 'gone'].map((provider_id) => ({
      provider_id,
      event_type_key_values_filter: { event_type: 'svc.audit.cdc.*' },
    }))
    await update(true, [...routes, ...changes])
    receiver.answer = (batch) => (batch.some(({ subject }) => subject === 'nodes/Scale/s') ? 413 : 200)
    const properties = '[{"type":"mass","value":1.0},{"type":"count","value":9007199254740993}]'
    const captured = `{"nodes":[{"type":"Scale","external_id":"s","properties":${properties}}]}`
    await send('POST', '/capture/v1/nodes', { 'x-svc-clientkey': key }, captured)
    const [letter] = await untilListed(1)
    const numbers = /"mass": ?\{\s*"value": ?1\.0,[^}]*\},\s*"count": ?\{\s*"value": ?9007199254740993,/
    expect((await runCommand(letters('show', letter?.id as string))).stdout).toMatch(numbers)
    expect((await runCommand(letters('show', letter?.id as string, '--json'))).stdout).toMatch(numbers)
    const tail = ['--type', 'svc.audit.cdc.*', '--oldest', '--count', '1', '--json']
    expect((await runCommand(events('tail', '--project', project, ...tail))).stdout).toMatch(numbers)
    expect((await runCommand(letters('delete', letter?.id as string))).exitCode).toBe(0)
    await update(false, routes)
  })

  test('names what is wrong: ids and provider together or neither, provider, id, number, role', async () => {
    const failed = async (args: readonly string[], more: Record<string, string> = {}): Promise<[number, string]> => {
      const { exitCode, stdout, stderr } = await runCommand(args, more)
      expect(stdout).toBe('')
      return [exitCode, stderr]
    }
    const either = 'error: expected either ids of dead letters, or --provider for all of a provider\n'
    for (const verb of ['resend', 'delete']) {
      expect(await failed(letters(verb))).toEqual([2, either])
      expect(await failed(letters(verb, 'main.1.a-1', '--provider', 'main'))).toEqual([2, either])
    }
    expect(await failed(letters('resend', '--provider', 'other'))).toEqual([
      1,
      'error: provider_id: no provider `other`\n',
    ])
    expect(await failed(letters('show', 'garbage?x'))).toEqual([1, 'error: no dead letter `garbage?x`\n'])
    expect(await failed(letters('list', '--count', 'x'))).toEqual([
      2,
      'error: --count: expected an integer from 1, found `x`\n',
    ])
    expect(
      await failed([
        'events',
        'dead-letters',
        'list',
        '--data',
        data,
        '--port',
        new URL(server.url).port,
        '--project',
        empty,
      ]),
    ).toEqual([1, expect.stringContaining(`the project ${empty} has no event sink`)])
    const { organization_id } = JSON.parse((await runCommand(['token', '--data', data, '--json'])).stdout)
    const account = await call('service-accounts', { organization_id, name: 'viewer', role: 'all_viewer' })
    const credential = await call('service-account-credentials', { service_account_id: account.id })
    const viewer = (credential.service_account_config as { readonly token: string }).token
    for (const args of [letters('list'), letters('show', 'main.1.a-1'), letters('delete', 'main.1.a-1')])
      expect(await failed(args, { VERDIGRAPH_TOKEN: viewer })).toEqual([
        1,
        expect.stringContaining('the role `all_viewer` may not'),
      ])
  })
})
