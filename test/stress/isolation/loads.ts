// The loads of the hostile tenant, one per row of the table, with the limit of the steady tenant's longest stall.
import { spawn } from 'node:child_process'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random } from '../../generate/random.ts'
import { descendantsOf, type LimitName, lanesOf, policy } from './fixture.ts'
import type { HostileLoad } from './hostile-load.ts'
import type { Hostile, Request } from './hostile-tenant.ts'
import { operatorLoads } from './operator-loads.ts'
import { remoteLoad } from './remote-load.ts'

const repeat = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

/** Random letters a and b, so that the pattern has hundreds of partial matches at each of them. */
function randomText(length: number, seed: number): string {
  const random = new Random(seed)
  return repeat(length, () => (random.odds(0.5) ? 'a' : 'b')).join('')
}

const PATTERN = '.*b.{300}c'
const EMOJI = '\u{1F600}'.repeat(16_000)

// -- requests

function question(action: string, input_params: object = {}, resource = 'Page') {
  return {
    subject: { type: 'Person', id: 'h0' },
    action: { name: action },
    resource: { type: resource, id: 'c0' },
    context: { input_params },
  }
}

/** The parameters of the actions' policies. */
function parametersOf(action: string): object {
  const list = repeat(50_000, (i) => i)
  const text = 'long text '.repeat(6000)
  switch (action) {
    case 'reduce':
      return { list, text }
    case 'size':
      return { list, text: EMOJI }
    case 'comprehension':
      return { list, text }
    case 'quantifier':
      return { list, text: 'ab'.repeat(30_000) }
    case 'order':
      return { list, text: `${text}a`, other: `${text}b` }
    case 'lists':
      return { list, others: list.with(-1, -1) }
    case 'pattern':
      return { texts: repeat(60, (i) => randomText(60_000, i)), pattern: PATTERN }
    default:
      return {}
  }
}

const evaluation = (body: object): Request => ({
  path: '/access/v1/evaluation',
  body: JSON.stringify(body),
  limit: 'decision',
})
/** Limited like a batch: each policy is decided and explained. */
const explanation = (body: object): Request => ({ ...evaluation(body), path: '/access/v1/explain', limit: 'batch' })

function execution(hostile: Hostile, name: string, input_params: object = {}, more: object = {}): Request {
  const limit: LimitName = name === 'batch-read' ? 'batchRead' : 'execute'
  const body = JSON.stringify({ id: hostile.fixture.hostile.queries[name], input_params, ...more })
  return { path: '/contx-iq/v1/execute', body, limit }
}

const several = ({ limit: _, ...request }: Request): Request => request

/** One request after another. */
const alone = (bar: number, what: string, make: (hostile: Hostile) => Request, isShort = false): HostileLoad => ({
  bar,
  isShort,
  prepare(hostile) {
    const request = make(hostile)
    return () => hostile.loop(what, 1, () => request)
  },
})

const decides = (action: string, isShort = false): HostileLoad =>
  alone(30, action, () => evaluation(question(action, parametersOf(action))), isShort)
const explains = (action: string): HostileLoad =>
  alone(30, `explain ${action}`, () => explanation(question(action, parametersOf(action))))
/** The relation of a whole policy, with its budget. */
const compares = (action: string): HostileLoad =>
  alone(30, `compare ${action}`, () => {
    const context = { input_params: parametersOf(action) }
    const body = JSON.stringify({ replace_all: true, action: { name: action }, context, budget: { time_ms: 3000 } })
    return { path: '/access/v1/compare', body, limit: 'batch' }
  })
const asks = (name: string, input: object = {}, more: object = {}, isShort = false): HostileLoad =>
  alone(30, name, (hostile) => execution(hostile, name, input, more), isShort)

const trails = evaluation(question('trails'))

function batchOf(items: number): Request {
  const { subject, action, resource } = question('trails')
  const body = JSON.stringify({ subject, action, evaluations: repeat(items, () => ({ resource })) })
  return { path: '/access/v1/evaluations', body, limit: 'batch' }
}

/** Cypher over the whole graph of the project, by a service account. */
const queriesGraph = (query: string): HostileLoad =>
  alone(30, 'graph query', ({ fixture }) => ({
    path: '/graph/v1/query',
    headers: { authorization: `Bearer ${fixture.admin}`, 'x-project-id': fixture.hostile.project },
    body: JSON.stringify({ query, limit: 10_000 }),
    limit: 'execute',
  }))

/** The same search for each evaluation. */
function whatAuthorized(evaluations: number): Request {
  const { subject, action, resource } = question('trails')
  const body = JSON.stringify({ subject, evaluations: repeat(evaluations, () => ({ action, resource })) })
  return { path: '/access/v1/what-authorized', body, limit: 'batch' }
}

function whoAuthorized(evaluations: number): Request {
  const { action, resource } = question('trails')
  const body = JSON.stringify({ evaluations: repeat(evaluations, () => ({ action, resource })) })
  return { path: '/access/v1/who-authorized', body, limit: 'batch' }
}

function search(type: string): Request {
  const { subject, action, context } = question(`filtered-${type}`, { text: randomText(60_000, 7), pattern: PATTERN })
  const body = JSON.stringify({ subject, action, resource: { type }, context })
  return { path: '/access/v1/search/resource', body, limit: 'decision' }
}

// -- bodies

const BODY_BYTES = 4 * 1024 * 1024 - 2048

function bodyWith(input: string): string {
  const whole = JSON.stringify(question('read', { input: 0 }))
  return whole.replace('"input":0', `"input":${input}`)
}
const listOf = (item: string): string =>
  bodyWith(`[${repeat(Math.floor(BODY_BYTES / (item.length + 1)), () => item).join(',')}]`)
/** Bodies of less than a million values, and one of more. */
const numbers = () => listOf('1234')
const objects = () => listOf('{"ab":1234}')
const values = () => listOf('1')
const deep = () => bodyWith('['.repeat(16_000) + ']'.repeat(16_000))
const sent = (body: string): Request => ({ path: '/access/v1/evaluation', body })

const bodies = (make: () => string, connections: number, isShort = false): HostileLoad => ({
  bar: 40,
  isShort,
  prepare(hostile) {
    const request = sent(make())
    return () => hostile.loop('body', connections, () => request)
  },
})

// -- configuration

/** A policy of some 490,000 characters. */
export function largePolicy(project: string, name: string, isRefused: boolean) {
  const terms = repeat(900, (term) => {
    const ids = repeat(30, (i) => `'page-${String(term * 30 + i).padStart(6, '0')}'`)
    return `resource.external_id IN [${ids.join(',')}]`
  })
  if (isRefused) terms.push('absent.name = 1')
  return policy(project, name, `MATCH (subject:Person), (resource:Page) WHERE ${terms.join(' OR ')}`)
}

const stores = (isRefused: boolean): HostileLoad => ({
  bar: 40,
  isShort: !isRefused,
  prepare(hostile) {
    let stored = 0
    const { project } = hostile.fixture.hostile
    return async () => {
      while (!hostile.isOver) {
        stored += 1
        const name = `large-${process.pid}-${stored}`
        const made = await hostile.configure(
          'store',
          'POST',
          'authorization-policies',
          largePolicy(project, name, isRefused),
        )
        if (made.status === 201) {
          await hostile.send('decide by it', evaluation(question(name)))
          const id = /"id":"([^"]+)"/.exec(made.text)?.[1]
          await hostile.configure('delete it', 'DELETE', `authorization-policies/${id}`)
        }
      }
    }
  },
})

// -- captures

const deletes: HostileLoad = {
  bar: 50,
  isShort: true,
  prepare(hostile) {
    const { hubs } = hostile.fixture.sizes
    return async () => {
      for (let hub = 0; hub < hubs && !hostile.isOver; hub++) {
        const nodes = [{ type: 'Hub', external_id: `hub-${hub}` }]
        await hostile.send(`delete hub ${hub}`, { path: '/capture/v1/nodes/delete', body: JSON.stringify({ nodes }) })
        // A deleted hub is cheap.
        if (hub === 0) await Bun.sleep(200)
      }
      await hostile.untilOver()
    }
  },
}

const captures: HostileLoad = {
  bar: 50,
  prepare(hostile) {
    let batch = 0
    return () =>
      hostile.loop('capture', 8, () => {
        batch += 1
        const nodes = repeat(250, (i) => ({
          type: 'Made',
          external_id: `m${(batch % 40) * 250 + i}`,
          properties: [
            { type: 'n', value: batch },
            { type: 'text', value: 'some text that is captured' },
          ],
        }))
        return { path: '/capture/v1/nodes', body: JSON.stringify({ nodes }) }
      })
  },
}

const DICTIONARY_BATCHES = 24
const NAMES_PER_BATCH = 5000

/** A batch of nodes with property names that no graph has. */
function namesOf(run: string, batch: number): Request {
  const nodes = repeat(250, (i) => ({
    type: 'Named',
    external_id: `d${i}`,
    properties: repeat(NAMES_PER_BATCH / 250, (n) => ({ type: `name_${run}_${batch}_${i}_${n}`, value: 1 })),
  }))
  return { path: '/capture/v1/nodes', body: JSON.stringify({ nodes }) }
}

/** The first decision after the captures needs all names, and each later one those of another batch. */
const dictionary: HostileLoad = {
  bar: 40,
  async prepare(hostile) {
    const run = `${process.pid}_${Date.now().toString(36)}`
    let batch = 0
    const capture = async (): Promise<void> => {
      batch += 1
      const { status, text } = await hostile.send('capture of 5,000 names', namesOf(run, batch))
      if (status !== 200) throw new Error(`a capture of names ended with ${status}: ${text}`)
    }
    hostile.endMs = performance.now() + 200_000
    while (batch < DICTIONARY_BATCHES) await capture()
    return async () => {
      while (!hostile.isOver) {
        for (let i = 0; i < 20; i++) await hostile.send('decision', evaluation(question('read')))
        await capture()
      }
    }
  },
}

/** Sinks of both tenants whose receivers refuse connections or never respond, during captures. */
const deadSinks: HostileLoad = {
  bar: 50,
  isShort: true,
  async prepare(hostile) {
    const hung = createServer(() => {})
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve))
    const endpoints = [`http://127.0.0.1:${(hung.address() as AddressInfo).port}/`, 'http://127.0.0.1:1/']
    const providers = Object.fromEntries(
      endpoints.flatMap((topic_endpoint, at) =>
        repeat(4, (i) => [`dead-${at}-${i}`, { event_topic: { topic_endpoint, access_key: 'key' } }]),
      ),
    )
    const routes = Object.keys(providers).map((provider_id) => ({
      provider_id,
      event_type_key_values_filter: { event_type: 'svc.audit.*' },
    }))
    const { fixture } = hostile
    const ids: string[] = []
    for (const project_id of [fixture.steady.project, fixture.hostile.project]) {
      const body = { project_id, name: 'dead', include_cdc_events: true, providers, routes }
      const response = await fetch(`${fixture.url}/configs/v1/event-sinks`, {
        method: 'POST',
        headers: { authorization: `Bearer ${fixture.admin}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      if (response.status !== 201) throw new Error(`the sink was refused: ${await response.text()}`)
      ids.push(((await response.json()) as { id: string }).id)
    }
    const run = await captures.prepare(hostile)
    return async () => {
      await run()
      for (const id of ids) await hostile.configure('delete sink', 'DELETE', `event-sinks/${id}`)
      hung.close()
    }
  },
}

/** Administrators who test a provider that never responds, follow events and read the state of delivery, during captures. */
const eventRequests: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const hung = createServer(() => {})
    await new Promise<void>((resolve) => hung.listen(0, '127.0.0.1', resolve))
    const topic_endpoint = `http://127.0.0.1:${(hung.address() as AddressInfo).port}/`
    const { fixture } = hostile
    const headers = { authorization: `Bearer ${fixture.admin}`, 'content-type': 'application/json' }
    const response = await fetch(`${fixture.url}/configs/v1/event-sinks`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        project_id: fixture.hostile.project,
        name: 'tested',
        providers: { hung: { event_topic: { topic_endpoint, access_key: 'key' } } },
        routes: [{ provider_id: 'hung', event_type_key_values_filter: { event_type: 'svc.audit.*' } }],
      }),
    })
    if (response.status !== 201) throw new Error(`the sink was refused: ${await response.text()}`)
    const { id } = (await response.json()) as { id: string }
    const path = `/configs/v1/event-sinks/${id}`
    const event = { type: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Page' } }
    const posts = (to: string, body: object) => () => ({ path: `${path}/${to}`, headers, body: JSON.stringify(body) })
    const scrapes = async (): Promise<void> => {
      while (!hostile.isOver) {
        await hostile.send('metrics', { method: 'GET', path: '/metrics', headers })
        await Bun.sleep(200)
      }
    }
    const run = await captures.prepare(hostile)
    return async () => {
      await Promise.all([
        run(),
        hostile.loop('test', 8, posts('test', { event, send: true })),
        hostile.loop('follow', 8, posts('follow', { start: 'oldest', limit: 500 })),
        hostile.loop('state', 4, () => ({ method: 'GET', path, headers })),
        hostile.loop('dead letters', 4, () => ({ method: 'GET', path: `${path}/dead-letters`, headers })),
        scrapes(),
      ])
      await hostile.configure('delete sink', 'DELETE', `event-sinks/${id}`)
      hung.close()
    }
  },
}

/** Watchers of the project, of which half read nothing, during captures that each of them is notified of. */
const watchers: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const { url, hostile: tenant } = hostile.fixture
    const { hostname, port } = new URL(url)
    const sockets = await Promise.all(
      repeat(1000, async (i) => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined)
        await new Promise((resolve) => socket.once('connect', resolve))
        socket.write(`GET /access/v1/watch HTTP/1.1\r\nhost: test\r\nx-svc-clientkey: ${tenant.key}\r\n\r\n`)
        if (i % 2 === 0) socket.pause()
        else socket.resume()
        return socket
      }),
    )
    const run = await captures.prepare(hostile)
    return async () => {
      await run()
      for (const socket of sockets) socket.destroy()
    }
  },
}

/** Auditors who search, list, verify and export the log of the project, during captures. */
const auditReads: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const { fixture } = hostile
    const project = encodeURIComponent(fixture.hostile.project)
    const reads =
      (path: string, query = '') =>
      () => ({ method: 'GET', path: `/audit/v1/${path}?project_id=${project}${query}` })
    // Requests that are refused would measure nothing.
    for (const path of ['records', 'logs', 'export']) {
      const { status, text } = await hostile.send(`audit ${path}`, reads(path)())
      if (status !== 200) throw new Error(`audit ${path} answered ${status}: ${text}`)
    }
    const tile = `/audit/v1/tlog/${fixture.hostile.project.slice('gid:'.length)}/newest/tile/entries/000`
    const run = await captures.prepare(hostile)
    return async () => {
      await Promise.all([
        run(),
        hostile.loop('audit records', 8, reads('records', '&type=svc.audit.capture.*&actor=nobody')),
        hostile.loop('audit batches', 8, reads('logs')),
        hostile.loop('audit export', 4, reads('export')),
        hostile.loop('audit tile', 4, () => ({ method: 'GET', path: tile })),
        hostile.loop('audit proof', 4, reads('records/0/proof')),
      ])
    }
  },
}

/** Browsers without rights: wrong links and tokens, unknown sessions, and the files of the page, without compression too. */
const consoleVisitors: HostileLoad = {
  bar: 50,
  isShort: true,
  async prepare(hostile) {
    const origin = hostile.fixture.url
    const page = await (await fetch(`${origin}/console`)).text()
    const files = [...page.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    if (files.length === 0) throw new Error(`the console has no files: ${page.slice(0, 200)}`)
    const signIn = (credential: object) => () => ({
      path: '/console/v1/session',
      headers: { origin },
      body: JSON.stringify(credential),
    })
    const [head = '', claims = ''] = hostile.fixture.admin.split('.')
    const cookie = `verdigraph-console-000000000000=${'A'.repeat(43)}`
    return async () => {
      let read = 0
      await Promise.all([
        hostile.loop('wrong link', 32, signIn({ link: 'WyJ4Il0.c2lnbmF0dXJl' })),
        hostile.loop('wrong token', 32, signIn({ token: `${head}.${claims}.${'A'.repeat(86)}` })),
        hostile.loop('long link', 4, signIn({ link: 'x'.repeat(2000) })),
        hostile.loop('session', 8, () => ({ method: 'GET', path: '/console/v1/session', headers: { cookie } })),
        hostile.loop('page', 8, () => ({ method: 'GET', path: '/console' })),
        hostile.loop('file', 16, () => {
          read += 1
          const path = files[read % files.length] ?? ''
          return { method: 'GET', path, headers: { 'accept-encoding': read % 2 === 0 ? 'gzip' : 'identity' } }
        }),
      ])
    }
  },
}

/** Followers of the decision log, some of which read nothing, during decisions. */
const decisionStreams: HostileLoad = {
  bar: 50,
  flags: ['--decision-log', join(tmpdir(), `verdigraph-isolation-${process.pid}.log`)],
  async prepare(hostile) {
    const { fixture } = hostile
    const { hostname, port } = new URL(fixture.url)
    const sockets = await Promise.all(
      repeat(16, async (i) => {
        const socket = connect(Number(port), hostname)
        socket.on('error', () => undefined)
        await new Promise((resolve) => socket.once('connect', resolve))
        const headers = `authorization: Bearer ${fixture.admin}\r\nx-project-id: ${fixture.hostile.project}`
        socket.write(`GET /access/v1/decisions HTTP/1.1\r\nhost: test\r\n${headers}\r\n\r\n`)
        if (i % 2 === 0) socket.pause()
        else socket.resume()
        return socket
      }),
    )
    return async () => {
      await hostile.loop('decision', 16, () => several(evaluation(question('read'))))
      for (const socket of sockets) socket.destroy()
    }
  },
}

// -- connections

const IDLE = 5000

async function opened(hostile: Hostile, count: number): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let left = count; left > 0; left -= 100) {
    const more = await Promise.all(repeat(Math.min(100, left), () => hostile.connection()))
    sockets.push(...more.filter((socket) => socket !== null))
  }
  hostile.notes.push(`${sockets.length} connections`)
  return sockets
}

const idle: HostileLoad = {
  bar: 50,
  prepare: (hostile) => async () => {
    const sockets = await opened(hostile, IDLE)
    await hostile.untilOver()
    for (const socket of sockets) socket.destroy()
  },
}

/** Heads and bodies that arrive a byte at a time, on 200 connections. */
const slow = (start: (hostile: Hostile) => string): HostileLoad => ({
  bar: 50,
  prepare: (hostile) => async () => {
    const sockets = await opened(hostile, 200)
    for (const socket of sockets) socket.write(start(hostile))
    while (!hostile.isOver) {
      for (const socket of sockets) if (socket.writable) socket.write('a')
      await Bun.sleep(100)
    }
    for (const socket of sockets) socket.destroy()
  },
})

const slowBody = (hostile: Hostile): string =>
  `POST /access/v1/evaluation HTTP/1.1\r\nhost: slow\r\nx-svc-clientkey: ${hostile.fixture.hostile.key}\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n{"a":"`

const pipelined: HostileLoad = {
  bar: 30,
  prepare(hostile) {
    const { path, body = '' } = trails
    const one = `POST ${path} HTTP/1.1\r\nhost: one\r\nx-svc-clientkey: ${hostile.fixture.hostile.key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    return async () => {
      while (!hostile.isOver) {
        const socket = await hostile.connection()
        if (socket === null) return
        const startMs = performance.now()
        let received = ''
        const ended = new Promise<void>((resolve) => {
          socket.on('data', (bytes: Buffer) => {
            received += bytes.toString('latin1')
            if (received.split('HTTP/1.1 ').length > 8) resolve()
          })
          socket.on('close', () => resolve())
        })
        socket.write(one.repeat(8))
        await Promise.race([ended, Bun.sleep(14_000)])
        socket.destroy()
        const statuses = [...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((found) => Number(found[1]))
        const ms = performance.now() - startMs
        for (const status of repeat(8, (i) => statuses[i] ?? 0)) {
          hostile.outcomes.push({ what: 'pipelined', status, ms, limitMs: null, text: '' })
        }
      }
    }
  },
}

// -- MCP

function message(hostile: Hostile, name: string, args: object): Request {
  const { project, token } = hostile.fixture.hostile
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const params = { name, arguments: args, _meta }
  return {
    path: `/mcp/v1/${project}`,
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
  }
}

const person = (action: string) => {
  const { subject, action: named, resource } = question(action)
  return { subject, action: named, resource }
}

const mcp = (what: string, callers: number, make: (hostile: Hostile) => Request, isShort = false): HostileLoad => ({
  bar: 50,
  isShort,
  prepare(hostile) {
    const request = make(hostile)
    return () => hostile.loop(what, callers, () => request)
  },
})

/** Runs a command on the folder, and kills it long after the end of the load. */
async function runOnFolder(hostile: Hostile, args: readonly string[]): Promise<void> {
  const startMs = performance.now()
  const program = process.env.VERDIGRAPH_TESTED ?? join(import.meta.dirname, '../../../src/cli/verdigraph.sh')
  const child = spawn(program, [...args, '--data', hostile.fixture.data], { stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), Math.max(1, hostile.endMs + 14_000 - startMs))
  const code = await new Promise<number | null>((resolve) => {
    child.on('exit', resolve)
    child.on('error', () => resolve(-1))
  })
  clearTimeout(timer)
  const what = `${args[0]} ended with ${code}`
  const status = code === 0 ? 200 : 0
  hostile.outcomes.push({ what, status, ms: performance.now() - startMs, limitMs: null, text: '' })
}

const runs = (args: (hostile: Hostile) => readonly string[]): HostileLoad => ({
  bar: 50,
  prepare: (hostile) => async () => {
    while (!hostile.isOver) await runOnFolder(hostile, args(hostile))
  },
})

/** Definitions of the model of `modelChanges`, and policies that use them: a change of the model compiles all of them. */
const DEFINITIONS = 40
const MODELLED_POLICIES = 2_000

/** A model that changes again and again, with policies that use its definitions, and decisions with them. */
const modelChanges: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const { project } = hostile.fixture.hostile
    const modelOf = (round: number): string =>
      repeat(
        DEFINITIONS,
        (i) =>
          `DEFINE (p:Person)-[:defined_${i}]->(c:Page) AS { MATCH (p)-[:WROTE]->(c) WHERE ${round} < 0 UNION MATCH (p)-[:DERIVED_FROM]->(c) }`,
      ).join('\n')
    const policies = repeat(MODELLED_POLICIES, (i) => {
      const {
        name,
        policy: text,
        status,
      } = policy(project, `defined-${i}`, `MATCH (subject:Person)-[:defined_${i % DEFINITIONS}]->(resource:Page)`) as {
        name: string
        policy: string
        status: string
      }
      return { kind: 'authorization-policies', name, body: { policy: text, status } }
    })
    const apply = (body: object) =>
      hostile.configure('apply', 'POST', `projects/${project}/apply`, {
        project: { body: { region: 'local' } },
        ...body,
      })
    const model = { kind: 'models', name: 'changed', body: { model: modelOf(0) } }
    const applied = await apply({ documents: [model, ...policies], delete: [] })
    if (applied.status !== 200) throw new Error(`the model was refused: ${applied.status}`)
    return async () => {
      let round = 0
      const changes = async (): Promise<void> => {
        while (!hostile.isOver) {
          round += 1
          const documents = [{ ...model, body: { model: modelOf(round) } }]
          await apply({ documents, delete: [] })
        }
      }
      const names = [model, ...policies].map(({ kind, name }) => ({ kind, name }))
      await Promise.all([
        changes(),
        hostile.loop('decision', 4, () => several(evaluation(question(`defined-${round % MODELLED_POLICIES}`)))),
      ])
      await apply({ documents: [], delete: names })
    }
  },
}

/** Passes over the nodes of the type `Big`, each of which changes all scores. */
const trustPasses: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const { fixture } = hostile
    const dimensions = ['VERIFICATION', 'ORIGIN', 'FRESHNESS', 'COMPLETENESS', 'VALIDITY']
    const profile = {
      project_id: fixture.hostile.project,
      name: 'big',
      node_classification: 'Big',
      schedule: 'DAILY',
      dimensions: dimensions.map((name) => ({ name, weight: 1 })),
    }
    const created = await fetch(`${fixture.url}/configs/v1/trust-score-profiles`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(profile),
    })
    if (created.status !== 201) throw new Error(`the profile was refused: ${await created.text()}`)
    const { id } = (await created.json()) as { id: string }
    let round = 0
    return async () => {
      while (!hostile.isOver) {
        round += 1
        const changed = { unnamed_source_trust: (round % 10) / 10 }
        await hostile.configure('change of the profile', 'PUT', `trust-score-profiles/${id}`, changed)
        await runOnFolder(hostile, ['trust', 'run', '--profile', id])
      }
      await hostile.configure('delete of the profile', 'DELETE', `trust-score-profiles/${id}`)
    }
  },
}

/** Runs that find duplicates among the nodes of the type `Big`: by the number and the text, which few share. */
const entityMatching: HostileLoad = {
  bar: 50,
  async prepare(hostile) {
    const { fixture } = hostile
    const types = ['Big']
    const created = await fetch(`${fixture.url}/configs/v1/entity-matching-pipelines`, {
      method: 'POST',
      headers: { authorization: `Bearer ${fixture.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        project_id: fixture.hostile.project,
        name: 'big-pairs',
        node_filter: { source_node_types: types, target_node_types: types },
        similarity_score_cutoff: 0.5,
      }),
    })
    if (created.status !== 201) throw new Error(`the pipeline was refused: ${await created.text()}`)
    const { id } = (await created.json()) as { id: string }
    const at = ['--url', fixture.url, '--port', new URL(fixture.url).port]
    const args = ['match', 'run', ...at, '--pipeline', id, '--mapping', 'n=n', '--mapping', 'text=text']
    return async () => {
      for (let round = 0; !hostile.isOver; round++)
        await runOnFolder(hostile, [...args, '--cutoff', round % 2 === 0 ? '0.1' : '0.9'])
      await hostile.configure('delete of the pipeline', 'DELETE', `entity-matching-pipelines/${id}`)
    }
  },
}

let files = 0
const fileOf = (hostile: Hostile): string => {
  files += 1
  return join(hostile.folder, `out-${process.pid}-${files}`)
}

const killsWorker: HostileLoad = {
  bar: 50,
  flags: ['--workers', '2'],
  // Two or three requests are in progress in a worker that is killed.
  errorsMax: 10,
  prepare: (hostile) => async () => {
    while (!hostile.isOver) {
      await Bun.sleep(1500)
      const { pid } = hostile.fixture
      const lanes = new Set(lanesOf(pid).map((lane) => lane.pid))
      const [worker] = descendantsOf(pid).filter((child) => !lanes.has(child.pid) && /worker/.test(child.command))
      if (worker === undefined) {
        hostile.notes.push('no worker was found')
        return
      }
      process.kill(worker.pid, 'SIGKILL')
      hostile.notes.push(`killed worker ${worker.pid}`)
    }
  },
}

/** Eight of the loads with the longest stalls at once. */
const EIGHT = [
  'batch',
  'query trails',
  'batch_read',
  'size',
  'filter of 100',
  'answer of 60 MB',
  'four bodies',
  'MCP, dear query',
] as const

const hostileLoads = {
  batch: alone(30, 'batch', () => batchOf(1000), true),
  'query trails': asks('trails', {}, {}, true),
  batch_read: asks('batch-read', { text: EMOJI }, {}, true),
  'one decision': decides('trails', true),
  '20 decisions at once': {
    bar: 30,
    isShort: true,
    prepare: (hostile) => () => hostile.rounds('decision', 20, () => several(trails)),
  },
  '8 pipelined': pipelined,
  reduce: decides('reduce'),
  size: decides('size', true),
  comprehension: decides('comprehension'),
  quantifier: decides('quantifier'),
  order: decides('order'),
  lists: decides('lists'),
  pattern: decides('pattern'),
  sort: asks('sort'),
  distinct: asks('distinct', { text: 'x'.repeat(60_000) }),
  collect: asks('collect', { text: 'x'.repeat(2000) }),
  'explain trails': explains('trails'),
  'explain size': explains('size'),
  'explain quantifier': explains('quantifier'),
  'compare trails': compares('trails'),
  'compare size': compares('size'),
  'filter of 100': alone(30, 'search', () => search('Sheet'), true),
  'filter of 2,000': alone(30, 'search', () => search('Page')),
  'what-authorized of 1,000': alone(30, 'what-authorized', () => whatAuthorized(1000)),
  'who-authorized of 1,000': alone(30, 'who-authorized', () => whoAuthorized(1000)),
  'graph query of pairs': queriesGraph('MATCH (a:Big), (b:Big) RETURN count(*) AS n'),
  'graph query of 60 MB': queriesGraph('MATCH (b:Big) RETURN b, collect(b) AS all LIMIT 10000'),
  'scan of 200,000': asks('scan'),
  'answer of 60 MB': asks('all', { text: 'x'.repeat(6000) }, { page_size: 10_000 }, true),
  'page at 190,000': alone(30, 'page', (hostile) => {
    const page_token = Math.floor(hostile.fixture.sizes.big * 0.95)
    return execution(hostile, 'page', {}, { page_token, page_size: 100 })
  }),
  'count of 200,000': asks('count'),
  'body of numbers': bodies(numbers, 1),
  'body of objects': bodies(objects, 1),
  'body of 2 M values': bodies(values, 1),
  'body 16,000 deep': bodies(deep, 1),
  'four bodies': bodies(objects, 4, true),
  'policy stored': stores(false),
  'policy refused': stores(true),
  'model of 2,000 policies changed': modelChanges,
  'delete of a hub': deletes,
  'captures by eight': captures,
  'dead event sinks': deadSinks,
  'event administration': eventRequests,
  'change streams': watchers,
  'audit reads': auditReads,
  'console visitors': consoleVisitors,
  'decision streams': decisionStreams,
  ...operatorLoads(captures),
  '5,000 idle connections': idle,
  'slow heads': slow(() => 'POST /access/v1/evaluation HTTP/1.1\r\nhost: slow\r\nx-slow: '),
  'slow bodies': slow(slowBody),
  // Each of them fits the budget of the event loop, but all of them together would block it.
  '64 medium bodies': {
    bar: 30,
    isShort: true,
    prepare: (hostile) => () => {
      const members = Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`k${i}`, i]))
      return hostile.loop('medium', 64, () => several(evaluation(question('read', members))))
    },
  },
  'MCP flood': mcp('authzen_evaluate', 16, (hostile) => message(hostile, 'authzen_evaluate', person('read'))),
  'MCP, dear decision': mcp('authzen_evaluate', 1, (hostile) => message(hostile, 'authzen_evaluate', person('trails'))),
  'MCP, dear query': mcp(
    'ciq_execute',
    1,
    (hostile) => message(hostile, 'ciq_execute', { id: hostile.fixture.hostile.queries.mine, input_params: {} }),
    true,
  ),
  'wrong keys': {
    bar: 50,
    isShort: true,
    prepare: (hostile) => () => {
      const { path, body } = evaluation(question('read'))
      const headers = { 'x-svc-clientkey': `${hostile.fixture.hostile.key.slice(0, -4)}AAAA` }
      return hostile.loop('wrong key', 32, () => ({ path, headers, ...(body !== undefined && { body }) }))
    },
  },
  'hung resolver': {
    bar: 50,
    prepare: (hostile) => () => hostile.loop('query', 8, () => several(execution(hostile, 'hung'))),
  },
  'hung issuer': {
    bar: 50,
    prepare(hostile) {
      const headers = { authorization: `Bearer ${hostile.fixture.hostile.hungToken}` }
      return () => hostile.loop('decision', 8, () => ({ ...several(evaluation(question('read'))), headers }))
    },
  },
  backup: runs((hostile) => ['backup', '--out', fileOf(hostile)]),
  export: runs((hostile) => ['export', '--out', fileOf(hostile)]),
  verify: runs(() => ['verify']),
  'trust passes': trustPasses,
  'entity matching': entityMatching,
  'graph in Neo4j': remoteLoad,
  'eight at once': {
    bar: 50,
    isShort: true,
    async prepare(hostile) {
      hostile.isCrowded = true
      const all = await Promise.all(EIGHT.map((name) => sceneOf(name).prepare(hostile)))
      return async () => {
        await Promise.all(all.map((run) => run()))
      }
    },
  },
  'restart of a worker': killsWorker,
  // Last, because its names stay.
  'dictionary of 120,000 names': dictionary,
} as const satisfies Readonly<Record<string, HostileLoad>>

export type HostileLoadName = keyof typeof hostileLoads
export const sceneNames = Object.keys(hostileLoads) as HostileLoadName[]

export function sceneOf(name: HostileLoadName): HostileLoad {
  return hostileLoads[name]
}
