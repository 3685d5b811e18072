import { expect, test } from 'vitest'
import { endWhenRevoked } from '../../../src/http/revocable-stream.ts'

/** Reads a stream of ten chunks, each a second after the one before. `revokedS`: when the credentials are revoked. */
async function readWith(revokedS: number): Promise<{ readonly chunks: readonly string[]; readonly isClosed: boolean }> {
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
  for await (const chunk of endWhenRevoked(source(), isAllowed, () => seconds * 1000)) chunks.push(chunk)
  return { chunks, isClosed }
}

test('a stream ends some seconds after its credentials were revoked, and closes its source', async () => {
  expect((await readWith(100)).chunks).toHaveLength(10)
  const revoked = await readWith(3)
  expect(revoked.chunks.length).toBeGreaterThan(2)
  expect(revoked.chunks.length).toBeLessThan(8)
  expect(revoked.isClosed).toBe(true)
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
