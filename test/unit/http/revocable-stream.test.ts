import { expect, test } from 'vitest'
import { endWhenRevoked, failWhenRevoked } from '../../../src/http/revocable-stream.ts'

/** Reads a stream of ten chunks, each a second after the one before. `revokedS`: when the credentials are revoked. */
async function readWith(
  revokedS: number,
  stream = endWhenRevoked<string>,
): Promise<{ readonly chunks: readonly string[]; readonly isClosed: boolean; readonly error: unknown }> {
  let seconds = 0
  let isClosed = false
  async function* source(): AsyncGenerator<string, void> {
    try {
      for (let index = 0; index < 10; index += 1) {
        seconds += 1
        yield `chunk ${index}`
      }
    } finally {
      isClosed = true
    }
  }
  const chunks: string[] = []
  const isAllowed = async (): Promise<boolean> => seconds < revokedS
  let error: unknown = null
  try {
    for await (const chunk of stream(source(), isAllowed, () => seconds * 1000)) chunks.push(chunk)
  } catch (thrown) {
    error = thrown
  }
  return { chunks, isClosed, error }
}

test('a stream ends some seconds after its credentials were revoked, and closes its source', async () => {
  expect((await readWith(100)).chunks).toHaveLength(10)
  const revoked = await readWith(3)
  expect(revoked.chunks.length).toBeGreaterThan(2)
  expect(revoked.chunks.length).toBeLessThan(8)
  expect([revoked.isClosed, revoked.error]).toEqual([true, null])
})

test('a stream whose incomplete form cannot be recognized fails instead', async () => {
  expect((await readWith(100, failWhenRevoked)).error).toBeNull()
  const { chunks, isClosed, error } = await readWith(3, failWhenRevoked)
  expect(chunks.length).toBeLessThan(8)
  expect([isClosed, String(error)]).toEqual([true, 'Error: the credentials of the request were revoked'])
})

test('a client that leaves closes the source', async () => {
  let isClosed = false
  async function* source(): AsyncGenerator<string, void> {
    try {
      for (;;) yield 'chunk'
    } finally {
      isClosed = true
    }
  }
  const stream = endWhenRevoked(source(), async () => true)
  await stream.next()
  await stream.return()
  expect(isClosed).toBe(true)
})
