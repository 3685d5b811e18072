// The view of one policy.
import type { ComponentProps } from 'preact'
import { signIn } from '../api.ts'
import { Empty } from '../parts/feedback.tsx'
import { PlanTree } from '../parts/plan-tree.tsx'
import type { Tab } from '../parts/tabs.tsx'
import { useStore } from '../store.ts'
import { DocumentEditor } from './document-editor.tsx'
import type { FormTexts } from './document-kind.ts'
import { useEditedDocument } from './edited-document.ts'
import { ImpactPanel } from './impact-panel.tsx'
import { type PolicyCheck, usePolicyCheck } from './policy-check.ts'
import { PolicyFields } from './policy-fields.tsx'
import { documentOf, listOf, policyKind } from './policy-form.ts'
import { RowsPanel } from './rows-panel.tsx'

/** `id`: `new` for a new policy. */
export function PolicyView({ projectId, id }: { readonly projectId: string; readonly id: string }) {
  const signed = useStore(signIn)
  const session = signed.kind === 'signed-in' ? signed.session : null
  const isReadOnly = session?.role !== 'all_editor'
  const edited = useEditedDocument(projectId, policyKind, id)
  const { form, base } = edited
  const made = documentOf(form)
  const document = 'document' in made ? made.document : null
  // Checks and runs read the graph, which a viewer may not.
  const check = usePolicyCheck(projectId, isReadOnly || (base === null && id !== 'new') ? null : document)
  const { change, note } = impactOf(form, base?.form ?? null, document, check)
  const tabs: readonly Tab[] = isReadOnly
    ? []
    : [
        { id: 'plan', title: 'Plan', content: () => <Plans check={check} /> },
        { id: 'rows', title: 'Try', content: () => <RowsPanel projectId={projectId} form={form} /> },
        {
          id: 'impact',
          title: 'Who gains, who loses',
          content: () => (
            <ImpactPanel projectId={projectId} change={change} parameters={check?.parameters ?? []} note={note} />
          ),
        },
      ]
  return (
    <DocumentEditor
      kind={policyKind}
      edited={edited}
      isReadOnly={isReadOnly}
      accountId={session?.service_account_id ?? ''}
      tabs={tabs}
      fields={
        <PolicyFields
          projectId={projectId}
          form={form}
          check={check}
          isReadOnly={isReadOnly}
          onChange={edited.change}
          onSave={() => void edited.save()}
        />
      }
    />
  )
}

type Impact = Pick<ComponentProps<typeof ImpactPanel>, 'change' | 'note'>

/** The change of the policies in force that saving would make. A draft is compared as if it were active. */
function impactOf(form: FormTexts, stored: FormTexts | null, document: unknown, check: PolicyCheck | null): Impact {
  const { name = '', status } = form
  const wasActive = stored?.status === 'ACTIVE'
  if (form.version === '1.0-ciq')
    return { change: null, note: 'A context policy decides nothing by itself: knowledge queries read through it.' }
  if (wasActive && status !== 'ACTIVE')
    return {
      change: { name, document: null, tags: [] },
      note: 'Saving takes the policy out of force. Compares the policies in force with those without it.',
    }
  if (status === 'INACTIVE')
    return { change: null, note: 'The policy is not in force, and would not be after saving: no decision changes.' }
  if (name.trim() === '') return { change: null, note: 'Write a name first.' }
  if (document === null || check?.findings.some(({ severity }) => severity === 'error') !== false)
    return { change: null, note: 'The text is not complete, or has errors.' }
  return {
    change: { name, document, tags: listOf(form.tags) },
    note:
      status === 'DRAFT'
        ? 'Compares the policies in force with the same ones and this text, as if it were active. Nothing is stored.'
        : 'Compares the policies in force with those after saving. Nothing is stored.',
  }
}

const uses: Readonly<Record<PolicyCheck['plans'][number]['use'], string>> = {
  check: 'One decision',
  resources: 'Search for resources',
  subjects: 'Search for subjects',
  rows: 'Rows of the condition',
}

function Plans({ check }: { readonly check: PolicyCheck | null }) {
  if (check === null || check.plans.length === 0)
    return (
      <Empty icon="policies" title="No plan yet">
        <p>The text is not complete, or has errors.</p>
      </Empty>
    )
  return (
    <div class="stack plans">
      {check.plans.map(({ use, plan }) => (
        <section key={use}>
          <h4>{uses[use]}</h4>
          <PlanTree step={plan} />
        </section>
      ))}
    </div>
  )
}
