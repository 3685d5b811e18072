// Work that the serving loop gives up because it is too large to run there; a lane process runs it again from the start.

/**
 * Thrown while a request is answered inline, before it has had any effect. The dispatcher catches it and hands the whole
 * request to a lane. Code that catches failures of one policy, one item or one call must let this error pass.
 */
export class LaneRequiredError extends Error {
  override readonly name = 'LaneRequiredError'

  /** `reason` names what was too large: `time`, `rows`, `regular expression`. It is shown in logs and metrics only. */
  constructor(reason: string) {
    super(`the request is too large for the serving loop: ${reason}`)
  }
}
