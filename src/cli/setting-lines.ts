// `verdigraph settings`: one table of what would hold, and where each value comes from; what is secret is masked.
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import { type FoundSetting, settingRows, variableOf } from '../settings.ts'

const MASK = '********'

interface Line {
  readonly name: string
  readonly value: string | number
  readonly from: string
}

export function settingLines(
  found: readonly FoundSetting[],
  environment: Readonly<Record<string, string | undefined>>,
  json: boolean,
): string[] {
  const rows: Line[] = found.map(({ field, value, place }) => ({
    name: settingRows[field].name,
    value,
    from: place ?? 'default',
  }))
  const hasKey = (environment[masterKeyVariable] ?? '') !== ''
  rows.push({ name: 'master_key', value: hasKey ? MASK : '', from: hasKey ? masterKeyVariable : 'master.key' })
  if (json) return [JSON.stringify(rows)]
  const widest = (of: (row: Line) => string) => Math.max(...rows.map((row) => of(row).length))
  const names = widest(({ name }) => name)
  const values = widest(({ value }) => String(value))
  return rows.map(({ name, value, from }) => `${name.padEnd(names)}  ${String(value).padEnd(values)}  ${from}`)
}

/**
 * Variables that look like settings and are none: mistyped ones, most likely. Not refused, because an orchestrator may
 * hand out such names by itself, as Kubernetes does for a service of this name.
 */
export function strangersIn(environment: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set([masterKeyVariable, nextMasterKeyVariable, 'VERDIGRAPH_SETTINGS'])
  for (const row of Object.values(settingRows)) known.add(variableOf(row))
  return Object.keys(environment)
    .filter((name) => name.startsWith('VERDIGRAPH_') && !known.has(name))
    .sort()
}
