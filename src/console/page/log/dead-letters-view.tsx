// Events that a provider refused for good: list, detail, send again, delete.
import { useEffect, useState } from 'preact/hooks'
import { Detail, Fields, WithDetail } from '../parts/detail.tsx'
import { Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { JsonText, PlainText } from '../parts/plain-text.tsx'
import { RowList } from '../parts/row-list.tsx'
import { rowText } from '../parts/row-text.tsx'
import { Time } from '../parts/time.tsx'
import { useData } from '../use-data.ts'
import {
  deleteDeadLetter,
  type ListedDeadLetter,
  readDeadLetter,
  readDeadLetters,
  sendDeadLetters,
} from './sink-api.ts'

/** Those that are sent again disappear when they have arrived. */
const SENDING_REFRESH_MS = 1500

/** The view. `onSent`: the counts of the providers may have changed. */
export function DeadLettersView({ sinkId, onSent }: { readonly sinkId: string; readonly onSent: () => void }) {
  const [pages, setPages] = useState(1)
  const reading = useData((signal) => readPages(sinkId, pages, signal), [sinkId, pages])
  const [openId, setOpenId] = useState<string | null>(null)
  const [note, setNote] = useState('')
  const [error, setError] = useState<Error | null>(null)
  const letters = reading.value?.letters ?? []
  const isSending = letters.some(({ is_requested }) => is_requested)
  useEffect(() => {
    if (!isSending) return
    const timer = setTimeout(() => {
      if (document.hidden) return
      reading.reload()
      onSent()
    }, SENDING_REFRESH_MS)
    return () => clearTimeout(timer)
  }, [reading.value])
  const act = (action: Promise<string>): void => {
    setError(null)
    action.then((text) => {
      setNote(text)
      reading.reload()
    }, setError)
  }
  const send = (which: Parameters<typeof sendDeadLetters>[1]): void =>
    act(
      sendDeadLetters(sinkId, which).then(({ requested, refused }) =>
        [`${requested} will be sent again.`, ...refused.map(({ reason }) => reason)].join(' '),
      ),
    )
  const providers = [...new Set(letters.map(({ provider_id }) => provider_id))].sort()
  const open = letters.find(({ id }) => id === openId) ?? null
  return (
    <section class="card stack gap-12" aria-labelledby="dead-letters">
      <div class="card-head">
        <h3 id="dead-letters">Dead letters</h3>
        <div class="row">
          {providers.map((provider_id) => (
            <button key={provider_id} type="button" onClick={() => send({ provider_id })}>
              <Icon name="send" />
              <span>
                Send all of <PlainText text={provider_id} /> again
              </span>
            </button>
          ))}
        </div>
      </div>
      {error !== null && <Failure error={error} />}
      {reading.error !== null && <Failure error={reading.error} retry={reading.reload} />}
      <p role="status">{note}</p>
      {reading.value === null && reading.isLoading && <Loading />}
      {reading.value !== null && letters.length === 0 && (
        <p>
          <small>No receiver has refused an event for good.</small>
        </p>
      )}
      {letters.length > 0 && (
        <WithDetail
          detail={
            open === null ? null : (
              <LetterDetail
                key={open.id}
                sinkId={sinkId}
                letter={open}
                onClose={() => setOpenId(null)}
                onSend={() => send({ ids: [open.id] })}
                onDelete={() => {
                  setOpenId(null)
                  act(deleteDeadLetter(sinkId, open.id).then(() => 'The dead letter is deleted.'))
                }}
              />
            )
          }
        >
          <RowList
            label="Dead letters"
            class="letter-rows"
            head={['Since', 'Provider', 'Type', 'Subject', 'Error']}
            rows={letters}
            keyOf={({ id }) => id}
            cells={cellsOf}
            openKey={openId}
            onOpen={({ id }) => setOpenId(id)}
          />
          {reading.value?.hasMore === true && (
            <button type="button" onClick={() => setPages(pages + 1)}>
              Show more
            </button>
          )}
        </WithDetail>
      )}
    </section>
  )
}

async function readPages(
  sinkId: string,
  pages: number,
  signal: AbortSignal,
): Promise<{ readonly letters: readonly ListedDeadLetter[]; readonly hasMore: boolean }> {
  const letters: ListedDeadLetter[] = []
  let token = ''
  for (let page = 0; page < pages; page += 1) {
    const { dead_letters, next_page_token } = await readDeadLetters(sinkId, token, signal)
    letters.push(...dead_letters)
    token = next_page_token
    if (token === '') break
  }
  return { letters, hasMore: token !== '' }
}

function cellsOf({ dead_letter_time, provider_id, event_type, subject, error, is_requested }: ListedDeadLetter) {
  return (
    <>
      <span class="when">
        <Time value={dead_letter_time} />
      </span>
      {rowText('provider', provider_id)}
      {rowText('type', event_type.replace(/^svc\.audit\./, ''))}
      {rowText('subject', subject)}
      {is_requested ? <span class="badge is-faulted">being sent</span> : rowText('error', error)}
    </>
  )
}

function LetterDetail(props: {
  readonly sinkId: string
  readonly letter: ListedDeadLetter
  readonly onClose: () => void
  readonly onSend: () => void
  readonly onDelete: () => void
}) {
  const { sinkId, letter, onClose, onSend, onDelete } = props
  const [isSure, setSure] = useState(false)
  const detail = useData((signal) => readDeadLetter(sinkId, letter.id, signal), [letter.id])
  return (
    <Detail title="Dead letter" onClose={onClose}>
      <p class="notice is-bad">
        <Icon name="warning" />
        <PlainText text={letter.error} />
      </p>
      <p class="row">
        <button type="button" class="primary" disabled={letter.is_requested} onClick={onSend}>
          <Icon name="send" />
          {letter.is_requested ? 'Being sent' : 'Send again'}
        </button>
        {/* The event is lost then. */}
        <button type="button" onClick={() => (isSure ? onDelete() : setSure(true))}>
          {isSure ? 'Delete for good?' : 'Delete'}
        </button>
      </p>
      <Fields
        fields={[
          ['Type', <PlainText key="type" text={letter.event_type} />],
          ['Subject', <PlainText key="subject" text={letter.subject} />],
          ['Provider', <PlainText key="provider" text={letter.provider_id} />],
          ['Attempts', String(letter.attempts)],
          ['Event of', <Time key="time" value={letter.time} isExact={true} />],
          ['Dead letter since', <Time key="since" value={letter.dead_letter_time} isExact={true} />],
        ]}
      />
      {detail.error !== null && <Failure error={detail.error} />}
      {detail.value !== null && (
        <details open={true}>
          <summary>The event</summary>
          <JsonText value={detail.value.event} />
        </details>
      )}
    </Detail>
  )
}
