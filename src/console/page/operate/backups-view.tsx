// Backups: make, download, verify, delete, and the state of those that the service makes by itself.
import { useEffect, useState } from 'preact/hooks'
import { call } from '../api.ts'
import { bytesText, relativeText } from '../parts/amounts.ts'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { project, projectTitle } from '../project.ts'
import { useStore } from '../store.ts'
import { useData } from '../use-data.ts'
import { type ReadSchedule, type ReadShipping, ScheduleView } from './backup-schedule-view.tsx'

interface ReadBackup {
  readonly name: string
  readonly bytes: number
  readonly state: 'running' | 'complete' | 'failed'
  readonly start_time: string
  readonly projects: readonly string[] | null
  readonly progress: number
  readonly error: string | null
  readonly verification: {
    readonly state: 'running' | 'sound' | 'damaged' | 'failed'
    readonly end_time: string | null
    readonly error: string | null
  } | null
}

interface ReadBackups {
  readonly is_enabled: boolean
  readonly backups: readonly ReadBackup[]
  readonly schedule: ReadSchedule | null
  readonly shipping: ReadShipping | null
}

const PATH = '/operations/v1/backups'
const POLL_MS = 700
/** Of schedule and shipping, while no backup is made. */
const QUIET_POLL_MS = 5000

/** The backups of the service. `projectId`: may be empty. */
export function BackupsView({ projectId }: { readonly projectId: string }) {
  const list = useData((signal) => call<ReadBackups>('GET', PATH, { signal }), [])
  const [error, setError] = useState<Error | null>(null)
  const backups = list.value?.backups ?? []
  const working = backups.find(isWorking)
  const { schedule = null, shipping = null } = list.value ?? {}
  const isScheduled = schedule !== null || shipping !== null
  useEffect(() => {
    if ((working === undefined && !isScheduled) || list.isLoading) return
    const timer = setTimeout(list.reload, working === undefined ? QUIET_POLL_MS : POLL_MS)
    return () => clearTimeout(timer)
  }, [list.value, list.isLoading])
  const send: SendBackupRequest = (method, path, body) => {
    setError(null)
    call(method, path, body === undefined ? {} : { body }).then(list.reload, setError)
  }
  if (list.error !== null && list.value === null) return <Failure error={list.error} retry={list.reload} />
  if (list.value === null) return <Loading />
  return (
    <div class="stack gap-16">
      {isScheduled && <ScheduleView schedule={schedule} shipping={shipping} />}
      {list.value.is_enabled ? (
        <RequestedBackups
          backups={backups}
          isBusy={working !== undefined}
          projectId={projectId}
          error={error}
          send={send}
        />
      ) : (
        <Empty icon="download" title="Backups on request are off">
          <p>
            Set <code>VERDIGRAPH_BACKUP_FOLDER</code> to a folder on another disk, and start the service again. The
            command <code>verdigraph backup</code> works without it.
          </p>
        </Empty>
      )}
    </div>
  )
}

type SendBackupRequest = (method: string, path: string, body?: object) => void

function RequestedBackups(props: {
  readonly backups: readonly ReadBackup[]
  readonly isBusy: boolean
  /** May be empty. */
  readonly projectId: string
  readonly error: Error | null
  readonly send: SendBackupRequest
}) {
  const { backups, isBusy, projectId, error, send } = props
  const selected = useStore(project)
  return (
    <section class="card" aria-labelledby="backups">
      <div class="card-head">
        <div>
          <h2 id="backups">Backups</h2>
          <p class="soft">A consistent copy, made while the service answers. It does not contain the master key.</p>
        </div>
        <div class="row actions">
          {projectId !== '' && (
            <button type="button" disabled={isBusy} onClick={() => send('POST', PATH, { project_id: projectId })}>
              Only {selected === null ? 'this project' : projectTitle(selected)}
            </button>
          )}
          <button type="button" class="primary" disabled={isBusy} onClick={() => send('POST', PATH, {})}>
            <Icon name="plus" />
            Make a backup
          </button>
        </div>
      </div>
      {error !== null && <Failure error={error} />}
      {backups.length === 0 ? (
        <Empty icon="download" title="There is no backup yet" />
      ) : (
        <ul class="backups" aria-live="polite">
          {backups.map((backup) => (
            <BackupItem key={backup.name} backup={backup} isBusy={isBusy} send={send} />
          ))}
        </ul>
      )}
    </section>
  )
}

function isWorking({ state, verification }: ReadBackup): boolean {
  return state === 'running' || verification?.state === 'running'
}

function BackupItem(props: {
  readonly backup: ReadBackup
  readonly isBusy: boolean
  readonly send: (method: string, path: string) => void
}) {
  const { backup, isBusy, send } = props
  const [isAsked, setAsked] = useState(false)
  const { name, bytes, state, start_time, projects, progress, error, verification } = backup
  const path = `${PATH}/${encodeURIComponent(name)}`
  return (
    <li>
      <div>
        <b>{name}</b> <State backup={backup} />
        <p class="soft">
          {relativeText(start_time)}
          {bytes > 0 && `, ${bytesText(bytes)}`}
          {projects !== null && `, ${projects.length} ${projects.length === 1 ? 'project' : 'projects'}`}
        </p>
        {isWorking(backup) && (
          <progress
            max={1}
            value={progress}
            aria-label={state === 'running' ? `Making ${name}` : `Verifying ${name}`}
          />
        )}
        {(error ?? verification?.error) != null && <p class="bad-text">{error ?? verification?.error}</p>}
      </div>
      <div class="row actions">
        {state === 'complete' && (
          <>
            <a class="button" href={path} download={`${name}.tar`} aria-label={`Download ${name}`}>
              <Icon name="download" />
              Download
            </a>
            <button
              type="button"
              disabled={isBusy}
              aria-label={`Verify ${name}`}
              onClick={() => send('POST', `${path}/verify`)}
            >
              Verify
            </button>
          </>
        )}
        {!isWorking(backup) &&
          (isAsked ? (
            <>
              <button
                type="button"
                class="is-danger"
                aria-label={`Delete ${name} for good`}
                onClick={() => send('DELETE', path)}
              >
                Delete for good
              </button>
              <button type="button" class="quiet" onClick={() => setAsked(false)}>
                Keep
              </button>
            </>
          ) : (
            <button type="button" class="quiet" aria-label={`Delete ${name}`} onClick={() => setAsked(true)}>
              Delete
            </button>
          ))}
      </div>
    </li>
  )
}

function State({ backup: { state, verification } }: { readonly backup: ReadBackup }) {
  if (state === 'running') return <span class="badge">in progress</span>
  if (state === 'failed') return <span class="badge is-denied">failed</span>
  if (verification === null) return <span class="badge">not verified</span>
  switch (verification.state) {
    case 'running':
      return <span class="badge">verifying</span>
    case 'sound':
      return <span class="badge is-granted">verified</span>
    case 'damaged':
      return <span class="badge is-denied">damaged</span>
    case 'failed':
      return <span class="badge is-faulted">not verified</span>
  }
}
