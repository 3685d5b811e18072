// The fetches of one request from a graph in a database server. Each has the time limit of the execution that needs it.
import { ExecutionError } from '../engine/errors.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import type { ExecutionTime, ExecutionTimes } from '../kernel/request/execution-times.ts'
import type { RunningReads } from '../kernel/request/remote-reads.ts'
import { type BoltServer, isTimeError } from './bolt-server.ts'
import type { BoltRead, FetchedGraph, FetchRequests } from './fetched-graph.ts'
import { writeError } from './write-error.ts'

/** Fetches between the attempts of the running work. */
export function requestFetches(
  server: BoltServer,
  database: string | null,
  { reads, executions }: RunningReads,
  fetched: FetchedGraph,
): FetchRequests {
  return {
    require(fetch) {
      if (fetched.failure !== null) throw fetched.failure
      const execution = openExecution(executions)
      return reads.require(async () => {
        const deadlineMs = execution?.deadlineMs ?? reads.deadlineMs
        const run: BoltRead = (text, parameters) =>
          server.read(database, { text, parameters }, Math.max(1, deadlineMs - performance.now()))
        try {
          await fetch(run, await server.module())
        } catch (thrown) {
          const error = await server.lateError(thrown, database)
          // The execution ends itself in the next attempt.
          if (execution !== null && isTimeError(error)) execution.state = 'late'
          // The next attempt fails where it needs the graph: the other items of a batch do not.
          else if (isUnreadable(error)) {
            fetched.failure = error
            // The time limit that was reached in the meantime is not the cause.
            if (execution !== null) execution.state = 'done'
          }
          // Outside of the features, which know only errors of the service.
          else throw error instanceof ExecutionError ? writeError(error) : error
        }
      })
    },
  }
}

/** Whether the server is away, or the request needs too much of its graph. */
function isUnreadable(error: unknown): error is ThrownServiceError {
  return error instanceof ThrownServiceError && (error.error.kind === 'unavailable' || error.error.kind === 'budget')
}

/** The execution to which the reads of this moment belong; null: they belong to none that is in progress. */
export function openExecution({ current }: ExecutionTimes): ExecutionTime | null {
  return current?.state === 'open' ? current : null
}
