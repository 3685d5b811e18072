// Reading settings from their sources.
import { describe, expect, it } from 'vitest'
import { readSettings, resolveSettings } from '../../../../src/cli/settings/read-settings.ts'
import { adviceOf, isAdvanced } from '../../../../src/cli/settings/setting-advice.ts'
import { defaultSettings, environmentNameOf, settingFields, settingSpecs } from '../../../../src/settings.ts'

describe('every setting', () => {
  it('has its own name and a description in whole sentences', () => {
    const names = settingFields.map((field) => settingSpecs[field].name)
    expect(new Set(names).size).toBe(names.length)
    for (const field of settingFields) expect(settingSpecs[field].description, field).toMatch(/^(?:[A-Z`].*|0: .*)\.$/s)
  })

  it('accepts its own default from the environment, unless that is empty', () => {
    const environment = Object.fromEntries(
      settingFields.map((field) => [environmentNameOf(settingSpecs[field]), String(defaultSettings[field])]),
    )
    expect(readSettings({ environment })).toEqual({ ok: true, value: defaultSettings })
  })

  it('has a value of its source: option, environment, file, default, in this order', () => {
    const file = { path: 'f.json', content: { port: 1, host: 'a', workers: 2 } }
    const environment = { VERDIGRAPH_PORT: '3', VERDIGRAPH_HOST: 'b' }
    const resolved = resolveSettings({ flags: { port: '4' }, environment, file })
    const sources = resolved.ok ? resolved.value.filter(({ source }) => source !== null) : []
    expect(sources).toEqual([
      { field: 'workers', value: 2, source: 'f.json: workers' },
      { field: 'host', value: 'b', source: 'VERDIGRAPH_HOST' },
      { field: 'port', value: 4, source: '--port' },
    ])
  })

  it('of a place is rejected with the reason', () => {
    const environment = { VERDIGRAPH_BACKUP_TO: 's3://b/x', VERDIGRAPH_SHIP_TO: 's3:/bucket' }
    expect(resolveSettings({ environment })).toEqual({
      ok: false,
      error: [
        'VERDIGRAPH_BACKUP_TO: `b` is not a name of a bucket: expected `s3://bucket/prefix`',
        'VERDIGRAPH_SHIP_TO: the place of backups is neither a folder nor `s3://bucket/prefix`; write a folder with a colon in its name as `./NAME`',
      ],
    })
  })

  it('is rejected with its source and the expected values', () => {
    const environment = { VERDIGRAPH_PORT: '65536', VERDIGRAPH_LOG_LEVEL: 'debug', VERDIGRAPH_PUBLIC_URL: 'x' }
    expect(resolveSettings({ environment })).toEqual({
      ok: false,
      error: [
        'VERDIGRAPH_PORT: expected an integer from 0 to 65535, found `65536`',
        'VERDIGRAPH_PUBLIC_URL: expected an http or https URL without query, fragment and trailing slash, found `x`',
        'VERDIGRAPH_LOG_LEVEL: expected `info` or `error` or `silent`, found `debug`',
      ],
    })
  })

  it('that is a URL is rejected without showing its password or its query', () => {
    for (const url of ['https://user:hidden@x.org', 'https://x.org/a?key=hidden', 'https://u:hid/den@x.org?a=hidden']) {
      const resolved = resolveSettings({ environment: { VERDIGRAPH_PUBLIC_URL: url } })
      expect(JSON.stringify(resolved)).toContain('found `https://')
      expect(JSON.stringify(resolved)).not.toMatch(/hidden|den@/)
    }
  })
})

describe('the advice when to change a setting', () => {
  it('is the rest of a sentence', () => {
    for (const field of settingFields)
      expect(adviceOf(field) ?? 'If.', field).toMatch(/^(?:In|If|To|For|Together with) .*[^.]\.$|^If\.$/)
  })

  it('is given for at most 69 settings, which the first page lists: only ever fewer', () => {
    expect(settingFields.filter((field) => !isAdvanced(field)).length).toBeLessThanOrEqual(69)
  })
})
