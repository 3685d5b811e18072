// The screen Policies: the lists, and the editor of the document that the address names.
import { linkTo } from '../address.ts'
import { call, signIn } from '../api.ts'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Tabs } from '../parts/tabs.tsx'
import type { ScreenProps } from '../screen.ts'
import { useStore } from '../store.ts'
import { useData } from '../use-data.ts'
import { DocumentList } from './document-list.tsx'
import type { PageModel } from './model-form.ts'
import { ModelTab, ModelView } from './model-view.tsx'
import { headOf, type PagePolicy, policyKind } from './policy-form.ts'
import { PolicyView } from './policy-view.tsx'
import { type PageKnowledgeQuery, queryKind } from './query-form.ts'
import { QueryView } from './query-view.tsx'
import { TestsView } from './tests-view.tsx'

/** The screen. */
export default function PoliciesScreen({ projectId, parameters }: ScreenProps) {
  const policy = parameters.get('policy')
  const query = parameters.get('query')
  const model = parameters.get('model')
  return (
    <div class="stack gap-18 policies-screen">
      {policy !== null ? (
        <PolicyView key={`policy ${policy}`} projectId={projectId} id={policy} />
      ) : query !== null ? (
        <QueryView key={`query ${query}`} projectId={projectId} id={query} />
      ) : model !== null ? (
        <ModelView key={`model ${model}`} projectId={projectId} id={model} />
      ) : (
        <Lists projectId={projectId} selected={parameters.get('list') ?? 'policies'} />
      )}
    </div>
  )
}

function Lists({ projectId, selected }: { readonly projectId: string; readonly selected: string }) {
  const signed = useStore(signIn)
  const canCreate = signed.kind === 'signed-in' && signed.session.role === 'all_editor'
  const scope = `project_id=${encodeURIComponent(projectId)}&full_fetch=true`
  const listed = useData(
    async (signal) => {
      const [policies, queries, models] = await Promise.all([
        call<{ readonly data: readonly PagePolicy[] }>('GET', `/configs/v1/authorization-policies?${scope}`, {
          signal,
        }),
        call<{ readonly data: readonly PageKnowledgeQuery[] }>('GET', `/configs/v1/knowledge-queries?${scope}`, {
          signal,
        }),
        call<{ readonly data: readonly PageModel[] }>('GET', `/configs/v1/models?${scope}`, { signal }),
      ])
      return { policies: policies.data, queries: queries.data, model: models.data[0] ?? null }
    },
    [projectId],
  )
  const { policies = [], queries = [], model = null } = listed.value ?? {}
  const nameOf = (id: string): string => policies.find((one) => one.id === id)?.name ?? id
  return (
    <>
      <header class="screen-head">
        <h1>Policies</h1>
        <p>Who may do something, and what knowledge queries may read.</p>
      </header>
      {listed.error !== null && <Failure error={listed.error} retry={listed.reload} />}
      {listed.value === null && listed.error === null && <Loading />}
      {listed.value !== null && (
        <Tabs
          label="Lists"
          selected={selected}
          onSelect={(list) => location.replace(linkTo('policies', list === 'policies' ? {} : { list }))}
          tabs={[
            {
              id: 'policies',
              title: `Policies (${policies.length})`,
              content: () => (
                <DocumentList
                  key="policies"
                  kind={policyKind}
                  documents={policies}
                  describe={(document) => headOf(policyKind.formOf(document)) || 'A draft that is no policy yet'}
                  textOf={({ policy, tags }) => `${policy} ${tags.join(' ')}`}
                  canCreate={canCreate}
                />
              ),
            },
            {
              id: 'queries',
              title: `Knowledge queries (${queries.length})`,
              content: () => (
                <DocumentList
                  key="queries"
                  kind={queryKind}
                  documents={queries}
                  describe={({ policy_id }) => `through policy ${nameOf(policy_id)}`}
                  textOf={({ query, policy_id }) => `${query} ${nameOf(policy_id)}`}
                  canCreate={canCreate}
                />
              ),
            },
            { id: 'model', title: 'Model', content: () => <ModelTab model={model} canCreate={canCreate} /> },
            ...(canCreate ? [{ id: 'tests', title: 'Tests', content: () => <TestsView projectId={projectId} /> }] : []),
          ]}
        />
      )}
    </>
  )
}
