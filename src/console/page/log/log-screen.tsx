// The screen Log: decisions as they are made, the records of the audit log with their proofs, and the delivery of events.

import { linkTo } from '../address.ts'
import { signIn } from '../api.ts'
import { Empty } from '../parts/feedback.tsx'
import { type Tab, Tabs } from '../parts/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { useStore } from '../store.ts'
import { DecisionsView } from './decisions-view.tsx'
import { EventsView } from './events-view.tsx'
import { RecordsView } from './records-view.tsx'

/** The screen. Without a project it has the audit log of the organization only. */
export default function LogScreen({ projectId, parameters }: ScreenProps) {
  const state = useStore(signIn)
  if (state.kind !== 'signed-in') return null
  const { session } = state
  const isEditor = session.role === 'all_editor'
  const decisions: Tab = {
    id: 'decisions',
    title: 'Decisions',
    content: () => <DecisionsView projectId={projectId} parameters={parameters} />,
  }
  const records: Tab = {
    id: 'audit',
    title: 'Audit records',
    content: () => (
      <RecordsView projectId={projectId} organizationId={session.organization_id} parameters={parameters} />
    ),
  }
  const events: Tab = {
    id: 'events',
    title: 'Events',
    content: () => <EventsView projectId={projectId} isEditor={isEditor} />,
  }
  // The role of a viewer does not include the decision log.
  const tabs = [...(isEditor && projectId !== '' ? [decisions] : []), records, ...(projectId === '' ? [] : [events])]
  const wanted = parameters.get('tab') ?? tabs[0]?.id ?? ''
  return (
    <div class="stack log">
      <header class="screen-head">
        <h1>Log</h1>
        <p>What is decided, who changed what, and whether events arrive.</p>
      </header>
      {tabs.some(({ id }) => id === wanted) ? (
        <Tabs
          label="Log"
          selected={wanted}
          onSelect={(tab) => {
            location.hash = linkTo('log', { tab })
          }}
          tabs={tabs}
        />
      ) : (
        <Empty icon="log" title="This account may not read this log">
          <a href={linkTo('log')}>Go to the audit records</a>
        </Empty>
      )}
    </div>
  )
}
