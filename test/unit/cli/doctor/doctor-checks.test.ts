// The rules of `doctor` that compare numbers and settings.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  checkCertificate,
  checkClock,
  checkDisk,
  checkExpiry,
  checkLimits,
  checkSettings,
  type ProcessLimits,
  sizeText,
} from '../../../../src/cli/doctor/doctor-checks.ts'
import { defaultSettings } from '../../../../src/settings.ts'

const MIB = 2 ** 20
const GIB = 2 ** 30
const now = Date.UTC(2026, 10, 1)
const inDays = (days: number) => new Date(now + days * 86_400_000).toISOString()

describe('the disk', () => {
  it.each([
    ['ok', 10 * GIB, GIB, 1000],
    ['ok', 10 * GIB, GIB, null],
    ['warning', GIB - 1, 0, 1000],
    ['warning', 10 * GIB, 101 * GIB, 1000],
    ['failed', 64 * MIB - 1, 0, 1000],
    ['failed', 10 * GIB, GIB, 0],
  ] as const)('is %s with %i bytes free, %i in the folder and %s inodes', (status, free, store, inodes) => {
    expect(checkDisk(free, store, inodes).status).toBe(status)
  })
})

describe('the clock', () => {
  it('fails before this program was written, and behind the last change of the folder', () => {
    expect(checkClock(now, null).status).toBe('ok')
    expect(checkClock(now, now + 59_000).status).toBe('ok')
    expect(checkClock(0, null)).toMatchObject({ status: 'failed', found: expect.stringContaining('1970-01-01') })
    expect(checkClock(now, now + 3 * 3_600_000).found).toContain('is 3 h before the last change')
  })
})

describe('limits', () => {
  const none: ProcessLimits = {
    openFiles: null,
    fileBytes: null,
    addressSpaceBytes: null,
    processes: null,
    memoryBytes: null,
  }
  const settings = { ...defaultSettings, workers: 2, lanes: 2, hotBytesMax: 96 * MIB }
  const statusOf = (limits: Partial<ProcessLimits>) =>
    Object.fromEntries(checkLimits({ ...none, ...limits }, settings).map(({ check, status }) => [check, status]))

  it('are compared with what the settings need', () => {
    expect(statusOf({})).toEqual({ 'open files': 'ok' })
    expect(statusOf({ openFiles: 1024 })).toEqual({ 'open files': 'warning' })
    expect(statusOf({ openFiles: 255 })).toEqual({ 'open files': 'failed' })
    expect(statusOf({ fileBytes: GIB })).toMatchObject({ 'file size': 'warning' })
    expect(statusOf({ addressSpaceBytes: GIB })).toMatchObject({ 'address space': 'failed' })
    expect(statusOf({ processes: 7 })).toEqual({ 'open files': 'ok' })
    expect(statusOf({ processes: 6 })).toMatchObject({ processes: 'failed' })
    expect(statusOf({ memoryBytes: 2 * GIB })).toMatchObject({ memory: 'ok' })
    expect(statusOf({ memoryBytes: 512 * MIB })).toMatchObject({ memory: 'warning' })
  })
})

describe('keys', () => {
  it('are named if they expire within 14 days, and counted if they have expired', () => {
    const key = (name: string, days: number) => ({ id: `id-${name}`, name, expireTime: inDays(days) })
    expect(checkExpiry('keys', [], now)).toEqual([])
    expect(checkExpiry('keys', [key('a', 15)], now)).toMatchObject([{ status: 'ok' }])
    expect(checkExpiry('keys', [key('a', 15), key('b', 13), key('c', -1), key('d', -2)], now)).toMatchObject([
      { status: 'warning', found: `expires: b (id-b) on ${inDays(13)}` },
      { status: 'warning', found: expect.stringMatching(/^2 expired: c \(id-c\) on .*, d \(id-d\)/) },
    ])
  })
})

describe('settings', () => {
  const found = (settings: object) =>
    checkSettings({ ...defaultSettings, metricsToken: 'a-token-of-24-characters', ...settings }).map(
      ({ status, found: text }) => `${status}: ${text}`,
    )

  it.each([
    [{}, /^ok: no contradiction$/],
    [{ host: '0.0.0.0' }, /^warning: .* without TLS/],
    [{ host: '0.0.0.0', publicUrl: 'https://pdp.example.org' }, /^ok/],
    [{ tlsCertificate: 'c', tlsKey: 'k', publicUrl: 'http://pdp.example.org' }, /^failed: `public_url` is http/],
    [{ metricsToken: '' }, /^warning: Prometheus has no credential/],
    [{ audit: 'off', auditDecisions: 'all' }, /^warning: `audit_decisions` has no effect/],
    [{ spanQueueMax: 5, spanBatchMax: 6 }, /^warning: `span_batch_max`/],
    [{ decisionLogPercent: 5 }, /^warning: `decision_log_pct` has no effect/],
  ])('%j: %s', (settings, expected) => {
    expect(found(settings)).toEqual([expect.stringMatching(expected)])
  })
})

it('sizes are written for people', () => {
  expect([0, 1023, 1024, 1.5 * GIB, 2000 * GIB].map(sizeText)).toEqual(['0 B', '1023 B', '1 KiB', '1.5 GiB', '2 TiB'])
})

it('a certificate is checked by its times', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-certificate-'))
  try {
    const [key, file] = [join(folder, 'key.pem'), join(folder, 'c.pem')]
    const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-subj', '/CN=test']
    execFileSync('openssl', ['req', '-x509', ...kind, '-keyout', key, '-out', file, '-days', '30'], { stdio: 'ignore' })
    const pem = readFileSync(file, 'utf8')
    const checkedIn = (days: number) => checkCertificate(pem, file, Date.now() + days * 86_400_000).status
    expect([0, 15, 17, 29, 31].map(checkedIn)).toEqual(['ok', 'ok', 'warning', 'warning', 'failed'])
    expect(checkCertificate(pem, file, Date.now() - 86_400_000).found).toMatch(/^not valid before/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
