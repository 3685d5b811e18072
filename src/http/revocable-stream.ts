// Ends a long response when the credentials of its request are no longer accepted.

/** Milliseconds after which the credentials are checked again. */
const CHECK_MS = 5000

/**
 * Returns the chunks, and ends early if the credentials were revoked. For contents whose incomplete form can be recognized. `nowMs`: a
 * clock that is never set back, milliseconds.
 */
export async function* endWhenRevoked(
  chunks: AsyncIterator<string, void>,
  isStillAllowed: () => Promise<boolean>,
  nowMs: () => number = () => performance.now(),
): AsyncGenerator<string, void> {
  try {
    let checkedMs = nowMs()
    for (;;) {
      const { value, done } = await chunks.next()
      if (done === true) return
      if (nowMs() - checkedMs >= CHECK_MS) {
        if (!(await isStillAllowed())) return
        checkedMs = nowMs()
      }
      yield value
    }
  } finally {
    // The client has left, or has lost its rights.
    await chunks.return?.()
  }
}
