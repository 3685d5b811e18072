// Backups that the service makes by itself: the runs of the schedule and of the restore drill, and the shipping of changes.
import type { ComponentChildren } from 'preact'
import { bytesText, relativeText, spanText } from '../parts/amounts.ts'
import { DataTable } from '../parts/data-table.tsx'

interface ScheduledJobRow {
  readonly job: 'backup' | 'drill'
  readonly schedule: string
  readonly next_time: string | null
  readonly overdue_seconds: number
  readonly failed_runs: number
  readonly last_run: {
    readonly name: string
    readonly start_time: string
    readonly end_time: string | null
    readonly error: string | null
  } | null
}

/** The schedule in the answer with the backups. */
export interface ReadSchedule {
  readonly place: string
  readonly jobs: readonly ScheduledJobRow[]
  readonly kept: number
  readonly newest: {
    readonly name: string
    readonly made_at: string
    readonly bytes: number
    readonly verification: 'sound' | 'stored' | 'damaged' | 'off'
  } | null
  readonly proven: { readonly name: string; readonly made_at: string; readonly proven_at: string } | null
}

/** The shipping in the answer with the backups. */
export interface ReadShipping {
  readonly place: string
  readonly newest_moment: string | null
  readonly generation_time: string | null
  readonly is_late: boolean
  readonly objects: number
  readonly bytes: number
  readonly failures: number
}

const titles = { backup: 'Backup', drill: 'Restore drill' } as const
const verifications = {
  sound: 'read back and verified',
  stored: 'stored as it was written; without the identity it cannot be unpacked here',
  damaged: 'damaged',
  off: 'not verified',
} as const

/** Null: the settings have no schedule, or changes are not shipped. */
export function ScheduleView(props: {
  readonly schedule: ReadSchedule | null
  readonly shipping: ReadShipping | null
}) {
  const { schedule, shipping } = props
  return (
    <>
      {schedule !== null && <ScheduleCard schedule={schedule} />}
      {shipping !== null && <ShippingCard shipping={shipping} />}
    </>
  )
}

function ScheduleCard({ schedule: { place, jobs, kept, newest, proven } }: { readonly schedule: ReadSchedule }) {
  return (
    <section class="card" aria-labelledby="schedule">
      <h2 id="schedule">Schedule</h2>
      <DataTable
        label="Scheduled jobs"
        rows={jobs}
        keyOf={({ job }) => job}
        columns={[
          { title: 'Job', cell: ({ job }) => titles[job] },
          { title: 'Schedule (UTC)', cell: ({ schedule }) => <code>{schedule}</code> },
          { title: 'Next run', cell: ({ next_time }) => <Moment time={next_time} /> },
          { title: 'Last run', cell: ({ last_run }) => <Moment time={last_run?.start_time ?? null} /> },
          { title: 'State', cell: (job) => <JobState job={job} /> },
        ]}
      />
      <dl class="facts">
        <Fact title="Place">{place}</Fact>
        <Fact title="Kept">
          {kept} {kept === 1 ? 'backup' : 'backups'}
        </Fact>
        <Fact title="Newest">
          {newest === null ? (
            'none was made yet'
          ) : (
            <>
              {newest.name}, <Moment time={newest.made_at} />, {bytesText(newest.bytes)},{' '}
              <span class={newest.verification === 'damaged' ? 'is-bad-text' : undefined}>
                {verifications[newest.verification]}
              </span>
            </>
          )}
        </Fact>
        <Fact title="Proven">
          {proven === null ? (
            'no scheduled drill has restored a backup yet'
          ) : (
            <>
              that of <Moment time={proven.made_at} />, by a drill <Moment time={proven.proven_at} />
            </>
          )}
        </Fact>
      </dl>
    </section>
  )
}

function JobState({ job: { last_run, failed_runs, overdue_seconds } }: { readonly job: ScheduledJobRow }) {
  const isRunning = last_run !== null && last_run.end_time === null
  return (
    <>
      {failed_runs > 0 ? (
        <span class="badge is-denied">{failed_runs === 1 ? 'failed' : `failed ${failed_runs} times`}</span>
      ) : isRunning ? (
        <span class="badge">running</span>
      ) : last_run === null ? (
        <span class="badge">waiting</span>
      ) : (
        <span class="badge is-granted">done</span>
      )}
      {last_run?.error != null && <small>{last_run.error}</small>}
      {overdue_seconds > 0 && <small>due for {spanText(overdue_seconds)}</small>}
    </>
  )
}

function ShippingCard({ shipping }: { readonly shipping: ReadShipping }) {
  const { place, newest_moment, generation_time, is_late, objects, bytes, failures } = shipping
  return (
    <section class="card" aria-labelledby="shipping">
      <h2 id="shipping">Shipped changes</h2>
      <dl class="facts">
        <Fact title="State">
          {newest_moment === null ? (
            <span class="badge is-faulted">nothing can be restored yet</span>
          ) : is_late ? (
            <span class="badge is-denied">late</span>
          ) : (
            <span class="badge is-granted">shipping</span>
          )}
        </Fact>
        <Fact title="Newest moment">
          <Moment time={newest_moment} />
        </Fact>
        <Fact title="All data">
          <Moment time={generation_time} />
        </Fact>
        <Fact title="Place">{place}</Fact>
        <Fact title="Shipped">
          {objects} {objects === 1 ? 'object' : 'objects'}, {bytesText(bytes)}
        </Fact>
        <Fact title="Failures">
          {failures === 0 ? 'none' : `${failures}, with their reasons in the log of the service`}
        </Fact>
      </dl>
    </section>
  )
}

function Moment({ time }: { readonly time: string | null }) {
  return time === null ? (
    <>never</>
  ) : (
    <time dateTime={time} title={time}>
      {relativeText(time)}
    </time>
  )
}

function Fact({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  )
}
