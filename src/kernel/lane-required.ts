// Work that the serving loop gives up because it is too large to run there; a lane process runs it again from the start.

export interface LaneRequirement {
  /** The time limit of this request in milliseconds, where it is not that of its route. */
  readonly limitMs?: number
  /** Whether the request will write, so that it may not run twice. Absent: not known. */
  readonly isWrite?: boolean
}

/**
 * Thrown while a request is answered inline, before it has had any effect. The dispatcher catches it and hands the whole
 * request to a lane. Code that catches failures of one policy, one item or one call must let this error pass.
 */
export class LaneRequiredError extends Error {
  override readonly name = 'LaneRequiredError'
  readonly reason: string
  readonly limitMs: number | undefined
  readonly isWrite: boolean | undefined

  /** `reason` names what was too large: `time`, `rows`, `regular expression`. It is shown in logs and metrics only. */
  constructor(reason: string, { limitMs, isWrite }: LaneRequirement = {}) {
    super(`the request is too large for the serving loop: ${reason}`)
    this.reason = reason
    this.limitMs = limitMs
    this.isWrite = isWrite
  }
}

/** Runs the work; a LaneRequiredError from it is thrown on with what the caller knows about the request. */
export function withLaneRequirement<T>(requirement: LaneRequirement, work: () => T): T {
  try {
    const done = work()
    return done instanceof Promise ? (done.catch((fault: unknown) => rethrow(fault, requirement)) as T) : done
  } catch (fault) {
    return rethrow(fault, requirement)
  }
}

function rethrow(fault: unknown, requirement: LaneRequirement): never {
  throw fault instanceof LaneRequiredError ? new LaneRequiredError(fault.reason, requirement) : fault
}
