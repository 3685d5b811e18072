// When the console is served, and what its page and cookies are protected by.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

describe('the page', () => {
  let service: TestService
  beforeAll(async () => {
    service = await startService({ publicUrl: 'https://pdp.example', console: 'on' })
  })
  afterAll(() => service?.stop())

  test('allows only scripts, styles and requests of the service, and no frames', async () => {
    const { status, headers, text } = await service.send('/console')
    expect(status).toBe(200)
    const policy = headers.get('content-security-policy') ?? ''
    const nonce = /'nonce-([\w-]{22})'/.exec(policy)?.[1] ?? ''
    for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"])
      expect(policy).toContain(part)
    expect(policy).not.toMatch(/unsafe|\*|https?:/)
    expect(text).toContain(`<meta name="style-nonce" content="${nonce}">`)
    expect((await service.send('/console')).headers.get('content-security-policy')).not.toBe(policy)
    expect([headers.get('x-content-type-options'), headers.get('referrer-policy')]).toEqual(['nosniff', 'no-referrer'])
  })

  test('has files that browsers may keep, compressed for those that accept it', async () => {
    const { text } = await service.send('/console')
    const paths = [...text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)].map(([, path = '']) => path)
    expect(paths).toHaveLength(2)
    for (const path of paths) {
      const packed = await fetch(`${service.url}${path}`, { headers: { 'accept-encoding': 'gzip' }, decompress: false })
      expect(packed.headers.get('content-encoding')).toBe('gzip')
      expect(packed.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      const plain = await fetch(`${service.url}${path}`, { headers: { 'accept-encoding': 'identity' } })
      expect(plain.headers.get('content-encoding')).toBe(null)
      const unpacked = Bun.gunzipSync(new Uint8Array(await packed.arrayBuffer()))
      expect(Buffer.from(unpacked).equals(Buffer.from(await plain.arrayBuffer()))).toBe(true)
      const etag = plain.headers.get('etag') ?? ''
      const known = await fetch(`${service.url}${path}`, { headers: { 'if-none-match': etag } })
      expect([known.status, await known.text()]).toEqual([304, ''])
    }
    expect((await service.send('/console/assets/main.js')).status).toBe(404)
    expect((await fetch(`${service.url}/console/assets/..%2f..%2fapp.ts`)).status).toBe(400)
  })

  test('loads less than 350 kB for the first screen', async () => {
    const { text } = await service.send('/console')
    const seen = new Set<string>()
    const load = async (path: string): Promise<number> => {
      if (seen.has(path)) return 0
      seen.add(path)
      const response = await fetch(`${service.url}${path}`, {
        headers: { 'accept-encoding': 'gzip' },
        decompress: false,
      })
      const bytes = new Uint8Array(await response.arrayBuffer())
      const source = path.endsWith('.js') ? Buffer.from(Bun.gunzipSync(bytes)).toString() : ''
      const names = [...source.matchAll(/["']\.\/([\w.-]+\.js)["']/g)].map(([, name = '']) => name)
      let total = bytes.length
      for (const name of names.filter((one) => /^(main|ask|chunk)/.test(one)))
        total += await load(`/console/assets/${name}`)
      return total
    }
    let total = 0
    for (const [, path = ''] of text.matchAll(/(?:src|href)="(\/console\/assets\/[^"]+)"/g)) total += await load(path)
    expect(seen.size).toBeGreaterThan(2)
    expect(total).toBeLessThan(350_000)
  })

  test('signs in with a cookie for https only, if that is how browsers reach the service', async () => {
    const headers = { origin: 'https://pdp.example' }
    const { status, headers: given } = await service.send('/console/v1/session', {
      body: { token: service.token },
      headers,
    })
    expect([status, given.get('set-cookie')]).toEqual([
      200,
      expect.stringMatching(/^__Host-.*; SameSite=Strict; Secure$/),
    ])
  })
})

describe('the setting', () => {
  const pathsWith = async (settings: Parameters<typeof startService>[0]): Promise<readonly number[]> => {
    const service = await startService(settings)
    try {
      const token = { token: service.token }
      return [
        (await service.send('/console/v1/session')).status,
        (await service.send('/console/v1/session', { body: token })).status,
        (await service.send('/console/assets/x.js')).status,
        service.app.consoleLink(service.url) === null ? 0 : 1,
      ]
    } finally {
      await service.stop()
    }
  }

  test('`off` removes page and sign-in', async () => {
    expect(await pathsWith({ console: 'off' })).toEqual([404, 404, 404, 0])
  })

  test('`auto` serves the console on loopback only, `on` everywhere', async () => {
    expect(await pathsWith({ host: '0.0.0.0' })).toEqual([404, 404, 404, 0])
    expect(await pathsWith({ host: '0.0.0.0', console: 'on' })).toEqual([200, 200, 404, 1])
    expect(await pathsWith({ host: '127.0.0.1' })).toEqual([200, 200, 404, 1])
  })

  test('`auto` serves no console behind a proxy for other machines', async () => {
    const host = '127.0.0.1'
    expect(await pathsWith({ host, publicUrl: 'https://pdp.example' })).toEqual([404, 404, 404, 0])
    expect(await pathsWith({ host, publicUrl: 'https://pdp.example', console: 'on' })).toEqual([200, 200, 404, 1])
    expect(await pathsWith({ host, publicUrl: 'http://[::1]:8080' })).toEqual([200, 200, 404, 1])
  })
})
