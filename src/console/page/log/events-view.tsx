// The event sink of a project: the delivery to each provider, events as they are sent, and dead letters.
import { useEffect, useRef, useState } from 'preact/hooks'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { Icon } from '../parts/icon.tsx'
import { PlainText } from '../parts/plain-text.tsx'
import { Time } from '../parts/time.tsx'
import { useData } from '../use-data.ts'
import { DeadLettersView } from './dead-letters-view.tsx'
import { FollowView } from './follow-view.tsx'
import { readSink, type ShownProvider, type ShownRoute } from './sink-api.ts'

/** While events wait, the state is read again for a while. Not always: a read is recorded, and may cause an event itself. */
const WAITING_REFRESH_MS = 2000
const WAITING_REFRESHES = 15

/** The view. Events contain data of the graph: only editors may read them. */
export function EventsView({ projectId, isEditor }: { readonly projectId: string; readonly isEditor: boolean }) {
  const reading = useData((signal) => readSink(projectId, signal), [projectId])
  const [lettersEpoch, setLettersEpoch] = useState(0)
  const refreshes = useRef(0)
  const sink = reading.value
  const isWaiting = sink?.providers.some(({ delivery }) => (delivery?.backlog.events ?? 0) > 0) === true
  useEffect(() => {
    if (!isWaiting || refreshes.current >= WAITING_REFRESHES) return
    const timer = setTimeout(() => {
      if (document.hidden) return
      refreshes.current += 1
      reading.reload()
    }, WAITING_REFRESH_MS)
    return () => clearTimeout(timer)
  }, [sink])
  if (reading.error !== null && sink === null) return <Failure error={reading.error} retry={reading.reload} />
  if (sink === null && reading.isLoading) return <Loading />
  if (sink === null)
    return (
      <Empty icon="log" title="This project has no event sink">
        <p>
          A sink sends events to Kafka, a queue or an HTTP endpoint.{' '}
          <a href="/docs" target="_blank" rel="noreferrer">
            The documentation shows how to create one.
          </a>
        </p>
      </Empty>
    )
  const reload = (): void => {
    refreshes.current = 0
    reading.reload()
    setLettersEpoch((epoch) => epoch + 1)
  }
  return (
    <div class="stack">
      <div class="card-head">
        <h2>
          <PlainText text={sink.display_name || sink.name} />
        </h2>
        <button type="button" class="quiet" onClick={reload}>
          <Icon name="refresh" />
          Read again
        </button>
      </div>
      {reading.error !== null && <Failure error={reading.error} />}
      <ul class="sink-providers">
        {sink.providers.map((provider) => (
          <li key={provider.id} class="card">
            <Provider provider={provider} routes={sink.routes.filter((one) => one.provider_id === provider.id)} />
          </li>
        ))}
      </ul>
      {isEditor && <DeadLettersView key={lettersEpoch} sinkId={sink.id} onSent={reading.reload} />}
      {isEditor && <FollowView sinkId={sink.id} />}
    </div>
  )
}

const kinds: Readonly<Record<string, string>> = {
  streaming_broker: 'Kafka',
  event_topic: 'CloudEvents over HTTP',
  queue_service: 'AMQP queue',
  pub_sub: 'Pub/Sub',
}

function stateOf({ lastError, delivery }: ShownProvider): { readonly title: string; readonly class: string } {
  if (lastError !== '') return { title: 'failing', class: 'is-denied' }
  if (delivery === null) return { title: 'unknown', class: 'is-faulted' }
  if (delivery.backlog.events > 0) return { title: 'sending', class: 'is-faulted' }
  return { title: 'up to date', class: 'is-granted' }
}

function Provider({ provider, routes }: { readonly provider: ShownProvider; readonly routes: readonly ShownRoute[] }) {
  const { delivery, lastError } = provider
  const state = stateOf(provider)
  const number = (value: number): string => value.toLocaleString('en', { maximumFractionDigits: 1 })
  return (
    <>
      <div class="card-head">
        <div>
          <h3>
            <PlainText text={provider.name} />
          </h3>
          <small>
            {kinds[provider.kind] ?? provider.kind} <PlainText text={provider.place} />
          </small>
        </div>
        <span class={`badge ${state.class}`}>{state.title}</span>
      </div>
      {lastError !== '' && (
        <p class="notice is-bad">
          <Icon name="warning" />
          <span>
            <PlainText text={lastError} />
            {delivery?.last_error_time !== undefined && (
              <>
                {' '}
                (<Time value={delivery.last_error_time} />)
              </>
            )}
          </span>
        </p>
      )}
      {delivery !== null && (
        <dl class="figures delivery-numbers">
          {(
            [
              ['Waiting', number(delivery.backlog.events)],
              ['Delivered', number(delivery.delivered)],
              ['Per second', number(delivery.delivered_per_second)],
              ['Failed attempts', number(delivery.failed)],
              ['Dead letters', number(delivery.dead_lettered)],
              ['Dropped', number(delivery.skipped)],
              [
                'Last delivery',
                delivery.last_delivery_time === undefined ? 'never' : <Time value={delivery.last_delivery_time} />,
              ],
              ['Oldest waiting', delivery.backlog.oldest_time && <Time value={delivery.backlog.oldest_time} />],
            ] as const
          )
            .filter(([, value]) => value !== undefined)
            .map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
        </dl>
      )}
      <p class="routes">
        <small>Receives</small>
        {routes.length === 0 && ' nothing: no route names it'}
        {routes.map(({ event_type_key_values_filter: filter, stop_processing }, index) => (
          // Routes have an order and no names.
          <code key={index}>
            <PlainText
              text={[
                filter.event_type,
                ...(filter.context_key_value ?? []).map(({ key, value }) => `${key}=${value}`),
                ...(stop_processing === true ? ['(then stops)'] : []),
              ].join(' ')}
            />
          </code>
        ))}
      </p>
    </>
  )
}
