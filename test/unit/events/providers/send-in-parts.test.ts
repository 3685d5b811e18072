// Batches in parts: limits, halving for a refused event, and what a failed part delivered.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { OutgoingEvent } from '../../../../src/events/providers/provider.ts'
import { AcknowledgedAhead, type PartOutcome, sendInParts } from '../../../../src/events/providers/send-in-parts.ts'
import { outgoingEvents } from '../../../support/outgoing-events.ts'

const limits = { count: 8, bytes: 1000, bytesOf: ({ data }: OutgoingEvent) => data.length }
const idOf = ({ attributes }: OutgoingEvent): string => attributes.id as string
const open = new AbortController().signal
const events = outgoingEvents(0, 20, 3, 100)

function refuses(refused: ReadonlySet<string>, sent: OutgoingEvent[]) {
  return async (part: readonly OutgoingEvent[]): Promise<PartOutcome> => {
    if (part.some((event) => refused.has(idOf(event)))) return { kind: 'refused', error: 'no', isFinal: true }
    sent.push(...part)
    return { kind: 'delivered' }
  }
}

describe('a batch in parts', () => {
  it('keeps the limits of count and bytes, and sends a single event above them', async () => {
    const sizes: number[][] = []
    const large = outgoingEvents(20, 1, 3, 5000)
    const outcome = await sendInParts(
      [...events, ...large],
      1000,
      limits,
      new AcknowledgedAhead(),
      open,
      async (part) => {
        sizes.push([part.length, part.reduce((sum, event) => sum + event.data.length, 0)])
        return { kind: 'delivered' }
      },
    )
    expect(outcome).toEqual({ kind: 'delivered' })
    expect(sizes.every(([count = 0, bytes = 0]) => count <= 8 && (bytes <= 1000 || count === 1))).toBe(true)
    expect(sizes.reduce((sum, [count = 0]) => sum + count, 0)).toBe(21)
  })

  it('names the refused event for any set of refused events, and delivers each other one once, in order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(19)), async (numbers) => {
        const refused = new Set(numbers.map((number) => `graph-${number}`))
        const sent: OutgoingEvent[] = []
        const found: string[] = []
        const ahead = new AcknowledgedAhead()
        for (let at = 0; at < events.length; ) {
          const outcome = await sendInParts(events.slice(at), 1000, limits, ahead, open, refuses(refused, sent))
          if (outcome.kind !== 'refused') break
          at += outcome.delivered
          found.push(idOf(events[at] as OutgoingEvent))
          at++
        }
        expect(found).toEqual(events.map(idOf).filter((id) => refused.has(id)))
        expect(sent.map(idOf)).toEqual(events.map(idOf).filter((id) => !refused.has(id)))
      }),
    )
  })

  it('does not send again what a failed part delivered', async () => {
    const ahead = new AcknowledgedAhead()
    const parts: string[][] = []
    const send = async (part: readonly OutgoingEvent[]): Promise<PartOutcome> => {
      parts.push(part.map(idOf))
      if (parts.length > 1) return { kind: 'delivered' }
      ahead.add([part[0], part[1], part[3]] as OutgoingEvent[])
      return { kind: 'retry', error: 'lost' }
    }
    const batch = events.slice(0, 5)
    const first = await sendInParts(batch, 1000, limits, ahead, open, send)
    expect(first).toEqual({ kind: 'retry', delivered: 2, error: 'lost' })
    expect(await sendInParts(batch.slice(2), 1000, limits, ahead, open, send)).toEqual({ kind: 'delivered' })
    expect(parts).toEqual([batch.map(idOf), ['graph-2', 'graph-4']])
  })

  it('starts no part after the deadline', async () => {
    const outcome = await sendInParts(events, 1000, limits, new AcknowledgedAhead(), open, async () => {
      await Bun.sleep(1005)
      return { kind: 'delivered' }
    })
    expect(outcome).toMatchObject({ kind: 'retry', error: 'no acknowledgement within 1000 milliseconds' })
    expect((outcome as { delivered: number }).delivered).toBeGreaterThan(0)
  })

  it('ends at once when the connection is closed', async () => {
    const closed = new AbortController()
    const sending = sendInParts(events, 60_000, limits, new AcknowledgedAhead(), closed.signal, async (part) => {
      if (part.some((event) => idOf(event) === 'graph-8')) await new Promise(() => undefined)
      return { kind: 'delivered' }
    })
    await Bun.sleep(10)
    closed.abort()
    expect(await sending).toEqual({ kind: 'retry', delivered: 7, error: 'the connection is closed' })
  })
})
