// Keys of agents and of service accounts, with their expiry.
import { call } from '../api.ts'
import { relativeText } from '../parts/amounts.ts'
import { DataTable } from '../parts/data-table.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'

interface ReadCredential {
  readonly id: string
  readonly kid: string
  readonly display_name: string
  readonly create_time: string
  readonly expire_time?: string
  readonly application_agent_id?: string
  readonly service_account_id?: string
}

interface NamedDocument {
  readonly id: string
  readonly name: string
  readonly display_name: string
}

interface ReadKeys {
  readonly agents: readonly ListedKey[]
  readonly accounts: readonly ListedKey[]
}

interface ListedKey extends ReadCredential {
  readonly owner: string
}

/** A key that expires within this time is marked. */
const SOON_MS = 14 * 86_400_000

/** `projectId`: may be empty. */
export function KeysView(props: { readonly projectId: string; readonly organizationId: string }) {
  const { projectId, organizationId } = props
  const keys = useData((signal) => readKeys(projectId, organizationId, signal), [projectId, organizationId])
  if (keys.error !== null && keys.value === null) return <Failure error={keys.error} retry={keys.reload} />
  if (keys.value === null) return <Loading />
  return (
    <div class="stack gap-16">
      <Keys
        title="Keys of application agents"
        note="In the selected project. A key itself is shown only when it is created."
        keys={keys.value.agents}
      />
      <Keys
        title="Keys of service accounts"
        note="Of the organization. With them, accounts sign their tokens."
        keys={keys.value.accounts}
      />
    </div>
  )
}

function Keys({
  title,
  note,
  keys,
}: {
  readonly title: string
  readonly note: string
  readonly keys: readonly ListedKey[]
}) {
  return (
    <section class="card" aria-label={title}>
      <h2>{title}</h2>
      <p class="soft">{note}</p>
      {keys.length === 0 ? (
        <Empty icon="search" title="There is no key" />
      ) : (
        <DataTable
          label={title}
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            {
              title: 'Of',
              cell: ({ owner, display_name }) => (
                <>
                  {owner}
                  {display_name !== '' && <small>{display_name}</small>}
                </>
              ),
            },
            { title: 'Key id', cell: ({ kid }) => <code>{kid.length > 20 ? `${kid.slice(0, 20)}…` : kid}</code> },
            {
              title: 'Created',
              cell: ({ create_time }) => <span title={create_time}>{relativeText(create_time)}</span>,
            },
            { title: 'Expires', cell: ({ expire_time }) => <Expiry time={expire_time} /> },
          ]}
        />
      )}
    </section>
  )
}

function Expiry({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return <span>never</span>
  const left = Date.parse(time) - Date.now()
  const text = relativeText(time)
  if (left <= 0)
    return (
      <span class="badge is-denied" title={time}>
        expired {text}
      </span>
    )
  return (
    <span class={left < SOON_MS ? 'badge is-faulted' : undefined} title={time}>
      {text}
    </span>
  )
}

async function readKeys(projectId: string, organizationId: string, signal: AbortSignal): Promise<ReadKeys> {
  const list = async <T,>(kind: string, scope: string): Promise<readonly T[]> => {
    const { data } = await call<{ readonly data: readonly T[] }>('GET', `/configs/v1/${kind}?${scope}`, { signal })
    return data
  }
  const ofProject = `project_id=${encodeURIComponent(projectId)}`
  const ofOrganization = `organization_id=${encodeURIComponent(organizationId)}`
  const [agents, agentKeys, accounts, accountKeys] = await Promise.all([
    projectId === '' ? [] : list<NamedDocument>('application-agents', ofProject),
    projectId === '' ? [] : list<ReadCredential>('application-agent-credentials', ofProject),
    list<NamedDocument>('service-accounts', ofOrganization),
    list<ReadCredential>('service-account-credentials', ofOrganization),
  ])
  const named = (documents: readonly NamedDocument[], keys: readonly ReadCredential[]): readonly ListedKey[] => {
    const names = new Map(documents.map(({ id, name, display_name }) => [id, display_name || name]))
    return keys
      .map((key) => {
        const owner = key.application_agent_id ?? key.service_account_id ?? ''
        return { ...key, owner: names.get(owner) ?? owner }
      })
      .sort((a, b) => ((a.expire_time ?? '9') < (b.expire_time ?? '9') ? -1 : 1))
  }
  return { agents: named(agents, agentKeys), accounts: named(accounts, accountKeys) }
}
