// Sessions of the console with several workers and lanes, and the end of streams with the session that opened them.
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { killAll } from '../../support/cli-process.ts'
import { signIn } from '../../support/console-session.ts'
import { eventsOf } from '../../support/event-stream.ts'
import type { HttpReply } from '../../support/http-connection.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService } from '../../support/service.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'
import {
  bodyOf,
  connectionsTo,
  type HttpConnection,
  makeProject,
  startWorkers,
  type WorkerFixture,
  type WorkerProject,
} from '../../support/worker-fixture.ts'

/** Of the connections, whose header `Host` is `test`. */
const origin = 'http://test'

describe('with two workers and lanes', () => {
  let fixture: WorkerFixture
  let one: readonly HttpConnection[]
  let other: readonly HttpConnection[]
  let project: WorkerProject
  const sockets: Socket[] = []

  beforeAll(async () => {
    const folder = temporaryFolder()
    fixture = await startWorkers(join(folder, 'data'), 2, {
      VERDIGRAPH_LANES: '2',
      VERDIGRAPH_DECISION_LOG: join(folder, 'decisions.log'),
    })
    const lines = await connectionsTo(fixture.server.url, 2, 6)
    one = lines[0] ?? []
    other = lines[1] ?? []
    project = await makeProject(fixture, first(one), 'together')
  }, 120_000)

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })

  afterAll(async () => {
    await fixture?.close()
    await killAll()
    removeTemporaryFolders()
  })

  const first = ([line]: readonly HttpConnection[]): HttpConnection => {
    if (line === undefined) throw new Error('no connection')
    return line
  }
  const newLink = async (line: HttpConnection): Promise<string> => {
    const { url } = bodyOf(
      await line.request('POST', '/console/v1/links', { ...fixture.admin, host: 'localhost' }),
      201,
    )
    return (url ?? '').split('#link=')[1] ?? ''
  }
  const redeem = (line: HttpConnection, link: string): Promise<HttpReply> =>
    line.request('POST', '/console/v1/session', { origin }, { link })
  const headersOf = (reply: HttpReply): Record<string, string> => {
    const { session } = JSON.parse(reply.body) as { session: { csrf_token: string } }
    const cookie = reply.headers['set-cookie']?.split(';')[0] ?? ''
    return { cookie, origin, 'x-csrf-token': session.csrf_token }
  }
  const projectsPath = () => `/configs/v1/projects?organization_id=${encodeURIComponent(fixture.organization)}`

  /** Opens the decision stream at a worker. Resolves when it has begun, with its end. */
  async function streamAt(
    worker: number,
    headers: Readonly<Record<string, string>>,
  ): Promise<{ readonly ended: Promise<void> }> {
    const { hostname, port } = new URL(fixture.server.url)
    for (;;) {
      const socket = connect(Number(port), hostname)
      sockets.push(socket)
      let received = ''
      const until = (text: string): Promise<void> =>
        new Promise((resolve, reject) => {
          const check = (): void => {
            if (received.includes(text)) resolve()
          }
          socket.on('data', check).on('error', reject)
          check()
        })
      socket.on('data', (bytes) => {
        received += bytes.toString()
      })
      const ended = new Promise<void>((resolve) => socket.on('close', () => resolve()))
      socket.write('GET /health HTTP/1.1\r\nhost: test\r\n\r\n')
      await until('}')
      if (!received.includes(`"worker":${worker}`)) {
        socket.destroy()
        continue
      }
      const lines = Object.entries({ ...headers, 'x-project-id': project.id }).map(
        ([name, value]) => `${name}: ${value}`,
      )
      socket.write(`GET /access/v1/decisions HTTP/1.1\r\nhost: test\r\n${lines.join('\r\n')}\r\n\r\n`)
      await until('event: hello')
      // The chunk of length 0 is the end of the response.
      return { ended: Promise.race([ended, until('\r\n0\r\n\r\n')]) }
    }
  }

  test('a session that one worker opened is valid at the other, and ends at both by signing out', async () => {
    const headers = headersOf(await redeem(first(one), await newLink(first(other))))
    for (const line of [first(other), first(one)]) {
      const body = {
        organization_id: fixture.organization,
        name: `of-${line === first(one) ? 'one' : 'other'}`,
        region: 'local',
      }
      expect((await line.request('POST', '/configs/v1/projects', headers, body)).status).toBe(201)
    }
    const ended = await first(other).request('DELETE', '/console/v1/session', headers)
    expect(ended.status).toBe(204)
    for (const line of [first(one), first(other)])
      expect((await line.request('GET', projectsPath(), { cookie: headers.cookie ?? '' })).status).toBe(401)
  })

  test('of many uses of a link at the same time, exactly one signs in', async () => {
    for (let round = 0; round < 10; round += 1) {
      const link = await newLink(first(one))
      const replies = await Promise.all([...one, ...other].map((line) => redeem(line, link)))
      const statuses = replies.map(({ status }) => status).sort()
      expect(statuses).toEqual([200, ...Array.from({ length: replies.length - 1 }, () => 401)])
    }
  })

  test('streams of both workers end when the session is ended at one of them', async () => {
    const headers = headersOf(await redeem(first(one), await newLink(first(one))))
    const streams = [await streamAt(1, headers), await streamAt(2, headers)]
    expect((await first(one).request('DELETE', '/console/v1/session', headers)).status).toBe(204)
    await Promise.all(streams.map(({ ended }) => ended))
  }, 60_000)
})

describe('a stream of decisions', () => {
  test('ends with its session: by its time, and by the deletion of its credential', async () => {
    const clock = new ManualClock(Date.now())
    const folder = temporaryFolder()
    const service = await startService({ decisionLog: join(folder, 'decisions.log') }, { clock })
    try {
      const open = async (headers: Readonly<Record<string, string>>) => {
        const events = eventsOf(
          await fetch(`${service.url}/access/v1/decisions`, {
            headers: { ...headers, 'x-project-id': service.projectId },
          }),
        )
        expect(await events.next()).toEqual({ sample_percent: 100 })
        return events
      }
      const { organizationId: organization_id } = service.app
      const account = await service.configure('POST', 'service-accounts', {
        organization_id,
        name: 'guest',
        role: 'all_editor',
      })
      const credential = await service.configure('POST', 'service-account-credentials', {
        service_account_id: account.body.id,
      })
      const { token } = credential.body.service_account_config as { token: string }
      const guest = await open((await signIn(service, { token })).headers)
      const link = (service.app.consoleLink(service.url) ?? '').split('#link=')[1] ?? ''
      const admin = await open((await signIn(service, { link })).headers)
      await service.configure('DELETE', `service-account-credentials/${credential.body.id}`)
      expect(await guest.next()).toBe(null)
      clock.advance(8 * 3_600_000)
      expect(await admin.next()).toBe(null)
    } finally {
      await service.stop()
      removeTemporaryFolders()
    }
  }, 60_000)
})
