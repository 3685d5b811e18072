// A caller that was identified before the graph of the project was open is identified again afterwards.
import { expect, test } from 'vitest'
import { identifyWhenReady } from '../../../src/http/identify-caller.ts'

test('resolves synchronously if nothing must be opened', () => {
  const asked: string[] = []
  const who = identifyWhenReady(
    () => `ann ${asked.push('asked')}`,
    () => null,
  )
  expect([who, asked]).toEqual(['ann 1', ['asked']])
})

test.each(['at once', 'later'])(
  'identifies the caller again after an opening, if the first result came %s',
  async (when) => {
    let revoked = false
    const opened: string[] = []
    const who = identifyWhenReady<string | null>(
      () => {
        const found = revoked ? null : 'ann'
        return when === 'later' ? Promise.resolve(found) : found
      },
      async (found) => {
        opened.push(String(found))
        revoked = true
      },
    )
    expect(await who).toBe(null)
    expect(opened).toEqual(['ann'])
  },
)

test('opens nothing for an unknown caller', async () => {
  const who = identifyWhenReady<string | null>(
    () => null,
    (found) => (found === null ? null : Promise.reject(new Error('opened'))),
  )
  expect(await who).toBe(null)
})
