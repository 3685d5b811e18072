// The screen Operate: figures of the running service, and everything that an operator looks after.
import { replaceParameters } from '../address.ts'
import { signIn } from '../api.ts'
import { Empty } from '../parts/feedback.tsx'
import { type Tab, Tabs } from '../parts/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { useStore } from '../store.ts'
import { BackupsView } from './backups-view.tsx'
import { ConnectionsView } from './connections-view.tsx'
import { JobsView } from './jobs-view.tsx'
import { KeysView } from './keys-view.tsx'
import { NowView } from './now-view.tsx'
import { SettingsView } from './settings-view.tsx'
import { ToolsView } from './tools-view.tsx'

/** The screen. */
export default function OperateScreen({ projectId, parameters }: ScreenProps) {
  const state = useStore(signIn)
  if (state.kind !== 'signed-in') return null
  const { role, organization_id } = state.session
  const inProject = (view: () => ReturnType<Tab['content']>) => () =>
    projectId === '' ? (
      <Empty icon="graph" title="There is no project yet">
        <a href="#/first-steps">Create the first project</a>
      </Empty>
    ) : (
      view()
    )
  const tabs: readonly Tab[] = [
    { id: 'now', title: 'Now', content: () => <NowView /> },
    // The service refuses them to a viewer.
    ...(role === 'all_editor'
      ? [
          { id: 'backups', title: 'Backups', content: () => <BackupsView projectId={projectId} /> },
          { id: 'settings', title: 'Settings', content: () => <SettingsView /> },
        ]
      : []),
    {
      id: 'keys',
      title: 'Keys',
      content: () => <KeysView projectId={projectId} organizationId={organization_id} />,
    },
    { id: 'connections', title: 'Connections', content: inProject(() => <ConnectionsView projectId={projectId} />) },
    { id: 'jobs', title: 'Jobs', content: inProject(() => <JobsView projectId={projectId} />) },
    { id: 'mcp', title: 'MCP', content: inProject(() => <ToolsView projectId={projectId} role={role} />) },
  ]
  return (
    <div class="stack gap-16 operate">
      <header class="screen-head">
        <h1>Operate</h1>
        <p>How the service does, and what keeps it running.</p>
      </header>
      <Tabs
        label="Operate"
        tabs={tabs}
        selected={parameters.get('view') ?? 'now'}
        onSelect={(view) => replaceParameters({ view })}
      />
    </div>
  )
}
