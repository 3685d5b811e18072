// The events of a sink as they happen, from the outbox.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ApiError, AwayError } from '../api.ts'
import { LiveList } from '../live-list.ts'
import { Detail, Fields, WithDetail } from '../parts/detail.tsx'
import { Failure } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { JsonText, PlainText } from '../parts/plain-text.tsx'
import { RowList } from '../parts/row-list.tsx'
import { rowText } from '../parts/row-text.tsx'
import { Time } from '../parts/time.tsx'
import { useStore } from '../store.ts'
import { followSink, type OutboxEvent } from './sink-api.ts'

const INTERVAL_MS = 1000

/** The view. It reads events only after the user has asked for it, because it makes the service keep them a little longer. */
export function FollowView({ sinkId }: { readonly sinkId: string }) {
  const [isFollowing, setFollowing] = useState(false)
  const [missed, setMissed] = useState(0)
  const [error, setError] = useState<Error | null>(null)
  const [open, setOpen] = useState<OutboxEvent | null>(null)
  const list = useMemo(() => new LiveList<OutboxEvent>(), [sinkId])
  const { items, received, dropped } = useStore(list.state)
  useEffect(() => {
    if (!isFollowing) return
    const control = new AbortController()
    const { signal } = control
    const follow = async (): Promise<void> => {
      let position: string | null = null
      while (!signal.aborted) {
        try {
          const answer = await followSink(sinkId, position, signal)
          position = answer.position
          list.add(answer.events)
          setMissed((count) => count + answer.missed)
          setError(null)
          if (answer.has_more) continue
        } catch (failure) {
          if (signal.aborted) return
          setError(failure as Error)
          if (failure instanceof ApiError && failure.status !== 503) setFollowing(false)
          else if (!(failure instanceof AwayError || failure instanceof ApiError)) throw failure
        }
        await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))
      }
    }
    list.clear()
    void follow()
    return () => control.abort()
  }, [isFollowing, sinkId])
  return (
    <section class="card stack gap-12" aria-labelledby="followed">
      <div class="card-head">
        <h3 id="followed">Events as they happen</h3>
        <button type="button" aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
          <Icon name={isFollowing ? 'pause' : 'play'} />
          {isFollowing ? 'Stop' : 'Follow'}
        </button>
      </div>
      {error !== null && <Failure error={error} />}
      <p role="status">
        <small>
          {isFollowing || received > 0
            ? `${received.toLocaleString('en')} ${received === 1 ? 'event' : 'events'}${dropped > 0 ? `, ${dropped.toLocaleString('en')} older ones dropped` : ''}${
                missed > 0 ? `, ${missed.toLocaleString('en')} were removed before this page read them` : ''
              }`
            : 'Those that a route of the sink selects, also while a provider is down.'}
        </small>
      </p>
      {items.length > 0 && (
        <WithDetail
          detail={
            open === null ? null : (
              <Detail key={keyOf(open)} title="Event" onClose={() => setOpen(null)}>
                <Fields
                  fields={[
                    ['Type', <PlainText key="type" text={open.event.type} />],
                    ['Subject', <PlainText key="subject" text={open.event.subject} />],
                    ['Time', <Time key="time" value={open.event.time} isExact={true} />],
                    ['Providers', open.providers.join(', ')],
                  ]}
                />
                <JsonText value={open.event} />
              </Detail>
            )
          }
        >
          <RowList
            label="Events, newest first"
            class="event-rows"
            head={['Time', 'Type', 'Subject', 'Providers']}
            rows={items}
            keyOf={keyOf}
            cells={cellsOf}
            openKey={open === null ? null : keyOf(open)}
            onOpen={setOpen}
          />
        </WithDetail>
      )}
    </section>
  )
}

function keyOf({ event }: OutboxEvent): string {
  return `${event.source}${event.id}`
}

function cellsOf({ event, providers }: OutboxEvent) {
  return (
    <>
      <span class="when">
        <Time value={event.time} />
      </span>
      {rowText('type', event.type.replace(/^svc\.audit\./, ''))}
      {rowText('subject', event.subject)}
      {rowText('provider', providers.join(', '))}
    </>
  )
}
