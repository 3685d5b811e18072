// The metrics token: Prometheus scrapes with the configuration that the documentation shows; no other path accepts it.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { writeMetricsToken } from '../../../src/cli/serve/metrics-token.ts'
import { formatSettings } from '../../../src/cli/settings/format-settings.ts'
import { readSettings, resolveSettings } from '../../../src/cli/settings/read-settings.ts'
import type { LogEntry } from '../../../src/ops/log.ts'
import { blocksOf, repositoryRoot } from '../../docs/pages.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const OLD = 'a-token-of-the-operator-1'
const NEW = 'a-token-of-the-operator-2'

interface ScrapeConfig {
  readonly metrics_path: string
  readonly authorization: { readonly type: string; readonly credentials_file: string }
  readonly static_configs: readonly { readonly targets: readonly string[] }[]
}

describe('a service with metrics tokens', () => {
  let service: TestService
  const log: LogEntry[] = []
  beforeAll(async () => {
    service = await startService(
      { metricsToken: `${OLD},${NEW}`, accessLog: 'on' },
      { log: (entry) => log.push(entry) },
    )
  })
  afterAll(() => service?.stop())

  const scrape = (authorization: string | null, path = '/metrics') =>
    service.send(path, { headers: authorization === null ? {} : { authorization } })

  it('answers a scrape as prometheus.yml in the documentation configures it, with each of the tokens', async () => {
    const page = readFileSync(join(repositoryRoot, 'docs', 'how-to', 'operations.md'), 'utf8')
    const [block] = blocksOf(page).filter(({ info }) => info === 'prometheus.yml')
    const [config] = parse(block?.text as string).scrape_configs as ScrapeConfig[]
    expect(config?.static_configs[0]?.targets).toEqual(['127.0.0.1:8080'])
    expect(page).toContain(`> ${config?.authorization.credentials_file}\n`)
    for (const token of [OLD, NEW]) {
      const { status, text } = await scrape(`${config?.authorization.type} ${token}`, config?.metrics_path)
      expect([status, text.startsWith('# HELP ')]).toEqual([200, true])
    }
  })

  it('still answers an administrator', async () => {
    expect((await scrape(`Bearer ${service.token}`)).status).toBe(200)
  })

  it.each([
    ['absent', null],
    ['empty', 'Bearer '],
    ['wrong', `Bearer ${OLD}x`],
    ['a prefix', `Bearer ${OLD.slice(0, -1)}`],
    ['the setting itself', `Bearer ${OLD},${NEW}`],
    ['in another scheme', `Basic ${OLD}`],
  ])('refuses a token that is %s, and the log does not contain it', async (_, authorization) => {
    const { status, headers, text } = await scrape(authorization)
    expect([status, headers.has('www-authenticate')]).toEqual([401, true])
    expect(text).not.toContain('a-token-of')
    expect(JSON.stringify(log)).not.toContain('a-token-of')
  })

  it('accepts the token for no other path', async () => {
    for (const path of ['/configs/v1/organizations/current', `/configs/v1/projects/${service.projectId}`]) {
      expect((await scrape(`Bearer ${OLD}`, path)).status).toBe(401)
    }
    const question = { subject: { type: 'P', id: 'a' }, action: { name: 'x' }, resource: { type: 'C', id: 'c' } }
    for (const headers of [{ authorization: `Bearer ${OLD}` }, { 'x-svc-clientkey': OLD }]) {
      expect((await service.send('/access/v1/evaluation', { headers, body: question })).status).toBe(401)
    }
  })
})

it('without the setting, no token of this kind is accepted, not even an empty one', async () => {
  const service = await startService()
  try {
    for (const authorization of ['Bearer ', 'Bearer ,', `Bearer ${OLD}`]) {
      expect((await service.send('/metrics', { headers: { authorization } })).status).toBe(401)
    }
  } finally {
    await service.stop()
  }
})

describe('the setting', () => {
  const read = (metrics_token: string, more: object = {}) =>
    readSettings({ file: { path: 'settings.json', content: { metrics_token, ...more } } })

  it.each([OLD, `${OLD}, ${NEW}`, `${'a'.repeat(255)}=`])('accepts %s', (value) => {
    expect(read(value).ok).toBe(true)
  })

  it.each(['short', `${OLD},`, `${OLD},${NEW},${OLD}`, `${OLD} ${NEW}`, `${OLD}"`, 'a'.repeat(257)])(
    'refuses %s and does not repeat it',
    (value) => {
      const message = 'expected one or two tokens of 24 to 256 letters, digits and `-._~+/=`, separated by a comma'
      expect(read(value)).toEqual({ ok: false, error: [`settings.json: metrics_token: ${message}`] })
    },
  )

  it.each(['public', 'off'])('is refused with metrics_access %s, where it has no effect', (metrics_access) => {
    expect(read(OLD, { metrics_access })).toEqual({
      ok: false,
      error: [`metrics_token: has no effect with metrics_access \`${metrics_access}\`; expected \`account\``],
    })
  })

  it('is masked when settings are printed', () => {
    const resolved = resolveSettings({ environment: { VERDIGRAPH_METRICS_TOKEN: OLD } })
    if (!resolved.ok) throw new Error(resolved.error.join())
    for (const json of [false, true]) {
      const text = formatSettings(resolved.value, {}, { all: true, json }).join('\n')
      expect(text).not.toContain(OLD)
      expect(text).toMatch(/metrics_token[" ,:value]+\*{8}[" ,:from]+VERDIGRAPH_METRICS_TOKEN/)
    }
  })
})

describe('a service with a file of metrics tokens', () => {
  const file = join(temporaryFolder(), 'metrics-token')
  const log: LogEntry[] = []
  let service: TestService
  beforeAll(async () => {
    writeMetricsToken(file, false)
    service = await startService({ metricsTokenFile: file }, { log: (entry) => log.push(entry) })
  })
  afterAll(() => service?.stop())

  const tokens = (): string[] => readFileSync(file, 'utf8').trim().split('\n')
  const statusOf = async (token: string): Promise<number> =>
    (await service.send('/metrics', { headers: { authorization: `Bearer ${token}` } })).status

  it('follows a change of the token without a restart and without a gap', async () => {
    const [first = ''] = tokens()
    expect([await statusOf(first), statSync(file).mode & 0o777]).toEqual([200, 0o600])
    writeMetricsToken(file, false)
    const [second = '', ...others] = tokens()
    expect([second === first, others]).toEqual([false, [first]])
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
    writeMetricsToken(file, true)
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200])
  })

  it('accepts no token while the file is damaged or absent, reports it once, and recovers', async () => {
    const [token = ''] = tokens()
    for (const [text, problem] of [
      ['short\n', 'is not valid'],
      [`${token}\n${token}1\n${token}2\n`, 'is not valid'],
      [null, 'cannot be read: ENOENT'],
    ] as const) {
      log.length = 0
      if (text === null) rmSync(file)
      else writeFileSync(file, text)
      expect([await statusOf(token), await statusOf(token)]).toEqual([401, 401])
      expect(log.filter(({ message }) => message.includes(problem))).toHaveLength(1)
      expect(JSON.stringify(log)).not.toContain(token)
    }
    writeFileSync(file, `# for Prometheus\n${token}\n`)
    expect(await statusOf(token)).toBe(200)
  })

  it('is not combined with a token in the settings, and the command overwrites no other file', () => {
    const both = readSettings({
      file: { path: 'settings.json', content: { metrics_token: OLD, metrics_token_file: file } },
    })
    expect(JSON.stringify(both)).toContain('metrics_token, metrics_token_file: expected one of them')
    const other = join(temporaryFolder(), 'notes')
    writeFileSync(other, 'notes\n')
    expect(() => writeMetricsToken(other, false)).toThrow('contains something else than metrics tokens')
    expect(readFileSync(other, 'utf8')).toBe('notes\n')
  })
})
