// Places of backups on S3-compatible servers that others have written: SeaweedFS, which checks signatures, and moto. A proxy in between
// makes the server fail, answer slowly or go away.
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlace } from '../../../src/backup/places/open-place.ts'
import type { BackupPlace } from '../../../src/backup/places/place.ts'
import { type S3Access, S3Bucket } from '../../../src/backup/places/s3-requests.ts'
import { CounterpartMissing } from '../../support/counterparts/install.ts'
import { startMoto } from '../../support/counterparts/moto.ts'
import { startSeaweed } from '../../support/counterparts/seaweedfs.ts'

interface S3Server {
  readonly url: string
  stop(): Promise<void>
}

const servers = { SeaweedFS: startSeaweed, moto: startMoto }

const keys = {
  accessKeyId: 'AKIATESTOFPLACES',
  secretAccessKey: 'the-secret-of-the-test-of-places',
  region: 'us-east-1',
}
const MIB = 1024 * 1024

function bytesOf(length: number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream(
    {
      pull(controller) {
        const size = Math.min(length - at, 700_000)
        if (size <= 0) return controller.close()
        controller.enqueue(new Uint8Array(size).map((_, index) => (at + index) % 251))
        at += size
      },
    },
    { highWaterMark: 0 },
  )
}

async function digestOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of stream) hash.update(chunk)
  return hash.digest('hex')
}

async function namesIn(place: BackupPlace, prefix = ''): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of place.list(prefix)) names.push(name)
  return names.sort()
}

describe.each(Object.entries(servers))('%s as a place', (serverName, start) => {
  let server: S3Server | null = null
  let access: S3Access
  beforeAll(async () => {
    try {
      server = await start()
    } catch (failure) {
      if (!(failure instanceof CounterpartMissing)) throw failure
      console.log(`skipped: ${serverName}: ${failure.message}`)
      return
    }
    access = { ...keys, endpoint: server.url }
    await new S3Bucket('places', access).send({ method: 'PUT', key: '', accepted: [409] })
  })
  afterAll(() => server?.stop())

  it('stores objects of one and of several parts, and gives them back', async (context) => {
    if (server === null) return context.skip()
    const place = openPlace('s3://places/one', access)
    for (const length of [0, 1, 8 * MIB, 8 * MIB + 1, 20 * MIB + 3]) {
      await place.put(`object-${length}`, bytesOf(length))
      expect(await digestOf(await place.get(`object-${length}`))).toBe(await digestOf(bytesOf(length)))
    }
    await place.put('small.txt', new TextEncoder().encode('a & <b>'))
    expect(await new Response(await place.get('small.txt')).text()).toBe('a & <b>')
    const sizes: number[] = []
    for await (const { size } of place.list('object-')) sizes.push(size)
    expect(sizes.sort((a, b) => a - b)).toEqual([0, 1, 8 * MIB, 8 * MIB + 1, 20 * MIB + 3])
  })

  it('lists more objects than one answer has, and only those below its prefix', async (context) => {
    if (server === null) return context.skip()
    const place = openPlace('s3://places/many', access)
    const other = openPlace('s3://places/many-others', access)
    await other.put('x', new Uint8Array(1))
    const names = Array.from({ length: 1003 }, (_, at) => `log/${String(at).padStart(4, '0')}`)
    for (let at = 0; at < names.length; at += 50)
      await Promise.all(names.slice(at, at + 50).map((name) => place.put(name, new Uint8Array(1))))
    expect(await namesIn(place)).toEqual(names)
    expect(await namesIn(place, 'log/000')).toEqual(names.slice(0, 10))
    await place.remove('log/0000')
    await place.remove('log/0000')
    expect(await namesIn(place, 'log/0000')).toEqual([])
  })

  it('removes uploads that were interrupted, and never lists them', async (context) => {
    if (server === null) return context.skip()
    const bucket = new S3Bucket('places', access)
    for (const key of ['cut/one.tar', 'cut/two.tar', 'other/three.tar']) {
      const { body } = await bucket.send({ method: 'POST', key, query: { uploads: '' } })
      const id = /<UploadId>([^<]+)</.exec(new TextDecoder().decode(body))?.[1] as string
      await bucket.send({ method: 'PUT', key, query: { partNumber: '1', uploadId: id }, body: new Uint8Array(5 * MIB) })
    }
    const place = openPlace('s3://places/cut', access)
    expect(await namesIn(place)).toEqual([])
    expect(await place.removeIncomplete((name) => name === 'one.tar')).toBe(1)
    expect(await place.removeIncomplete((_, startedMs) => startedMs > 0)).toBe(1)
    expect(await place.removeIncomplete(() => true)).toBe(0)
    expect(await openPlace('s3://places/other', access).removeIncomplete(() => true)).toBe(1)
  })

  it('leaves nothing of a stream that fails, also after several parts', async (context) => {
    if (server === null) return context.skip()
    const place = openPlace('s3://places/failing', access)
    let parts = 0
    const failing = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (parts++ < 20) controller.enqueue(new Uint8Array(MIB))
        else controller.error(new Error('the source failed'))
      },
    })
    await expect(place.put('one.tar', failing)).rejects.toThrow('the source failed')
    expect(await namesIn(place)).toEqual([])
    expect(await place.removeIncomplete(() => true)).toBe(0)
  })

  it('names what is missing', async (context) => {
    if (server === null) return context.skip()
    await expect(openPlace('s3://places/one', access).get('none')).rejects.toMatchObject({ reason: 'absent' })
    await expect(openPlace('s3://no-such-bucket/one', access).put('x', bytesOf(9 * MIB))).rejects.toThrow(
      'NoSuchBucket',
    )
  })

  it('repeats requests that the server fails, and gives up when it stays away', async (context) => {
    if (server === null) return context.skip()
    const { url } = server
    const failedOnce = new Set<string>()
    let isAway = false
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      maxRequestBodySize: 64 * MIB,
      async fetch(request) {
        const { pathname, search } = new URL(request.url)
        const id = `${request.method} ${pathname}${search.replace(/uploadId=[^&]*/, '')} ${request.headers.get('range')}`
        if (isAway || !failedOnce.has(id)) {
          failedOnce.add(id)
          return new Response('<Error><Code>SlowDown</Code><Message>Please wait</Message></Error>', { status: 503 })
        }
        // The host header is signed, so the server must see that of the proxy.
        const headers = new Headers(request.headers)
        return fetch(`${url}${pathname}${search}`, { method: request.method, headers, body: await request.bytes() })
      },
    })
    try {
      const place = openPlace('s3://places/retried', { ...access, endpoint: proxy.url.href })
      await place.put('one.tar', bytesOf(10 * MIB))
      expect(await digestOf(await place.get('one.tar'))).toBe(await digestOf(bytesOf(10 * MIB)))
      isAway = true
      await expect(place.put('two.tar', bytesOf(3))).rejects.toMatchObject({
        reason: 'unreachable',
        message: expect.stringContaining('503, SlowDown: Please wait'),
      })
    } finally {
      await proxy.stop(true)
    }
    const gone = openPlace('s3://places/retried', { ...access, endpoint: proxy.url.href })
    await expect(gone.get('one.tar')).rejects.toMatchObject({ reason: 'unreachable' })
  })
})

describe('SeaweedFS', () => {
  it('refuses a wrong secret, and the message does not contain it', async (context) => {
    const server = await startSeaweed().catch((failure) => {
      if (failure instanceof CounterpartMissing) return null
      throw failure
    })
    if (server === null) return context.skip()
    try {
      const wrong = { ...keys, secretAccessKey: 'another-secret-of-the-test', endpoint: server.url }
      const refused = openPlace('s3://ready', wrong).put('x', bytesOf(3))
      await expect(refused).rejects.toMatchObject({
        reason: 'refused',
        message: expect.stringContaining('SignatureDoesNotMatch'),
      })
      await expect(refused).rejects.not.toThrow('another-secret-of-the-test')
    } finally {
      await server.stop()
    }
  })
})
