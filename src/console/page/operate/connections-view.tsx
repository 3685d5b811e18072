// External data resolvers and token introspections, with how their calls end.
import { ApiError, call } from '../api.ts'
import { relativeText } from '../parts/amounts.ts'
import { Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'
import { DocumentSection } from './document-section.tsx'
import type { ReadConnection, ReadStatus } from './service-status.ts'

interface ReadResolver {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly method: string
  readonly url: string
}

interface ReadIntrospect {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly jwt_matcher?: { readonly issuer: string; readonly audience: string }
  readonly offline_validation?: object
  readonly online_validation?: object
}

interface ReadConnections {
  readonly resolvers: readonly ReadResolver[]
  readonly introspects: readonly ReadIntrospect[]
  /** Null: figures are off. */
  readonly health: readonly ReadConnection[] | null
}

/** The connections of a project. */
export function ConnectionsView({ projectId }: { readonly projectId: string }) {
  const found = useData((signal) => readConnections(projectId, signal), [projectId])
  if (found.error !== null && found.value === null) return <Failure error={found.error} retry={found.reload} />
  if (found.value === null) return <Loading />
  const { resolvers, introspects, health } = found.value
  const state = (id: string) => <Health health={health} id={id} />
  return (
    <div class="stack gap-16">
      <DocumentSection
        id="resolvers"
        title="External data resolvers"
        noun="Resolver"
        empty="The project has no resolver: its queries read the graph only."
        documents={resolvers}
        onReload={found.reload}
        columns={[
          {
            title: 'Address',
            cell: ({ method, url }) => (
              <code>
                {method} {url}
              </code>
            ),
          },
          { title: 'Calls', cell: ({ id }) => state(id) },
        ]}
      />
      <DocumentSection
        id="introspects"
        title="Token introspections"
        noun="Introspection"
        empty="The project accepts no tokens of users."
        documents={introspects}
        columns={[
          {
            title: 'Issuer',
            cell: ({ jwt_matcher }) =>
              jwt_matcher === undefined ? 'opaque tokens' : <code>{jwt_matcher.issuer}</code>,
          },
          {
            title: 'Keys',
            cell: ({ offline_validation }) =>
              Object.keys(offline_validation ?? {}).length > 0 ? 'in the configuration' : 'of the issuer',
          },
          { title: 'Verifications', cell: ({ id }) => state(id) },
        ]}
      />
      <p class="soft">Counted since the service started, in all workers. Cached answers are not counted.</p>
    </div>
  )
}

function Health({ health, id }: { readonly health: readonly ReadConnection[] | null; readonly id: string }) {
  if (health === null) return <span class="badge">not known</span>
  const found = health.find((one) => one.id === id)
  if (found === undefined) return <span class="badge">not used</span>
  const { succeeded, failed, last_failure, last_failure_time, last_success_time } = found
  const isFailing = (last_failure_time ?? '') > (last_success_time ?? '')
  return (
    <>
      <span class={`badge ${isFailing ? 'is-denied' : 'is-granted'}`}>{isFailing ? 'failing' : 'works'}</span>
      <small>
        {succeeded} succeeded, {failed} failed
      </small>
      {last_failure !== null && last_failure_time !== null && (
        <small>
          Last failure {relativeText(last_failure_time)}: {last_failure}
        </small>
      )}
    </>
  )
}

async function readConnections(projectId: string, signal: AbortSignal): Promise<ReadConnections> {
  const list = async <T,>(kind: string): Promise<readonly T[]> => {
    const path = `/configs/v1/${kind}?project_id=${encodeURIComponent(projectId)}&full_fetch=true`
    return (await call<{ readonly data: readonly T[] }>('GET', path, { signal })).data
  }
  const [resolvers, introspects, health] = await Promise.all([
    list<ReadResolver>('external-data-resolvers'),
    list<ReadIntrospect>('token-introspects'),
    call<ReadStatus>('GET', '/operations/v1/status', { signal }).then(
      ({ connections }) => connections,
      (failure: unknown) => {
        if (failure instanceof ApiError) return null
        throw failure
      },
    ),
  ])
  return { resolvers, introspects, health }
}
