// Prometheus itself reads the rules, scrapes a running service with the credential of the documentation, and evaluates every expression
// of the alert rules and of the dashboard. Skipped where Prometheus is not installed (Debian: `apt-get install prometheus`).
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { alertRules, dashboardExpressions, rulesFile, ruleTestsFile } from '../../support/monitoring-files.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.ts'
import { startService, type TestService } from '../../support/service.ts'

const isInstalled = ['promtool', 'prometheus'].every((name) => Bun.which(name) !== null)
if (!isInstalled) console.log('skipped: promtool and prometheus are not installed')

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const TOKEN = 'a-token-of-prometheus-0123456789'

describe.skipIf(!isInstalled)('promtool', () => {
  it('accepts the rules', () => {
    expect(execFileSync('promtool', ['check', 'rules', rulesFile], { encoding: 'utf8' })).toContain('SUCCESS')
  })

  it('finds that each alert fires on its fault and on no other, with its summary and the address of its page', () => {
    expect(execFileSync('promtool', ['test', 'rules', ruleTestsFile], { encoding: 'utf8' })).toContain('SUCCESS')
  })
})

interface QueryAnswer {
  readonly status: string
  readonly error?: string
  readonly data: { readonly result: readonly { readonly value?: readonly [number, string] }[] }
}

describe.skipIf(!isInstalled)('a Prometheus that scrapes the service', () => {
  let service: TestService
  let collector: OtlpReceiver
  let prometheus: Bun.Subprocess
  let folder: string
  let url: string

  beforeAll(async () => {
    collector = startOtlpReceiver()
    folder = mkdtempSync(join(tmpdir(), 'verdigraph-prometheus-'))
    service = await startService(
      {
        metricsToken: TOKEN,
        lanes: 1,
        laneWaitMs: 60_000,
        decisionLog: join(folder, 'decisions.ndjson'),
        shipTo: join(folder, 'shipped'),
        backupTo: join(folder, 'backups'),
        backupSchedule: '0 0 1 1 *',
        drillSchedule: '0 0 1 1 *',
        otlpEndpoint: collector.url,
        spanDelayMs: 10,
      },
      { laneCommand: childCommand('lane') },
    )
    await service.addPolicy({ name: 'owners', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    writeFileSync(join(folder, 'metrics-token'), `${TOKEN}\n`)
    copyFileSync(rulesFile, join(folder, 'alerts.yaml'))
    const free = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response() })
    const { port } = free
    await free.stop(true)
    url = `http://127.0.0.1:${port}`
    writeFileSync(
      join(folder, 'prometheus.yml'),
      [
        'global: { scrape_interval: 1s, evaluation_interval: 1s }',
        'rule_files: [alerts.yaml]',
        'scrape_configs:',
        '  - job_name: verdigraph',
        '    authorization: { type: Bearer, credentials_file: metrics-token }',
        `    static_configs: [{ targets: ['${new URL(service.url).host}'] }]`,
      ].join('\n'),
    )
    prometheus = Bun.spawn(
      [
        'prometheus',
        `--config.file=${join(folder, 'prometheus.yml')}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--enable-feature=exemplar-storage',
        '--log.level=error',
      ],
      { stdout: 'ignore', stderr: 'inherit' },
    )
    const action = { name: 'drive' }
    const subject = { type: 'Person', id: 'ann' }
    const headers = { 'x-svc-clientkey': service.key, traceparent: `00-${TRACE}-00f067aa0ba902b7-01` }
    // A capture runs in a lane, so that the counters of lanes exist. Rates need two scrapes with the series.
    await service.ask('/capture/v1/nodes', { nodes: [{ external_id: 'ann', type: 'Person' }] })
    for (let seen = 0; seen < 3; ) {
      await service.send('/access/v1/evaluation', {
        headers,
        body: { subject, action, resource: { type: 'Car', id: 'c' } },
      })
      await Bun.sleep(200)
      const answer = await ask('count_over_time(verdigraph_decision_duration_seconds_count[1m])').catch(() => null)
      seen = Number(answer?.data.result[0]?.value?.[1] ?? 0)
    }
  })
  afterAll(async () => {
    prometheus?.kill()
    await prometheus?.exited
    await service?.stop()
    await collector?.stop()
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
  })

  const ask = async (query: string): Promise<QueryAnswer> =>
    (await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)).json() as Promise<QueryAnswer>

  it('reads OpenMetrics', async () => {
    const { data } = (await (await fetch(`${url}/api/v1/targets`)).json()) as {
      data: { activeTargets: { health: string; lastError: string }[] }
    }
    expect(data.activeTargets).toMatchObject([{ health: 'up', lastError: '' }])
  })

  /** Series that exist only after something that this service has not done, such as delivering an event. */
  const mayBeEmpty = /verdigraph_event|verdigraph_audit|verdigraph_backup_(?:newest|proven)/

  it.each(dashboardExpressions('1m'))('evaluates the panel %s: %s', async (_, expr) => {
    const { status, error, data } = await ask(expr)
    expect([status, error]).toEqual(['success', undefined])
    if (!mayBeEmpty.test(expr)) expect(data.result.length).toBeGreaterThan(0)
  })

  it.each(alertRules().map(({ alert, expr }) => [alert, expr] as const))(
    'evaluates the alert %s, which a service without a fault does not fire: %s',
    async (_, expr) => {
      const { status, error, data } = await ask(expr)
      expect([status, error]).toEqual(['success', undefined])
      expect(data.result).toEqual([])
      // The series on which it is based exist; a comparison without a match has no result.
      const [series = ''] = /\b(?:verdigraph|http_server|process)_\w+\{[^}]*\}/.exec(expr) ?? []
      const isWithoutFault = mayBeEmpty.test(expr) || expr.includes('5..')
      if (series !== '' && !isWithoutFault) expect((await ask(series)).data.result.length).toBeGreaterThan(0)
    },
  )

  it('finds the trace of a decision by the exemplar of its bucket', async () => {
    const query = encodeURIComponent('verdigraph_decision_duration_seconds_bucket{http_route="/access/v1/evaluation"}')
    const now = Date.now() / 1000
    const answer = await fetch(`${url}/api/v1/query_exemplars?query=${query}&start=${now - 600}&end=${now + 5}`)
    const { data } = (await answer.json()) as { data: { exemplars: { labels: { trace_id: string } }[] }[] }
    const traces = new Set(data.flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id)))
    expect([...traces]).toEqual([TRACE])
    expect(await collector.waitFor(({ traceId }) => traceId === TRACE)).toMatchObject({ traceId: TRACE })
  })
})
