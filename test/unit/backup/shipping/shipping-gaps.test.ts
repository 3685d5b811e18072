// The gaps in shipped history: what `backups moments` lists between the periods that can be restored.
import { describe, expect, test } from 'vitest'
import {
  findFault,
  restorablePeriods,
  type ShippedObjects,
  shippingGaps,
} from '../../../../src/backup/shipping/moments.ts'
import { shipmentName } from '../../../../src/backup/shipping/shipment-name.ts'

const START = Date.parse('2026-11-23T03:00:00Z')
const at = (seconds: number): number => START + seconds * 1000

/** A generation with objects at these seconds; the state is unchanged until a second before each. */
function generation(name: string, times: readonly number[]) {
  return times.map((seconds, sequence) =>
    shipmentName({
      generation: name,
      sequence,
      kind: sequence === 0 ? 'base' : 'segment',
      timeMs: at(seconds),
      unchangedUntilMs: sequence === 0 ? at(seconds) : at(seconds - 1),
      isEncrypted: false,
    }),
  )
}
const shipped = (...generations: readonly (readonly ReturnType<typeof shipmentName>[])[]): ShippedObjects =>
  new Map(generations.map((objects) => [objects[0]?.generation ?? '', objects]))
const shown = (objects: ShippedObjects) =>
  shippingGaps(objects).map(({ fromMs, toMs, reason }) => [(fromMs - START) / 1000, (toMs - START) / 1000, reason])

describe('gaps', () => {
  const objects = generation('one', [0, 10, 20, 30, 40])

  test('do not exist while objects follow each other, in one generation or in several that overlap', () => {
    expect(shown(shipped(objects))).toEqual([])
    expect(shown(shipped(objects, generation('two', [35, 45])))).toEqual([])
    expect(shown(new Map())).toEqual([])
  })

  test('are where nothing was shipped', () => {
    const outage = objects.map((object, sequence) =>
      sequence === 3 ? { ...object, timeMs: at(300), unchangedUntilMs: at(20) } : object,
    )
    expect(shown(shipped(outage.slice(0, 4)))).toEqual([[20, 300, 'nothing was shipped']])
    expect(shown(shipped(objects, generation('two', [500, 510])))).toEqual([[40, 500, 'nothing was shipped']])
  })

  test('name a missing object, which hides all that follow it in its generation', () => {
    const damaged = objects.filter(({ sequence }) => sequence !== 2)
    const reason = 'the object 2 of the generation one is missing: 2 objects after it cannot be restored'
    expect(shown(shipped(damaged))).toEqual([[10, 40, reason]])
    // The next generation ends the gap; without a missing object the list is empty.
    const next = generation('two', [42, 50])
    expect(shown(shipped(damaged, next))).toEqual([[10, 42, reason]])
    expect(shown(shipped(objects, next))).toEqual([])
    const double = [...objects.slice(0, 2), objects[1]!, ...objects.slice(2)]
    expect(shown(shipped(double))).toEqual([
      [10, 40, 'the object 2 of the generation one is there twice: 4 objects after it cannot be restored'],
    ])
  })

  test('name a generation without its base, before, after and without others', () => {
    const reason = 'the generation one has no base: 4 objects after it cannot be restored'
    expect(shown(shipped(objects.slice(1)))).toEqual([[10, 40, reason]])
    expect(shown(shipped(objects.slice(1), generation('two', [100, 110])))).toEqual([[10, 40, reason]])
    expect(shown(shipped(generation('zero', [-50, -40]), objects.slice(1)))).toEqual([[-40, 40, reason]])
  })

  test('are faults only if shipped objects cannot be restored', () => {
    const damaged = objects.filter(({ sequence }) => sequence !== 2)
    const next = generation('two', [100, 110])
    expect(shippingGaps(shipped(damaged, next)).map(({ isFault }) => isFault)).toEqual([true])
    expect(shippingGaps(shipped(damaged)).map(({ isFault }) => isFault)).toEqual([true])
    expect(shippingGaps(shipped(objects, next)).map(({ isFault }) => isFault)).toEqual([false])
  })

  test('and periods together contain every moment between the first and the last object', () => {
    const all = shipped(
      objects.filter(({ sequence }) => sequence !== 3),
      generation('two', [100, 110]),
    )
    const covered = [...restorablePeriods(all), ...shippingGaps(all)]
    for (let second = 0; second <= 110; second++)
      expect([second, covered.some(({ fromMs, toMs }) => fromMs <= at(second) && at(second) <= toMs)]).toEqual([
        second,
        true,
      ])
  })
})

describe('the first fault', () => {
  const objects = generation('one', [0, 10, 20, 30, 40])

  test('is an object that is missing, also the last one, or there twice', () => {
    expect(findFault('one', objects, 4)).toBeNull()
    for (const lost of [0, 2, 4])
      expect(
        findFault(
          'one',
          objects.filter(({ sequence }) => sequence !== lost),
          4,
        ),
      ).toBe(`the object ${lost} of the generation one is missing`)
    expect(findFault('one', [], 0)).toBe('the object 0 of the generation one is missing')
    expect(findFault('one', [...objects.slice(0, 2), ...objects.slice(1)], 4)).toBe(
      'the object 2 of the generation one is there twice',
    )
  })

  test('is not an object after the last one that is known', () => {
    expect(findFault('one', objects, 3)).toBeNull()
    expect(findFault('one', objects.slice(0, 4), 3)).toBeNull()
  })
})
