// Starts scheduled backups and drills: the one serving process that is elected compares their patterns with the clock. A run that was due
// while no service ran is made once; a failed run is repeated with growing delays.

import { OperationalError } from '../kernel/errors.ts'
import { fileProblemOf } from '../kernel/folder/file-issue.ts'
import { type Backoff, backoffMs } from '../kernel/time/backoff.ts'
import type { Clock } from '../kernel/time/clock.ts'
import { cronProblem, cronTimes, secondsWarning } from '../kernel/time/period-schedule.ts'
import type { Log } from '../ops/log.ts'
import type { BackupTotals } from '../ops/service-metrics.ts'
import type { Settings } from '../settings.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import type { ScheduledJob } from './backup-job.ts'
import {
  type BackupRecord,
  readBackupRecord,
  reportedBackupRecord,
  type ScheduledJobState,
  updateBackupRecord,
} from './backup-record.ts'

/** How often patterns are compared with the clock. A look reads one small file. */
const POLL_MS = 250
/** The pause after the record of backups could not be read or written, for example on a full disk. */
const RECORD_RETRY_MS = 60_000
/** Delay before a failed run is repeated. It doubles each time. */
const retryDelay: Backoff = { minMs: 60_000, maxMs: 3_600_000 }

/** Collaborators of the schedule. */
interface BackupScheduleDeps {
  readonly settings: Settings
  readonly clock: Clock
  readonly log: Log
  /** Such as `verdigraph 1.0.0`. */
  readonly madeBy: string
  readonly organizationId: string
  /** Runs a job in a process of its own. Rejects if it fails. */
  run(job: ScheduledJob): Promise<ScheduledRun>
}

/** How a run ended that did not fail. `busy`: it did not begin, because another job works; `stopped`: with the service, and it is still due. */
export type ScheduledRun = 'done' | 'busy' | 'stopped'

interface Schedule {
  readonly kind: ScheduledJob['kind']
  readonly member: 'backup' | 'drill'
  readonly pattern: string
}

/** The patterns of the settings. Throws OperationalError for one that is wrong. */
export function schedulesOf({
  backupSchedule,
  drillSchedule,
}: Pick<Settings, 'backupSchedule' | 'drillSchedule'>): readonly Schedule[] {
  const all: readonly Schedule[] = [
    { kind: 'scheduled-backup', member: 'backup', pattern: backupSchedule },
    { kind: 'drill', member: 'drill', pattern: drillSchedule },
  ]
  const used = all.filter(({ pattern }) => pattern !== '')
  for (const { member, pattern } of used) {
    const problem = cronProblem(pattern)
    if (problem !== null) throw new OperationalError(`the setting ${member}_schedule is not a cron pattern: ${problem}`)
  }
  return used
}

/** When a failed job is repeated, milliseconds since the epoch; 0: it has not failed. */
export function retryTimeMs({ failures, last_run }: ScheduledJobState): number {
  if (failures === 0 || last_run === null) return 0
  const delay = backoffMs(retryDelay, failures)
  return Date.parse(last_run.end_time ?? last_run.start_time) + delay
}

/** A scheduled job as an operator sees it. */
interface ScheduledJobStatus {
  readonly job: 'backup' | 'drill'
  /** The cron pattern. */
  readonly schedule: string
  /** RFC 3339; null: never. */
  readonly nextTime: string | null
  /** Time since a run is due and not done; 0: none is due. */
  readonly overdueS: number
  readonly state: ScheduledJobState | null
}

/** The scheduled jobs at a time. Empty without a schedule. */
export function scheduledJobs(settings: Settings, nowMs: number): readonly ScheduledJobStatus[] {
  const { record, problem } = reportedBackupRecord(settings.dataDir)
  const time = new Date(nowMs).toISOString()
  const unread = {
    due_time: time,
    failures: 1,
    last_run: { name: '', start_time: time, end_time: time, error: problem },
  }
  return schedulesOf(settings).map(({ member, pattern }) => {
    const { lastMs, nextMs } = cronTimes(pattern, nowMs)
    const state = problem === null ? record[member] : unread
    // The first time after the last run: later ones may have been missed as well.
    const missedMs = state === null ? null : cronTimes(pattern, Date.parse(state.due_time)).nextMs
    const isOverdue =
      !awaitsBackup(member, settings, record) &&
      state !== null &&
      lastMs !== null &&
      lastMs > Date.parse(state.due_time) &&
      missedMs !== null
    return {
      job: member,
      schedule: pattern,
      nextTime: nextMs === null ? null : new Date(nextMs).toISOString(),
      overdueS: isOverdue ? Math.max(0, Math.round((nowMs - missedMs) / 1000)) : 0,
      state,
    }
  })
}

/** A drill has nothing to prove before the first scheduled backup. It is due as soon as that exists. */
function awaitsBackup(member: Schedule['member'], { backupSchedule }: Settings, { newest }: BackupRecord): boolean {
  return member === 'drill' && backupSchedule !== '' && newest === null
}

/** The figures of the metrics. */
export function backupTotals(settings: Settings, nowMs: number): BackupTotals {
  const { newest, proven } = reportedBackupRecord(settings.dataDir).record
  const seconds = (time: string | undefined): number | null => (time === undefined ? null : Date.parse(time) / 1000)
  return {
    jobs: scheduledJobs(settings, nowMs).map(({ job, overdueS, state }) => ({
      job,
      overdueS,
      failures: state?.failures ?? 0,
    })),
    newestS: seconds(newest?.made_at),
    newestBytes: newest?.bytes ?? null,
    provenS: seconds(proven?.made_at),
  }
}

/** The elected starter of scheduled jobs. */
export class BackupSchedule {
  private readonly deps: BackupScheduleDeps
  private readonly schedules: readonly Schedule[]
  private elections: LeaderElection | null = null
  private timer: ReturnType<typeof setInterval> | null = null
  private running: Promise<void> | null = null
  private pollNotBeforeMs = 0

  /** Throws OperationalError for a pattern that is wrong. */
  constructor(deps: BackupScheduleDeps) {
    this.deps = deps
    this.schedules = schedulesOf(deps.settings)
  }

  /** Becomes a candidate, if there is a schedule. */
  start(): void {
    if (this.schedules.length === 0) return
    for (const { member, pattern } of this.schedules) {
      const seconds = secondsWarning(pattern)
      if (seconds !== null)
        this.deps.log({ level: 'info', message: `warning: the setting ${member}_schedule: ${seconds}` })
    }
    this.elections = new LeaderElection(this.deps.settings.dataDir)
    this.elections.campaign('backup-schedule', () => {
      this.timer = setInterval(() => this.poll(), POLL_MS)
      this.timer.unref()
    })
  }

  /** Starts no more jobs. A running one is stopped by its owner. */
  close(): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.elections?.close()
  }

  private poll(): void {
    if (this.running !== null || performance.now() < this.pollNotBeforeMs) return
    try {
      this.startDue()
    } catch (failure) {
      this.reportRecord(failure)
    }
  }

  /** Without the record, it is not known which jobs are due. The process that serves goes on. */
  private reportRecord(failure: unknown): void {
    this.pollNotBeforeMs = performance.now() + RECORD_RETRY_MS
    const reason = fileProblemOf(failure) ?? (failure instanceof Error ? failure.message : String(failure))
    this.deps.log({ level: 'error', message: 'the record of backups cannot be used: no scheduled job starts', reason })
  }

  private startDue(): void {
    const due = this.schedules.flatMap((schedule) => {
      const found = this.due(schedule)
      return found === null ? [] : [{ schedule, ...found }]
    })
    // The one that waits longest, so that frequent backups do not keep drills from running.
    const [first] = due.sort((a, b) => a.sinceMs - b.sinceMs)
    if (first === undefined) return
    this.running = this.run(first.schedule, first.dueMs)
      .catch((failure: unknown) => this.reportRecord(failure))
      .finally(() => {
        this.running = null
      })
  }

  /** When the run that is due now was due, and the last one before it; null: none is. */
  private due({ member, pattern }: Schedule): { dueMs: number; sinceMs: number } | null {
    const { clock, settings } = this.deps
    const nowMs = clock.now()
    const record = readBackupRecord(settings.dataDir)
    const state = record[member]
    const lastMs = cronTimes(pattern, nowMs).lastMs ?? 0
    if (state === null) {
      // The schedule is new: nothing was missed.
      const due_time = new Date(lastMs).toISOString()
      updateBackupRecord(settings.dataDir, { [member]: { due_time, failures: 0, last_run: null } })
      return null
    }
    if (awaitsBackup(member, settings, record)) return null
    const sinceMs = Date.parse(state.due_time)
    return lastMs > sinceMs && nowMs >= retryTimeMs(state) ? { dueMs: lastMs, sinceMs } : null
  }

  private async run({ kind, member }: Schedule, dueMs: number): Promise<void> {
    const { log, run, settings, madeBy, organizationId, clock } = this.deps
    const started = clock.now()
    const failed = (reason: string): void => log({ level: 'error', message: `a scheduled ${member} failed`, reason })
    try {
      const ended = await run({ kind, dueMs, madeBy, organizationId })
      if (ended === 'busy') return
      if (ended === 'stopped') {
        const reason = this.storedFailure(member, started)
        if (reason !== null) failed(reason)
        else {
          const message = `a scheduled ${member} was interrupted by a stop, and is made after the next start`
          log({ level: 'info', message })
        }
        return
      }
      const { newest, proven } = readBackupRecord(settings.dataDir)
      const name = (kind === 'drill' ? proven : newest)?.name ?? ''
      log({ level: 'info', message: `a scheduled ${member} succeeded`, name })
    } catch (failure) {
      const reason = failure instanceof Error ? failure.message : String(failure)
      const stored = this.storedFailure(member, started)
      const state = readBackupRecord(settings.dataDir)[member]
      // The process was killed before it could store the failure.
      if (stored === null && state !== null) this.storeFailure(member, state, started, reason)
      failed(stored ?? reason)
    }
  }

  /** The failure that the process of a run has stored; null: none since `startMs`. */
  private storedFailure(member: Schedule['member'], startMs: number): string | null {
    const last = readBackupRecord(this.deps.settings.dataDir)[member]?.last_run ?? null
    return last === null || last.end_time === null || Date.parse(last.end_time) < startMs ? null : last.error
  }

  private storeFailure(member: Schedule['member'], state: ScheduledJobState, startMs: number, error: string): void {
    const { settings, clock } = this.deps
    const time = (ms: number): string => new Date(ms).toISOString()
    const { last_run: before } = state
    const isOwn = before !== null && before.end_time === null
    const last_run = {
      name: isOwn ? before.name : '',
      start_time: isOwn ? before.start_time : time(startMs),
      end_time: time(clock.now()),
      error,
    }
    updateBackupRecord(settings.dataDir, { [member]: { ...state, failures: state.failures + 1, last_run } })
  }
}
