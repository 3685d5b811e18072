// The editor of one policy, knowledge query or model: fields, what the change means, and its history.
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../address.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Difference } from '../parts/difference.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { type Tab, Tabs } from '../parts/tabs.tsx'
import type { DocumentKindView, PageDocument } from './document-kind.ts'
import type { EditedDocument } from './edited-document.ts'
import { HistoryPanel } from './history-panel.tsx'
import { NameFields, StatusField } from './shared-fields.tsx'
import { StatusBadge } from './status-badge.tsx'
import { dateText } from './times.ts'

/** `fields`: the fields of the kind; `tabs`: what the text means, before the history. */
export function DocumentEditor<T extends PageDocument>(props: {
  readonly kind: DocumentKindView<T>
  readonly edited: EditedDocument
  readonly isReadOnly: boolean
  readonly accountId: string
  readonly tabs: readonly Tab[]
  readonly fields: ComponentChildren
}) {
  const { kind, edited, isReadOnly, accountId, tabs, fields } = props
  const { reading, base, form, isChanged, isRestored, problems, failure, conflict, isSaving } = edited
  const [tab, setTab] = useState('')
  const [isDeleting, setDeleting] = useState(false)
  const [notice, setNotice] = useState('')
  const isNew = base === null
  const save = async (): Promise<void> => {
    const id = await edited.save()
    if (id === null) return
    setNotice('Saved.')
    if (isNew) location.replace(linkTo('policies', { [kind.parameter]: id }))
  }
  const remove = async (): Promise<void> => {
    const isGone = await edited.remove()
    setDeleting(false)
    if (isGone) location.replace(linkTo('policies', { list: kind.list }))
  }
  useEffect(() => {
    if (isChanged) setNotice('')
  }, [isChanged])
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      if (!isSaving && !isReadOnly) void save()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
  if (reading.error !== null && base === null) return <Failure error={reading.error} retry={reading.reload} />
  if (reading.isLoading && base === null && !isRestored) return <Loading />
  const back = linkTo('policies', { list: kind.list })
  const history: readonly Tab[] =
    base === null
      ? []
      : [
          {
            id: 'history',
            title: 'History',
            content: () => (
              <HistoryPanel
                kind={kind}
                base={base}
                form={form}
                accountId={accountId}
                onRestore={
                  isReadOnly
                    ? undefined
                    : (restored) => {
                        edited.change({ ...restored, name: form.name ?? '' })
                        setNotice('The revision is in the editor, and not saved.')
                      }
                }
              />
            ),
          },
        ]
  const all = [...tabs, ...history]
  return (
    <>
      <header class="screen-head editor-head">
        <a class="back" href={back}>
          Policies and queries
        </a>
        <h1>
          {isNew ? `New ${kind.noun}` : form.name}{' '}
          {base?.form.status !== undefined && <StatusBadge status={base.form.status} />}
        </h1>
        {!isNew && (
          <p>
            Revision {base.revision}, {dateText(base.updateTime)}
          </p>
        )}
      </header>
      {isRestored && isChanged && (
        <p class="notice">
          <Icon name="refresh" />
          <span>This text was kept in the tab and is not saved yet.</span>
        </p>
      )}
      {conflict !== null && <Conflict kind={kind} edited={edited} />}
      <div class="card stack">
        {form.status !== undefined && (
          <StatusField value={form.status} isReadOnly={isReadOnly} onChange={(status) => edited.change({ status })} />
        )}
        <NameFields form={form} isNew={isNew} isReadOnly={isReadOnly} onChange={edited.change} />
        {fields}
      </div>
      {problems.length > 0 && (
        <div class="notice is-bad" role="alert">
          <Icon name="warning" />
          <ul>
            {problems.map((problem) => (
              <li key={problem}>{problem}</li>
            ))}
          </ul>
        </div>
      )}
      {failure !== null && <Failure error={failure} />}
      {!isReadOnly && (
        <div class="row save-bar">
          <span role="status">{notice !== '' ? notice : isChanged ? 'Not saved' : ''}</span>
          {!isNew && (
            <button type="button" class="quiet is-bad" onClick={() => setDeleting(true)}>
              Delete
            </button>
          )}
          {isChanged && (
            <button type="button" onClick={edited.discard}>
              Discard
            </button>
          )}
          <button
            type="button"
            class="primary"
            disabled={isSaving || (!isChanged && !isNew)}
            title="Ctrl+S"
            onClick={() => void save()}
          >
            {form.status === 'DRAFT' ? 'Save draft' : 'Save'}
          </button>
        </div>
      )}
      {all.length > 0 && (
        <section class="card" aria-label="About this text">
          <Tabs label="About this text" tabs={all} selected={tab} onSelect={setTab} />
        </section>
      )}
      {isDeleting && (
        <Dialog
          title={`Delete the ${kind.noun} ${base?.form.name ?? ''}?`}
          onClose={() => setDeleting(false)}
          action={
            <button type="button" class="primary is-bad" onClick={() => void remove()}>
              Delete
            </button>
          }
        >
          <p>
            {base?.form.status === 'ACTIVE'
              ? 'It is used now. The deletion takes effect at once, and its history is deleted too.'
              : 'Its history is deleted too.'}
          </p>
        </Dialog>
      )}
    </>
  )
}

function Conflict<T extends PageDocument>({
  kind,
  edited,
}: {
  readonly kind: DocumentKindView<T>
  readonly edited: EditedDocument
}) {
  const { conflict, form } = edited
  if (conflict === null) return null
  return (
    <section class="card stack gap-12 conflict" role="alert" aria-labelledby="conflict">
      <h2 id="conflict">Someone has changed it since you opened it</h2>
      <p>
        Revision {conflict.revision} was stored at {dateText(conflict.updateTime)}. Nothing was saved, and your text is
        still here. This is the difference from revision {conflict.revision} to your text:
      </p>
      <Difference
        label={`From revision ${conflict.revision} to your text`}
        before={kind.textOf(conflict.form)}
        after={kind.textOf(form)}
      />
      <div class="row dialog-actions">
        <button type="button" onClick={() => edited.resolve('theirs')}>
          Take revision {conflict.revision}
        </button>
        <button type="button" class="primary" onClick={() => edited.resolve('mine')}>
          Keep my text
        </button>
      </div>
    </section>
  )
}
