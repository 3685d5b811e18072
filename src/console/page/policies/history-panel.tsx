// The revisions of a document, and how each differs from the one before or from the text in the editor.
import { useState } from 'preact/hooks'
import { callForRevision } from '../api.ts'
import { Difference } from '../parts/difference.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'
import type { DocumentKindView, FormTexts, PageDocument } from './document-kind.ts'
import { documentPath, type StoredForm, storedForm } from './edited-document.ts'
import { dateText } from './times.ts'

/** Revisions that are read at a time. */
const READ_AT_ONCE = 10

/** `onRestore`: puts a revision into the editor; absent: the account may not change it. */
export function HistoryPanel<T extends PageDocument>(props: {
  readonly kind: DocumentKindView<T>
  readonly base: StoredForm
  readonly form: FormTexts
  readonly accountId: string
  readonly onRestore?: ((form: FormTexts) => void) | undefined
}) {
  const { kind, base, form, accountId, onRestore } = props
  const [count, setCount] = useState(READ_AT_ONCE)
  const [chosen, setChosen] = useState<number | null>(null)
  const [against, setAgainst] = useState<'before' | 'editor'>('before')
  const first = Math.max(1, base.revision - count + 1)
  const history = useData(
    async (signal) => {
      // One more, to compare the oldest one with.
      const numbers = Array.from({ length: base.revision - Math.max(1, first - 1) + 1 }, (_, i) => base.revision - i)
      return Promise.all(
        numbers.map(async (number) =>
          storedForm(
            kind,
            await callForRevision<T>('GET', `${documentPath(kind, base.id)}?version=${number}`, { signal }),
          ),
        ),
      )
    },
    [base.id, base.revision, first],
  )
  if (history.error !== null) return <Failure error={history.error} retry={history.reload} />
  if (history.value === null) return <Loading label="Reading the history" />
  const revisions = history.value.filter(({ revision }) => revision >= first)
  const selected = history.value.find(({ revision }) => revision === (chosen ?? base.revision)) ?? history.value[0]
  const previous = history.value.find(({ revision }) => revision === (selected?.revision ?? 0) - 1)
  return (
    <div class="history">
      <ol aria-label="Revisions">
        {revisions.map((one) => (
          <li key={one.revision}>
            <button type="button" class="quiet" aria-pressed={one === selected} onClick={() => setChosen(one.revision)}>
              <b>Revision {one.revision}</b>
              <small>
                {dateText(one.updateTime)}
                {one.updatedBy === accountId ? ', by you' : `, by ${one.updatedBy}`}
              </small>
            </button>
          </li>
        ))}
        {first > 1 && (
          <li>
            <button type="button" class="quiet" onClick={() => setCount(count + READ_AT_ONCE)}>
              Older revisions
            </button>
          </li>
        )}
      </ol>
      {selected !== undefined && (
        <div class="stack gap-12 history-text">
          <div class="card-head">
            <div class="segments" role="radiogroup" aria-label="Compare with">
              {(['before', 'editor'] as const).map((one) => (
                <label key={one}>
                  <input
                    type="radio"
                    name="history-against"
                    checked={against === one}
                    onChange={() => setAgainst(one)}
                  />
                  {one === 'before' ? 'Changes of this revision' : 'Changes since, to the text above'}
                </label>
              ))}
            </div>
            {onRestore !== undefined && selected.revision !== base.revision && (
              <button type="button" onClick={() => onRestore(selected.form)}>
                Put it into the editor
              </button>
            )}
          </div>
          {against === 'before' ? (
            <Difference
              key={`before ${selected.revision}`}
              label={`Changes of revision ${selected.revision}`}
              before={previous === undefined ? '' : kind.textOf(previous.form)}
              after={kind.textOf(selected.form)}
            />
          ) : (
            <Difference
              key={`editor ${selected.revision}`}
              label={`Changes since revision ${selected.revision}`}
              before={kind.textOf(selected.form)}
              after={kind.textOf(form)}
            />
          )}
        </div>
      )}
    </div>
  )
}
