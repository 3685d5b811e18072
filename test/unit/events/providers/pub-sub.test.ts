// The Pub/Sub driver against a fake: messages, token, acknowledgements, credentials. test/stress/event-providers uses Google's fake.
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { importSPKI, jwtVerify } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import type { PubSubConfig } from '../../../../src/events/providers/provider.ts'
import { pubSub } from '../../../../src/events/providers/pub-sub.ts'
import { parseServiceAccount } from '../../../../src/upstream/service-account.ts'
import { outgoingEvent, outgoingEvents, providerDeps } from '../../../support/outgoing-events.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})
const account = {
  type: 'service_account',
  private_key_id: 'key-1',
  private_key: privateKey,
  client_email: 'publisher@project-1.iam.gserviceaccount.com',
}
const config: PubSubConfig = {
  project_id: 'project-1',
  topic_name: 'events',
  credentials_json: JSON.stringify(account),
}

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

interface PublishRequest {
  readonly path: string
  readonly token: string
  readonly messages: { data: string; attributes: Record<string, string>; orderingKey: string }[]
}

/** The fake returns an id for each message by default. */
async function service(answer?: (request: PublishRequest, at: number) => { status: number; body: object } | null) {
  const requests: PublishRequest[] = []
  const server = createServer(async (incoming, response) => {
    const parts: Buffer[] = []
    for await (const part of incoming) parts.push(part)
    const { messages } = JSON.parse(Buffer.concat(parts).toString())
    const token = (incoming.headers.authorization ?? '').replace('Bearer ', '')
    const request = { path: incoming.url ?? '', token, messages }
    requests.push(request)
    const { status, body } = answer?.(request, requests.length - 1) ?? {
      status: 200,
      body: { messageIds: messages.map((_: unknown, at: number) => String(at)) },
    }
    response.writeHead(status).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  cleanups.push(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve(undefined))
        server.closeAllConnections()
      }),
  )
  const deps = {
    ...providerDeps('127.0.0.1'),
    pubSubEndpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  }
  return { requests, connect: (more: Partial<PubSubConfig> = {}) => pubSub.connect({ ...config, ...more }, deps) }
}

describe('a batch for a Pub/Sub topic', () => {
  it('has one message per event, and a token that the account signed', async () => {
    const { requests, connect } = await service()
    const connection = connect()
    expect(await connection.send(outgoingEvents(0, 3), 60_000)).toEqual({ kind: 'delivered' })
    expect(await connection.send(outgoingEvents(3, 1), 60_000)).toEqual({ kind: 'delivered' })
    const [first, second] = requests
    expect(first?.path).toBe('/v1/projects/project-1/topics/events:publish')
    const { attributes, data, orderingKey } = outgoingEvent(0)
    const { datacontenttype, ...others } = attributes
    expect(first?.messages).toHaveLength(3)
    expect(first?.messages[0]).toEqual({
      data: Buffer.from(data).toString('base64'),
      attributes: {
        'content-type': datacontenttype,
        ...Object.fromEntries(Object.entries(others).map(([name, value]) => [`ce-${name}`, value])),
      },
      orderingKey,
    })
    const key = await importSPKI(publicKey, 'RS256')
    const { payload, protectedHeader } = await jwtVerify(first?.token ?? '', key, {
      audience: 'https://pubsub.googleapis.com/',
      issuer: account.client_email,
      subject: account.client_email,
    })
    expect(protectedHeader).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(3600)
    expect(second?.token).toBe(first?.token)
  })

  it('is not delivered if the answer acknowledges fewer messages', async () => {
    const { connect } = await service(() => ({ status: 200, body: { messageIds: ['1'] } }))
    expect(await connect().send(outgoingEvents(0, 3), 60_000)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: '1 of 3 messages were acknowledged',
    })
  })

  it('gets a new token after the status 401', async () => {
    const error = { code: 401, message: 'expired', status: 'UNAUTHENTICATED' }
    const { requests, connect } = await service((_, at) => (at === 0 ? { status: 401, body: { error } } : null))
    const connection = connect()
    expect(await connection.send(outgoingEvents(0, 1), 60_000)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: 'HTTP status 401: UNAUTHENTICATED: expired',
    })
    await Bun.sleep(1100)
    expect(await connection.send(outgoingEvents(0, 1), 60_000)).toEqual({ kind: 'delivered' })
    expect(requests[1]?.token).not.toBe(requests[0]?.token)
  })

  it('has ordering keys and subjects within the limit, and names another attribute above it', async () => {
    const { requests, connect } = await service()
    const withAttribute = (at: number, name: string) => ({
      ...outgoingEvent(at),
      attributes: { ...outgoingEvent(at).attributes, [name]: 'x'.repeat(1025) },
    })
    const long = { ...withAttribute(0, 'subject'), orderingKey: 'ü'.repeat(600) }
    const source = withAttribute(2, 'source')
    expect(await connect().send([long, outgoingEvent(1), source, outgoingEvent(3)], 60_000)).toEqual({
      kind: 'refused',
      delivered: 2,
      error: 'the attribute `source` has 1025 bytes; Pub/Sub accepts 1024',
      isFinal: true,
    })
    const messages = requests.flatMap((request) => request.messages)
    expect(messages.map(({ attributes }) => attributes['ce-id'])).toEqual(['graph-0', 'graph-1'])
    expect(messages[0]?.orderingKey).toMatch(/^[0-9a-f]{64}$/)
    expect(messages[0]?.attributes['ce-subject']).toMatch(/^[0-9a-f]{64}$/)
  })

  it.each([
    ['no JSON at all', 'secret', 'credentials_json: expected the key file of a service account, found no JSON'],
    [
      'members that are missing',
      JSON.stringify({ type: 'authorized_user', client_email: 'a', private_key: 'secret' }),
      'credentials_json: expected the key file of a service account; missing or invalid: type',
    ],
    [
      'no object',
      '["secret"]',
      'credentials_json: expected the key file of a service account; missing or invalid: an object',
    ],
    [
      'a private key in another form',
      JSON.stringify({ ...account, private_key: 'secret' }),
      'credentials_json: private_key: expected an RSA key in PKCS #8 form (PEM)',
    ],
  ])('with credentials that are %s is refused without quoting them', async (_, credentials_json, error) => {
    const { requests, connect } = await service()
    expect(await connect({ credentials_json }).send(outgoingEvents(0, 1), 60_000)).toEqual({
      kind: 'retry',
      delivered: 0,
      error,
    })
    expect(requests).toEqual([])
  })

  it('goes to the domain of the account, which must be public', () => {
    const { destinations } = providerDeps('')
    const errorOf = (universe_domain: string) =>
      pubSub.configError({ ...config, credentials_json: JSON.stringify({ ...account, universe_domain }) }, destinations)
    expect(pubSub.configError(config, destinations)).toBeNull()
    expect(errorOf('apis.example')).toBeNull()
    expect(errorOf('corp.internal')).toBe(
      'credentials_json: universe_domain: the host `pubsub.corp.internal` is not public',
    )
    expect(errorOf('a.example/x')).toMatch(/missing or invalid: universe_domain$/)
    expect(parseServiceAccount('{}')).toMatchObject({ ok: false })
  })
})
