// The view of one knowledge query.
import { useId } from 'preact/hooks'
import { parametersIn } from '../../../kernel/text/cypher-names.ts'
import { call, signIn } from '../api.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import type { Tab } from '../parts/tabs.tsx'
import { useStore } from '../store.ts'
import { useData } from '../use-data.ts'
import { DocumentEditor } from './document-editor.tsx'
import type { FormTexts } from './document-kind.ts'
import { useEditedDocument } from './edited-document.ts'
import { type PagePolicy, policyKind } from './policy-form.ts'
import { queryKind } from './query-form.ts'
import { RowsPanel } from './rows-panel.tsx'
import { JsonField } from './shared-fields.tsx'

/** `id`: `new` for a new query. */
export function QueryView({ projectId, id }: { readonly projectId: string; readonly id: string }) {
  const signed = useStore(signIn)
  const session = signed.kind === 'signed-in' ? signed.session : null
  const isReadOnly = session?.role !== 'all_editor'
  const edited = useEditedDocument(projectId, queryKind, id)
  const { form } = edited
  const select = useId()
  const policies = useData(
    async (signal) => {
      const path = `/configs/v1/authorization-policies?project_id=${encodeURIComponent(projectId)}&type=ciq&full_fetch=true`
      return (await call<{ readonly data: readonly PagePolicy[] }>('GET', path, { signal })).data
    },
    [projectId],
  )
  const list = policies.value ?? []
  const policy = list.find((one) => one.id === form.policy_id)
  const tabs: readonly Tab[] = [
    ...(policy !== undefined && !isReadOnly
      ? [
          {
            id: 'rows',
            title: 'Try the policy',
            content: () => (
              <RowsPanel key={policy.id} projectId={projectId} form={policyKind.formOf(policy)} isStored />
            ),
          },
        ]
      : []),
    { id: 'run', title: 'Run', content: () => <RunCommand form={form} policy={policy} /> },
  ]
  return (
    <DocumentEditor
      kind={queryKind}
      edited={edited}
      isReadOnly={isReadOnly}
      accountId={session?.service_account_id ?? ''}
      tabs={tabs}
      fields={
        <>
          <div class="field">
            <label for={select}>Policy</label>
            <select
              id={select}
              value={form.policy_id}
              disabled={isReadOnly}
              onChange={(event) => edited.change({ policy_id: event.currentTarget.value })}
            >
              <option value="">Choose a context policy</option>
              {list.map((one) => (
                <option key={one.id} value={one.id}>
                  {one.name}
                </option>
              ))}
              {form.policy_id && policy === undefined && <option value={form.policy_id}>{form.policy_id}</option>}
            </select>
          </div>
          <JsonField
            label="Query (JSON)"
            hint="Paths of nodes and relationships to read, a filter, and upserts or deletions."
            value={form.query ?? ''}
            rows={14}
            isReadOnly={isReadOnly}
            onInput={(query) => edited.change({ query })}
          />
        </>
      }
    />
  )
}

/** Knowledge queries answer about the user of a token, to an agent: a service account cannot run them. */
function RunCommand({ form, policy }: { readonly form: FormTexts; readonly policy: PagePolicy | undefined }) {
  const names = parametersIn(`${policy?.policy ?? ''} ${form.query ?? ''}`).filter(
    (name) => !/^(token|svc_token|_appId)$/.test(name),
  )
  const body = JSON.stringify({
    id: form.name,
    ...(names.length > 0 && { input_params: Object.fromEntries(names.map((name) => [name, '…'])) }),
  })
  const command = [
    `curl '${location.origin}/contx-iq/v1/execute' \\`,
    `  -H "X-SVC-ClientKey: $KEY" -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
    `  -d '${body.replaceAll("'", `'\\''`)}'`,
  ].join('\n')
  return (
    <div class="stack">
      <p class="quiet-text">
        A knowledge query answers to an agent with the permission CIQ, about the user of a token. A service account
        cannot run it, so this is the request of an agent.
      </p>
      <div class="code">
        <pre>
          <code>{command}</code>
        </pre>
        <CopyButton text={command} label="Copy the curl command" />
      </div>
    </div>
  )
}
