import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resolveSettings } from '../../../src/cli/read-settings.ts'
import { defaultSettings, type Settings, settingSpecs } from '../../../src/settings.ts'

const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'settings.md'), 'utf8')

describe('the table of settings in docs/reference/settings.md', () => {
  it.each(Object.keys(settingSpecs) as (keyof Settings)[])('tells name and default of %s', (field) => {
    const { name, defaultText } = settingSpecs[field]
    const cells = new RegExp(
      `^\\| *\`VERDIGRAPH_${name.toUpperCase()}\` *\\| *\`${name}\` *\\|[^|]*\\|([^|]*)\\|`,
      'm',
    ).exec(page)
    const value = String(defaultSettings[field])
    expect(cells?.[1]?.trim()).toBe(defaultText ?? (value === '' ? '' : `\`${value}\``))
  })
})

describe('every setting', () => {
  it('takes its own default from the environment, where that is not empty', () => {
    const environment = Object.fromEntries(
      Object.entries(settingSpecs).map(([field, { name }]) => [
        `VERDIGRAPH_${name.toUpperCase()}`,
        String(defaultSettings[field as keyof Settings]),
      ]),
    )
    const found = resolveSettings({ environment })
    expect(found.ok && found.value.map(({ field, value }) => [field, value])).toEqual(
      found.ok && found.value.map(({ field }) => [field, defaultSettings[field]]),
    )
    expect(found.ok).toBe(true)
  })
})
