// `verdigraph settings`: one table of what would hold, and where each value comes from; what is secret is masked.
import { masterKeyVariable } from '../identity/master-key.ts'
import { settingRows } from '../settings.ts'
import type { FoundSetting } from './find-settings.ts'
import type { Environment } from './variables.ts'

const MASK = '********'

interface Line {
  readonly name: string
  readonly value: string | number
  readonly from: string
}

export function settingLines(found: readonly FoundSetting[], environment: Environment, json: boolean): string[] {
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
