// The error that moves a request from the event loop to a lane, which runs it again from the start
// (docs/decisions/0018-lanes.md).
import { RestartRequiredError } from './restart-required.ts'

/** Facts about the request that the caller of the work adds. */
interface LaneRequirement {
  /** The time limit of this request in milliseconds, if it differs from that of its route. */
  readonly limitMs?: number
  /** Whether the request will write, so that it may not run twice. Absent: not known. */
  readonly isWrite?: boolean
}

/**
 * Thrown while a request runs on the event loop, before it has had any effect. The dispatcher catches it and passes
 * the whole request to a lane. Code that catches failures of one policy, one item or one call must rethrow this error.
 */
export class LaneRequiredError extends RestartRequiredError {
  override readonly name = 'LaneRequiredError'
  readonly reason: string
  readonly limitMs: number | undefined
  readonly isWrite: boolean | undefined

  /** `reason`: what was too large, such as `time`, `rows` or `regular expression`. Shown in logs and metrics only. */
  constructor(reason: string, { limitMs, isWrite }: LaneRequirement = {}) {
    super(`the request is too large for the event loop: ${reason}`)
    this.reason = reason
    this.limitMs = limitMs
    this.isWrite = isWrite
  }
}

/** Runs the work, and adds `requirement` to a LaneRequiredError that it throws or rejects with. */
export function withLaneRequirement<T>(requirement: LaneRequirement, work: () => T): T {
  try {
    const result = work()
    return result instanceof Promise ? (result.catch((fault: unknown) => rethrow(fault, requirement)) as T) : result
  } catch (fault) {
    return rethrow(fault, requirement)
  }
}

function rethrow(fault: unknown, requirement: LaneRequirement): never {
  throw fault instanceof LaneRequiredError ? new LaneRequiredError(fault.reason, requirement) : fault
}
