// Work in the background: trust scores and entity matching, with their last runs.
import { call } from '../api.ts'
import { relativeText } from '../parts/amounts.ts'
import { Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'
import { DocumentSection } from './document-section.tsx'

interface ReadProfile {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly node_classification: string
  readonly schedule: string
  readonly last_run_end_time: string
  readonly last_error: string
  readonly run_progress: { readonly phase: string } | null
}

interface PipelineRow {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly entity_matching_status: string
  readonly entity_matching_message: string
  readonly last_run_time: string
  readonly rerun_interval: string
}

/** The jobs of a project. */
export function JobsView({ projectId }: { readonly projectId: string }) {
  const scope = `project_id=${encodeURIComponent(projectId)}&full_fetch=true`
  const jobs = useData(
    (signal) =>
      Promise.all([
        call<{ readonly data: readonly ReadProfile[] }>('GET', `/configs/v1/trust-score-profiles?${scope}`, { signal }),
        call<{ readonly data: readonly PipelineRow[] }>('GET', `/configs/v1/entity-matching-pipelines?${scope}`, {
          signal,
        }),
      ]),
    [projectId],
  )
  if (jobs.error !== null && jobs.value === null) return <Failure error={jobs.error} retry={jobs.reload} />
  if (jobs.value === null) return <Loading />
  const [{ data: profiles }, { data: pipelines }] = jobs.value
  return (
    <div class="stack gap-16">
      <DocumentSection
        id="profiles"
        title="Trust score profiles"
        noun="Profile"
        empty="The project has no trust score profile."
        documents={profiles}
        onReload={jobs.reload}
        columns={[
          { title: 'Nodes', cell: ({ node_classification }) => node_classification },
          { title: 'Schedule', cell: ({ schedule }) => humanText(schedule) },
          { title: 'Last run', cell: ({ last_run_end_time }) => lastRun(last_run_end_time) },
          {
            title: 'State',
            cell: ({ last_error, run_progress, last_run_end_time }) =>
              run_progress !== null ? (
                <span class="badge">running: {run_progress.phase}</span>
              ) : last_error !== '' ? (
                <>
                  <span class="badge is-denied">failed</span>
                  <small>{last_error}</small>
                </>
              ) : last_run_end_time === '' ? (
                <span class="badge">waiting</span>
              ) : (
                <span class="badge is-granted">done</span>
              ),
          },
        ]}
      />
      <DocumentSection
        id="pipelines"
        title="Entity matching pipelines"
        noun="Pipeline"
        empty="The project has no pipeline."
        documents={pipelines}
        columns={[
          { title: 'Repeats', cell: ({ rerun_interval }) => humanText(rerun_interval || 'never') },
          { title: 'Last run', cell: ({ last_run_time }) => lastRun(last_run_time) },
          {
            title: 'State',
            cell: ({ entity_matching_status: status, entity_matching_message: message }) => (
              <>
                <span class={`badge ${status === 'SUCCESS' ? 'is-granted' : status === 'ERROR' ? 'is-denied' : ''}`}>
                  {humanText(status)}
                </span>
                {message !== '' && message != null && <small>{message}</small>}
              </>
            ),
          },
        ]}
      />
    </div>
  )
}

/** `IN_PROGRESS` as `in progress`. */
function humanText(text: string): string {
  return text.toLowerCase().replaceAll('_', ' ')
}

function lastRun(time: string | null | undefined) {
  return time == null || time === '' ? 'never' : <span title={time}>{relativeText(time)}</span>
}
