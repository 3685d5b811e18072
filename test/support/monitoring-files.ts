// The alert rules and the dashboard of `deploy/`, and the expressions in them.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { repositoryRoot } from '../docs/pages.ts'

export interface AlertRule {
  readonly alert: string
  readonly expr: string
  readonly for: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: { readonly summary: string; readonly runbook_url: string }
}

export const rulesFile = join(repositoryRoot, 'deploy', 'prometheus', 'alerts.yaml')
export const ruleTestsFile = join(repositoryRoot, 'deploy', 'prometheus', 'alerts.test.yaml')
export const dashboardFile = join(repositoryRoot, 'deploy', 'grafana', 'verdigraph.json')

export function alertRules(): readonly AlertRule[] {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: AlertRule[] }[] }
  return groups.flatMap(({ rules }) => rules)
}

interface DashboardPanel {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
}

/** The expressions of the dashboard by panel, with the values that Grafana inserts. */
export function dashboardExpressions(interval = '1m'): readonly (readonly [panel: string, expr: string])[] {
  const { panels } = JSON.parse(readFileSync(dashboardFile, 'utf8')) as { panels: readonly DashboardPanel[] }
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(
      ({ expr }) => [title, expr.replaceAll('$__rate_interval', interval).replaceAll('$job', 'verdigraph')] as const,
    ),
  )
}
