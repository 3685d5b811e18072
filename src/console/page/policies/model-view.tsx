// The model of a project: the tab that leads to it, and its editor.
import { namesDefinedIn } from '../../../kernel/text/cypher-names.ts'
import { linkTo } from '../address.ts'
import { signIn } from '../api.ts'
import { CypherEditor } from '../parts/cypher-editor.tsx'
import { checkModel } from '../parts/cypher-language.ts'
import { Empty } from '../parts/feedback.tsx'
import { useStore } from '../store.ts'
import { DocumentEditor } from './document-editor.tsx'
import { useEditedDocument } from './edited-document.ts'
import { modelKind, type PageModel } from './model-form.ts'

/** The tab. `model`: null: the project has none. */
export function ModelTab({ model, canCreate }: { readonly model: PageModel | null; readonly canCreate: boolean }) {
  if (model === null)
    return (
      <Empty icon="policies" title="No model yet">
        <p>A model gives names to relationships that follow from others. Policies and queries use the names.</p>
        {canCreate && (
          <p>
            <a class="button primary" href={linkTo('policies', { model: 'new' })}>
              New model
            </a>
          </p>
        )}
      </Empty>
    )
  const names = namesDefinedIn(model.model)
  return (
    <div class="stack">
      <p>
        <a href={linkTo('policies', { model: model.id })}>{model.name}</a>
      </p>
      <p class="quiet-text">{names.length === 0 ? 'No definitions' : `Defines ${names.join(', ')}`}</p>
    </div>
  )
}

/** The editor. `id`: `new` for a new model. */
export function ModelView({ projectId, id }: { readonly projectId: string; readonly id: string }) {
  const signed = useStore(signIn)
  const session = signed.kind === 'signed-in' ? signed.session : null
  const isReadOnly = session?.role !== 'all_editor'
  const edited = useEditedDocument(projectId, modelKind, id)
  return (
    <DocumentEditor
      kind={modelKind}
      edited={edited}
      isReadOnly={isReadOnly}
      accountId={session?.service_account_id ?? ''}
      tabs={[]}
      fields={
        <CypherEditor
          label="Model"
          value={edited.form.model ?? ''}
          projectId={projectId}
          check={isReadOnly ? undefined : (text, signal) => checkModel(projectId, text, signal)}
          isReadOnly={isReadOnly}
          rows={14}
          onInput={(model) => edited.change({ model })}
          onRun={() => void edited.save()}
        />
      }
    />
  )
}
