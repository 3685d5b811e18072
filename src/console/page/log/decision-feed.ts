// Follows the decision log of a project: begins again when the service returns, and ends when the view does.
import { useEffect, useState } from 'preact/hooks'
import { ApiError, connection, openStream, readSession } from '../api.ts'
import type { LiveList } from '../live-list.ts'
import { readServerEvents, type StreamEvent } from '../server-events.ts'
import { type DecisionLine, entityText, type ReceivedLine } from './logged-decision.ts'

/** Which decisions to receive. Empty: all. */
export interface LineFilter {
  readonly decision: string
  readonly subject: string
  readonly action: string
  readonly resource: string
}

/** `refused`: the service does not stream, and the page does not ask again. */
export interface FeedState {
  readonly status: 'connecting' | 'live' | 'away' | 'refused'
  readonly error: ApiError | null
  /** Percentage of the calls that are in the log. */
  readonly percent: number
  /** Of lines that the service has left out, because the page reads too slowly. */
  readonly skippedBytes: number
}

const RETRY_MS = 1000

const connecting: FeedState = { status: 'connecting', error: null, percent: 100, skippedBytes: 0 }

let lines = 0

function received(data: string): ReceivedLine {
  const line = JSON.parse(data) as DecisionLine
  const { subject, action, resource, user, policies, error, request_id, id } = line
  const names = policies?.map(({ name }) => name) ?? []
  const entities = [subject, resource, user].map(entityText)
  lines += 1
  return {
    key: String(lines),
    line,
    text: [...entities, action, ...names, error?.kind, error?.message, request_id, id].join('\n').toLowerCase(),
  }
}

/** Follows the log while the component is shown. `retry` asks again after a refusal. */
export function useDecisionFeed(projectId: string, filter: LineFilter, list: LiveList<ReceivedLine>) {
  const [state, setState] = useState<FeedState>(connecting)
  const [retries, setRetries] = useState(0)
  useEffect(() => {
    const control = new AbortController()
    const { signal } = control
    const take = (events: readonly StreamEvent[]): void => {
      // Of a stream that has ended, such as that of another filter.
      if (signal.aborted) return
      list.add(events.flatMap(({ name, data }) => (name === 'decision' ? [received(data)] : [])))
      for (const { name, data } of events) {
        const value = name === 'decision' ? null : (JSON.parse(data) as Record<string, number>)
        if (name === 'hello')
          setState((before) => ({ ...before, status: 'live', error: null, percent: value?.sample_percent ?? 100 }))
        else if (name === 'skipped')
          setState((before) => ({ ...before, skippedBytes: before.skippedBytes + (value?.bytes ?? 0) }))
      }
    }
    void follow(projectId, filter, take, setState, signal)
    return () => control.abort()
  }, [projectId, filter.decision, filter.subject, filter.action, filter.resource, retries])
  const retry = (): void => {
    setState(connecting)
    setRetries((count) => count + 1)
  }
  return { ...state, retry }
}

async function follow(
  projectId: string,
  filter: LineFilter,
  take: (events: readonly StreamEvent[]) => void,
  setState: (change: (before: FeedState) => FeedState) => void,
  signal: AbortSignal,
): Promise<void> {
  const query = new URLSearchParams(Object.entries(filter).filter(([, value]) => value !== ''))
  while (!signal.aborted) {
    try {
      await readServerEvents(await openStream(`/access/v1/decisions?${query}`, { project: projectId, signal }), take)
    } catch (failure) {
      if (signal.aborted) return
      // Others are broken connections.
      if (failure instanceof ApiError) {
        setState((before) => ({ ...before, status: 'refused', error: failure }))
        return
      }
    }
    if (signal.aborted) return
    setState((before) => ({ ...before, status: 'away' }))
    // The session may have ended.
    await readSession()
    await isBack(signal)
  }
}

/** Resolves when the service answers, at the earliest after a pause. */
async function isBack(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  while (connection.value.isAway && !signal.aborted)
    await new Promise<void>((resolve) => {
      const end = connection.subscribe(() => {
        end()
        resolve()
      })
      signal.addEventListener('abort', () => {
        end()
        resolve()
      })
    })
}
