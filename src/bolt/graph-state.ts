// The node in which the service keeps its state of a database: the number of writes, which writes were committed last, and the names of
// properties that resolvers supply.
import { ThrownServiceError } from '../kernel/errors.ts'
import type { BoltRecord, BoltTransaction } from './bolt-server.ts'
import { STATE_LABEL } from './print/names.ts'

/** The last writes whose ids the node has. */
export const COMMITS_KEPT = 256

/** One attempt to write. */
export interface CommitMark {
  /** Random. */
  readonly id: string
  /** The version that the attempt creates. */
  readonly version: number
}

/** Whether an attempt was committed. `unknown`: too many others have followed. */
export type CommitOutcome = 'committed' | 'lost' | 'unknown'

/** The state that requests read. */
export interface GraphState {
  /** Counts the writes of all services. */
  readonly version: number
  /** Names of properties that resolvers supply for some element, now or earlier. */
  readonly externalNames: ReadonlySet<string>
  /** The ids of the last writes; the last one is that of `version`. */
  readonly commits: readonly string[]
}

/** The query of the state. */
export const STATE_QUERY = `MATCH (s:${STATE_LABEL} {key: 'state'}) RETURN s.version AS version, s.external_names AS externalNames, s.commits AS commits`

/** The state in the records of STATE_QUERY. */
export function stateOf(records: readonly BoltRecord[]): GraphState {
  const [first] = records
  const texts = (value: unknown): string[] => (Array.isArray(value) ? (value as string[]) : [])
  return {
    version: Number(first?.version ?? 0),
    externalNames: new Set(texts(first?.externalNames)),
    commits: texts(first?.commits),
  }
}

/**
 * Locks the node of the state: writes of all services follow each other, and each sees what the one before has written. Rejects if the
 * database was not provisioned.
 */
export async function lockState(transaction: BoltTransaction): Promise<CommitMark> {
  const id = crypto.randomUUID()
  const records = await transaction.run(
    `MATCH (s:${STATE_LABEL} {key: 'state'}) SET s.version = s.version + 1, s.commits = (coalesce(s.commits, []) + [$id])[-${COMMITS_KEPT}..] RETURN s.version AS version, s.copy AS copy`,
    { id },
  )
  const [state] = records
  if (state === undefined) throw new Error('the graph database has no state of the service: it was not provisioned')
  if (state.copy != null) {
    throw new ThrownServiceError({
      kind: 'unavailable',
      message: 'the graph database has an unfinished copy, and nothing is written until it is finished',
    })
  }
  return { id, version: Number(state.version) }
}

/** Whether an attempt was committed, in a state that was read after it ended. */
export function outcomeOf({ id, version }: CommitMark, state: Pick<GraphState, 'version' | 'commits'>): CommitOutcome {
  if (state.commits.includes(id)) return 'committed'
  return state.version - version < state.commits.length ? 'lost' : 'unknown'
}
