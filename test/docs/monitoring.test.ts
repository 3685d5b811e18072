// The alert rules and the dashboard name metrics of the reference, and each alert has a page that says what to do.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { alertRules, dashboardExpressions, ruleTestsFile } from '../support/monitoring-files.ts'
import { repositoryRoot } from './pages.ts'

const metrics = new Map(
  [
    ...readFileSync(join(repositoryRoot, 'docs', 'reference', 'metrics.md'), 'utf8').matchAll(
      /^\| `(\w+)` \| (\w+) \|/gm,
    ),
  ].map(([, name, type]) => [name as string, type as string]),
)

/** The names of metrics in an expression, without the suffixes of histograms. `up` is made by Prometheus. */
function metricsIn(expr: string): string[] {
  const names = expr.match(/\b(?:verdigraph|http_server|process)_\w+/g) ?? []
  return names.map((name) => {
    const base = name.replace(/_(?:bucket|sum|count)$/, '')
    return metrics.get(base) === 'histogram' ? base : name
  })
}

const expressions = [...alertRules().map(({ alert, expr }) => [alert, expr] as const), ...dashboardExpressions()]

it.each(expressions)('%s reads metrics of the reference: %s', (name, expr) => {
  const read = metricsIn(expr)
  if (name !== 'VerdigraphDown') expect(read.length).toBeGreaterThan(0)
  expect(read.filter((one) => !metrics.has(one))).toEqual([])
})

it('a rate is taken of counters only, and a gauge is not', () => {
  for (const [name, expr] of expressions) {
    for (const [, metric = ''] of expr.matchAll(/\b(?:rate|increase)\((\w+)/g)) {
      const type = metrics.get(metric) ?? metrics.get(metric.replace(/_(?:bucket|sum|count)$/, ''))
      expect([name, metric, type === 'counter' || type === 'histogram']).toEqual([name, metric, true])
    }
  }
})

it('each alert has a page of its own, which names it and is linked from the index, and each page has its alert', () => {
  const index = readFileSync(join(repositoryRoot, 'docs', 'index.md'), 'utf8')
  const pages = alertRules().map(({ alert, annotations }) => {
    const name = /\/runbooks\/([\w-]+)$/.exec(annotations.runbook_url)?.[1] ?? ''
    const path = join(repositoryRoot, 'docs', 'runbooks', `${name}.md`)
    expect([alert, existsSync(path)]).toEqual([alert, true])
    const text = readFileSync(path, 'utf8')
    expect(text).toContain(`\nAlert: \`${alert}\``)
    expect(text).toMatch(/\n## Look at\n\n1\. /)
    expect(text).toMatch(/\n## Do\n\n- /)
    expect(index).toContain(`(runbooks/${name}.md): \`${alert}\``)
    return `${name}.md`
  })
  expect([...pages].sort()).toEqual(readdirSync(join(repositoryRoot, 'docs', 'runbooks')).sort())
})

it('the settings, paths and commands that a page names exist', async () => {
  const reference = ['settings', 'advanced-settings', 'cli', 'metrics', 'http-api'].map((name) =>
    readFileSync(join(repositoryRoot, 'docs', 'reference', `${name}.md`), 'utf8'),
  )
  const known = [...reference, readFileSync(join(repositoryRoot, 'data', 'openapi.json'), 'utf8')].join('\n')
  for (const file of readdirSync(join(repositoryRoot, 'docs', 'runbooks'))) {
    const text = readFileSync(join(repositoryRoot, 'docs', 'runbooks', file), 'utf8')
    for (const [, path = ''] of text.matchAll(/`(?:GET|POST) (\/[^`]+)`/g)) expect(known).toContain(path)
    for (const [, command = ''] of text.matchAll(/`verdigraph ([a-z][a-z -]*?)(?: -[^`]*)?`/g))
      expect([file, known.includes(`verdigraph ${command}`)]).toEqual([file, true])
    for (const [, setting = ''] of text.matchAll(/`([a-z]+_[a-z_]+)`/g))
      expect([file, setting, known.includes(setting)]).toEqual([file, setting, true])
  }
})

it('each alert has a test of its rule', () => {
  const { tests } = parse(readFileSync(ruleTestsFile, 'utf8')) as {
    tests: { name: string; alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
  }
  const fired = tests.flatMap(({ alert_rule_test }) =>
    alert_rule_test.filter(({ exp_alerts }) => exp_alerts.length > 0).map(({ alertname }) => alertname),
  )
  const names = alertRules().map(({ alert }) => alert)
  expect(fired).toEqual(names)
  expect(tests.find(({ name }) => name === 'healthy')?.alert_rule_test.map(({ alertname }) => alertname)).toEqual(names)
})
