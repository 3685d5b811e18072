// The rules of `doctor` that compare numbers and settings: each returns what it found, and how to mend it.
import { X509Certificate } from 'node:crypto'
import { isLoopbackHost } from '../../console/access.ts'
import { secondsWarning } from '../../kernel/time/period-schedule.ts'
import type { Settings } from '../../settings.ts'

/** The result of one check. */
export interface Finding {
  readonly check: string
  /** `warning`: works now. `failed`: the service does not start, loses something, or refuses requests. */
  readonly status: 'ok' | 'warning' | 'failed'
  readonly found: string
  /** The mend; null: nothing to do. */
  readonly mend: string | null
}

/** A check that found nothing to mend. */
export function passed(check: string, found: string): Finding {
  return { check, status: 'ok', found, mend: null }
}

/** A check that found something to mend soon. */
export function warned(check: string, found: string, mend: string): Finding {
  return { check, status: 'warning', found, mend }
}

/** A check that found something to mend now. */
export function failed(check: string, found: string, mend: string): Finding {
  return { check, status: 'failed', found, mend }
}

const MIB = 2 ** 20
const GIB = 2 ** 30
const DAY_MS = 86_400_000

/** Keys and certificates that expire earlier are reported. */
const EXPIRY_WARNING_DAYS = 14

/** Space on the file system of the data folder. `files`: free inodes; null: the file system does not count them. */
export function checkDisk(freeBytes: number, storeBytes: number, files: number | null): Finding {
  const found = `${sizeText(freeBytes)} free, the folder has ${sizeText(storeBytes)}`
  const mend = 'make space or enlarge the file system; a full disk refuses writes with status 507'
  if (files === 0) return failed('disk', 'the file system has no free inodes', 'delete files that are not needed')
  if (freeBytes < 64 * MIB) return failed('disk', found, mend)
  return freeBytes < GIB || freeBytes < storeBytes / 10 ? warned('disk', found, mend) : passed('disk', found)
}

/** `newestMs`: when a file of the folder was last changed; null: it has none. */
export function checkClock(nowMs: number, newestMs: number | null): Finding {
  const time = new Date(nowMs).toISOString()
  const mend = 'set the clock, and start a time service (chrony, systemd-timesyncd): tokens and keys expire by it'
  if (nowMs < EARLIEST_MS) return failed('clock', `${time} is before this program was written`, mend)
  // File systems of other machines may be a little ahead.
  if (newestMs !== null && newestMs > nowMs + 60_000) {
    return failed(
      'clock',
      `${time} is ${durationText(newestMs - nowMs)} before the last change of the data folder`,
      mend,
    )
  }
  return passed('clock', time)
}

/** A clock before this time is wrong. */
const EARLIEST_MS = Date.UTC(2026, 0, 1)

/** The limits of a process; null: none, or not known. */
export interface ProcessLimits {
  readonly openFiles: number | null
  readonly fileBytes: number | null
  readonly addressSpaceBytes: number | null
  readonly processes: number | null
  /** Of the cgroup or of the machine. */
  readonly memoryBytes: number | null
}

/** Descriptors that a process needs with few graphs and connections. */
const OPEN_FILES_MIN = 256
const OPEN_FILES_USUAL = 4096
/** Memory of one process without its caches. */
const PROCESS_BYTES = 120 * MIB
/** LMDB maps more than its data. */
const ADDRESS_SPACE_MIN = 64 * GIB

/** Compares the limits with what the settings need. */
export function checkLimits(limits: ProcessLimits, { workers, lanes, hotBytesMax }: Settings): Finding[] {
  const { openFiles, fileBytes, addressSpaceBytes, processes, memoryBytes } = limits
  const findings: Finding[] = []
  const count = workers * (lanes + 1) + 1
  const filesFound = openFiles === null ? 'no limit of open files' : `${openFiles} open files`
  const filesMend = 'raise the limit: `LimitNOFILE=65536` in the unit, or `ulimit -n 65536`'
  if (openFiles !== null && openFiles < OPEN_FILES_MIN) findings.push(failed('open files', filesFound, filesMend))
  else if (openFiles !== null && openFiles < OPEN_FILES_USUAL)
    findings.push(warned('open files', `${filesFound}: each connection and each open graph takes some`, filesMend))
  else findings.push(passed('open files', filesFound))
  if (fileBytes !== null) {
    const mend = 'remove the limit: `LimitFSIZE=infinity`, or `ulimit -f unlimited`'
    findings.push(warned('file size', `files are limited to ${sizeText(fileBytes)}; a larger graph is refused`, mend))
  }
  if (addressSpaceBytes !== null && addressSpaceBytes < ADDRESS_SPACE_MIN) {
    const mend = 'remove the limit: `LimitAS=infinity`, or `ulimit -v unlimited`; limit memory by the cgroup instead'
    findings.push(
      failed('address space', `limited to ${sizeText(addressSpaceBytes)}, and databases are mapped into it`, mend),
    )
  }
  if (processes !== null && processes < count) {
    const mend = 'raise the limit (`LimitNPROC=`, `ulimit -u`), or lower `workers` or `lanes`'
    findings.push(failed('processes', `limited to ${processes}; the settings start up to ${count}`, mend))
  }
  if (memoryBytes !== null) {
    const needed = count * PROCESS_BYTES + workers * hotBytesMax
    const found = `${sizeText(memoryBytes)}; ${count} processes need about ${sizeText(needed)} for one graph`
    const mend = 'give it more memory, or lower `workers`, `lanes` or `hot_bytes_max`'
    findings.push(needed > memoryBytes ? warned('memory', found, mend) : passed('memory', found))
  }
  return findings
}

/** The validity of a certificate. `pem`: may be a chain, of which the first is the certificate of the service. */
export function checkCertificate(pem: string, file: string, nowMs: number): Finding {
  const { validFromDate, validToDate } = new X509Certificate(pem)
  const until = validToDate.toISOString()
  const mend = `replace ${file} and its key; the service reads them again within five seconds`
  if (validFromDate.getTime() > nowMs) {
    return failed('certificate', `not valid before ${validFromDate.toISOString()}`, 'check the clock, or replace it')
  }
  if (validToDate.getTime() <= nowMs) return failed('certificate', `expired on ${until}`, mend)
  const isSoon = validToDate.getTime() - nowMs < EXPIRY_WARNING_DAYS * DAY_MS
  return isSoon ? warned('certificate', `expires on ${until}`, mend) : passed('certificate', `valid until ${until}`)
}

/** A key or credential with a time of expiry. */
export interface ExpiringKey {
  readonly id: string
  readonly name: string
  /** RFC 3339. */
  readonly expireTime: string
}

/** Credentials that expire soon, and those that have expired. `check`: names their kind. */
export function checkExpiry(check: string, keys: readonly ExpiringKey[], nowMs: number): Finding[] {
  if (keys.length === 0) return []
  const untilMs = ({ expireTime }: ExpiringKey): number => Date.parse(expireTime) - nowMs
  const expired = keys.filter((key) => untilMs(key) <= 0)
  const soon = keys.filter((key) => untilMs(key) > 0 && untilMs(key) < EXPIRY_WARNING_DAYS * DAY_MS)
  const described = (key: ExpiringKey): string => `${key.name} (${key.id}) on ${key.expireTime}`
  return [
    ...soon.map((key) =>
      warned(check, `expires: ${described(key)}`, 'create another one, change its users, then delete this one'),
    ),
    ...(expired.length === 0
      ? []
      : [warned(check, `${expired.length} expired: ${expired.slice(0, 3).map(described).join(', ')}`, 'delete them')]),
    ...(soon.length + expired.length === 0 ? [passed(check, `${keys.length}, none expires within 14 days`)] : []),
  ]
}

/** Settings that contradict each other, or that are dangerous together. */
export function checkSettings(settings: Settings): Finding[] {
  const check = 'settings'
  const findings: Finding[] = []
  const { host, publicUrl, tlsCertificate, metricsAccess, metricsToken, auditDecisions, audit, workers } = settings
  const isLocal = isLoopbackHost(host)
  if (!isLocal && tlsCertificate === '' && !publicUrl.startsWith('https://')) {
    const found = `the service listens on ${host} without TLS: keys and tokens are sent in clear text`
    findings.push(warned(check, found, 'set `tls_certificate` and `tls_key`, or `public_url` if a proxy has the TLS'))
  }
  if (tlsCertificate !== '' && publicUrl.startsWith('http://'))
    findings.push(failed(check, '`public_url` is http, and the service answers https only', 'write it with https'))
  if (!isLocal && metricsAccess === 'public')
    findings.push(
      warned(check, `everybody who reaches ${host} may read \`/metrics\``, 'set `metrics_access` `account`'),
    )
  if (metricsAccess === 'account' && metricsToken === '' && settings.metricsTokenFile === '')
    findings.push(
      warned(
        check,
        'Prometheus has no credential that does not expire',
        'set `metrics_token` or `metrics_token_file`: see the how-to Operations',
      ),
    )
  for (const member of ['backup', 'drill'] as const) {
    const seconds = secondsWarning(settings[`${member}Schedule`])
    if (seconds !== null)
      findings.push(warned(check, `\`${member}_schedule\`: ${seconds}`, 'write five fields, unless seconds are meant'))
  }
  if (audit === 'off' && auditDecisions !== 'none')
    findings.push(warned(check, '`audit_decisions` has no effect with `audit` `off`', 'set `audit` `on`'))
  if (workers > 1 && settings.port === 0)
    findings.push(warned(check, 'port 0 picks another port at each start', 'set `port`'))
  if (settings.spanBatchMax > settings.spanQueueMax)
    findings.push(warned(check, '`span_batch_max` is larger than `span_queue_max`', 'lower it'))
  if (settings.decisionLogPercent !== 100 && settings.decisionLog === 'off')
    findings.push(warned(check, '`decision_log_pct` has no effect without `decision_log`', 'set `decision_log`'))
  return findings.length === 0 ? [passed(check, 'no contradiction')] : findings
}

/** A size for people: `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const at = Math.min(units.length - 1, bytes < 1024 ? 0 : Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** at
  return `${at === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[at]}`
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`
}
