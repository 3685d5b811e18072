// Ends a long response when the credentials of its request are no longer accepted.

/** Milliseconds after which the credentials are checked again. */
const CHECK_MS = 5000

type IsStillAllowed = () => Promise<boolean>

const monotonicMs = (): number => performance.now()

/**
 * Returns the chunks, and ends early if the credentials were revoked. For contents whose incomplete form can be recognized. `nowMs`: a
 * clock that is never set back, milliseconds.
 */
export function endWhenRevoked<T>(
  chunks: AsyncIterator<T, void>,
  isStillAllowed: IsStillAllowed,
  nowMs: () => number = monotonicMs,
): AsyncGenerator<T, void> {
  return untilRevoked(chunks, isStillAllowed, nowMs, () => undefined)
}

/**
 * Returns the chunks, and throws if the credentials were revoked: the connection is then closed without the end of the body, so that the client
 * sees an incomplete answer. `nowMs`: as for `endWhenRevoked`.
 */
export function failWhenRevoked<T>(
  chunks: AsyncIterator<T, void>,
  isStillAllowed: IsStillAllowed,
  nowMs: () => number = monotonicMs,
): AsyncGenerator<T, void> {
  return untilRevoked(chunks, isStillAllowed, nowMs, () => {
    throw new Error('the credentials of the request were revoked')
  })
}

async function* untilRevoked<T>(
  chunks: AsyncIterator<T, void>,
  isStillAllowed: IsStillAllowed,
  nowMs: () => number,
  onRevoked: () => void,
): AsyncGenerator<T, void> {
  try {
    let checkedMs = nowMs()
    for (;;) {
      const { value, done } = await chunks.next()
      if (done === true) return
      if (nowMs() - checkedMs >= CHECK_MS) {
        if (!(await isStillAllowed())) {
          onRevoked()
          return
        }
        checkedMs = nowMs()
      }
      yield value
    }
  } finally {
    // The client has left, or has lost its rights.
    await chunks.return?.()
  }
}
