// The states of a pipeline: that of its suggested property mappings, and that of its runs. All changes of a state go through
// `nextStatus`; docs/how-to/entity-matching.md shows the tables.
import { assert } from '../kernel/assert.ts'

/** The states of suggestions and of runs. */
export const matchingStatuses = ['INVALID', 'PENDING', 'IN_PROGRESS', 'SUCCESS', 'ERROR'] as const
/** The state of suggestions or of runs. */
export type MatchingStatus = (typeof matchingStatuses)[number]

/** A row of a table of states. */
export interface StatusTransition<Event extends string> {
  readonly from: readonly MatchingStatus[]
  readonly event: Event
  readonly to: MatchingStatus
}

/** An event that changes the state of suggestions. */
export type SuggestionEvent = 'requested' | 'begun' | 'suggested' | 'nothing to compare' | 'failed'
/** An event that changes the state of runs. */
export type RunEvent = 'requested' | 'begun' | 'interrupted' | 'completed' | 'nothing to compare' | 'failed'

const settled: readonly MatchingStatus[] = ['PENDING', 'INVALID', 'SUCCESS', 'ERROR']

/** The states of suggested property mappings. A pipeline begins with PENDING. */
export const suggestionTransitions: readonly StatusTransition<SuggestionEvent>[] = [
  { from: settled, event: 'requested', to: 'PENDING' },
  { from: ['PENDING', 'INVALID', 'ERROR', 'IN_PROGRESS'], event: 'begun', to: 'IN_PROGRESS' },
  { from: ['IN_PROGRESS'], event: 'suggested', to: 'SUCCESS' },
  { from: ['IN_PROGRESS'], event: 'nothing to compare', to: 'INVALID' },
  { from: ['IN_PROGRESS'], event: 'failed', to: 'ERROR' },
]

/** The states of runs. A pipeline begins with PENDING, and is PENDING again from a request until its run begins. */
export const runTransitions: readonly StatusTransition<RunEvent>[] = [
  { from: settled, event: 'requested', to: 'PENDING' },
  { from: settled, event: 'begun', to: 'IN_PROGRESS' },
  { from: ['IN_PROGRESS'], event: 'interrupted', to: 'IN_PROGRESS' },
  { from: ['IN_PROGRESS'], event: 'completed', to: 'SUCCESS' },
  { from: ['IN_PROGRESS'], event: 'nothing to compare', to: 'INVALID' },
  { from: ['IN_PROGRESS'], event: 'failed', to: 'ERROR' },
]

/** The state after an event; null: the event is not possible in this state. */
export function nextStatus<Event extends string>(
  transitions: readonly StatusTransition<Event>[],
  from: MatchingStatus,
  event: Event,
): MatchingStatus | null {
  return transitions.find((row) => row.event === event && row.from.includes(from))?.to ?? null
}

/** As `nextStatus`, for an event that the caller has found possible. */
export function requiredStatus<Event extends string>(
  transitions: readonly StatusTransition<Event>[],
  from: MatchingStatus,
  event: Event,
): MatchingStatus {
  const to = nextStatus(transitions, from, event)
  assert(to !== null, `\`${event}\` is possible in the state ${from}`)
  return to
}
