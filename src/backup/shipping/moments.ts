// The moments that can be restored from the shipped objects of a place: each object has the state of one, and an unchanged state is that of
// all moments until its end.
import { OperationalError } from '../../kernel/errors.ts'
import type { BackupPlace } from '../places/place.ts'
import { parseShipmentName, SHIPPED_PREFIX, type ShipmentName } from './shipment-name.ts'

/** A moment between two objects that is further from the earlier one has no known state: shipping was interrupted. */
export const GAP_MS = 15_000

/** Objects that follow each other without a gap, and the moments between the first and the last. */
interface RestorablePeriod {
  readonly generation: string
  readonly fromMs: number
  readonly toMs: number
  /** Objects with a state of their own. */
  readonly objects: number
}

/** Moments between two periods, or after the last one, whose state is not known. */
export interface ShippingGap {
  readonly fromMs: number
  readonly toMs: number
  /** The missing object, or that nothing was shipped. */
  readonly reason: string
  /** True: objects were shipped that cannot be restored. False: nothing was shipped. */
  readonly isFault: boolean
}

/** The objects to apply in order, and the moment that they restore. */
interface RestorePlan {
  readonly objects: readonly ShipmentName[]
  readonly timeMs: number
}

/** Shipped objects by generation, the oldest first, each in order of the sequence. */
export type ShippedObjects = ReadonlyMap<string, readonly ShipmentName[]>

/** Lists the objects of a place. Rejects with PlaceError, or OperationalError if two objects have the same sequence. */
export async function listShipped(place: BackupPlace): Promise<ShippedObjects> {
  const found: ShipmentName[] = []
  for await (const { name } of place.list(SHIPPED_PREFIX)) {
    const object = parseShipmentName(name)
    if (object !== null) found.push(object)
  }
  found.sort((a, b) => (a.name < b.name ? -1 : 1))
  return Map.groupBy(found, ({ generation }) => generation)
}

/**
 * The part of a generation from its base to the first missing object. Throws OperationalError if the objects are not those of one
 * generation. Null: it has no base.
 */
function unbroken(objects: readonly ShipmentName[]): readonly ShipmentName[] | null {
  if (objects[0]?.kind !== 'base' || objects[0].sequence !== 0) return null
  const end = objects.findIndex(({ sequence }, at) => sequence !== at)
  return end === -1 ? objects : objects.slice(0, end)
}

/** The periods whose moments can be restored, the oldest first. */
export function restorablePeriods(shipped: ShippedObjects): readonly RestorablePeriod[] {
  const periods: RestorablePeriod[] = []
  for (const [generation, all] of shipped) {
    const objects = unbroken(all) ?? []
    let period: { fromMs: number; toMs: number; objects: number } | null = null
    for (const { timeMs, unchangedUntilMs } of objects) {
      if (period !== null) {
        period.toMs = Math.max(period.toMs, unchangedUntilMs)
        if (timeMs - period.toMs > GAP_MS) {
          periods.push({ generation, ...period })
          period = null
        }
      }
      if (period === null) period = { fromMs: timeMs, toMs: timeMs, objects: 1 }
      else {
        period.toMs = timeMs
        period.objects += 1
      }
    }
    if (period !== null) periods.push({ generation, ...period })
  }
  return periods.sort((a, b) => a.fromMs - b.fromMs || a.toMs - b.toMs)
}

/** The gaps in the shipped history, the oldest first: missing objects, and times in which nothing was shipped. */
export function shippingGaps(shipped: ShippedObjects): readonly ShippingGap[] {
  const hidden = [...shipped].flatMap(([generation, objects]) => hiddenAfterFault(generation, objects))
  const causeOf = (fromMs: number, toMs: number): Pick<ShippingGap, 'reason' | 'isFault'> => {
    const fault = hidden.find((one) => one.fromMs < toMs && one.toMs > fromMs)
    return { reason: fault?.reason ?? 'nothing was shipped', isFault: fault !== undefined }
  }
  const gaps: ShippingGap[] = []
  let coveredMs = Number.NEGATIVE_INFINITY
  for (const { fromMs, toMs } of restorablePeriods(shipped)) {
    if (coveredMs > Number.NEGATIVE_INFINITY && fromMs - coveredMs > GAP_MS)
      gaps.push({ fromMs: coveredMs, toMs: fromMs, ...causeOf(coveredMs, fromMs) })
    coveredMs = Math.max(coveredMs, toMs)
  }
  const [first] = restorablePeriods(shipped)
  for (const one of hidden) {
    const isBefore = first === undefined || one.fromMs < first.fromMs
    if (one.toMs > coveredMs) gaps.push({ ...one, fromMs: first === undefined ? one.fromMs : coveredMs })
    else if (isBefore && first !== undefined) gaps.push({ ...one, toMs: Math.min(one.toMs, first.fromMs) })
  }
  return gaps.sort((a, b) => a.fromMs - b.fromMs || a.toMs - b.toMs)
}

/** The moments that a generation does not restore because an object is missing, or there twice. */
function hiddenAfterFault(generation: string, objects: readonly ShipmentName[]): readonly ShippingGap[] {
  const kept = unbroken(objects)
  const [oldest, newest] = [objects[0], objects.at(-1)]
  if (oldest === undefined || newest === undefined || kept?.length === objects.length) return []
  const fault =
    kept === null ? `the generation ${generation} has no base` : findFault(generation, objects, objects.length - 1)
  const lost = objects.length - (kept?.length ?? 0)
  const reason = `${fault}: ${lost} ${lost === 1 ? 'object' : 'objects'} after it cannot be restored`
  return [{ fromMs: kept?.at(-1)?.timeMs ?? oldest.timeMs, toMs: newest.timeMs, reason, isFault: true }]
}

/**
 * The first object of a generation that is missing, or there twice, among those from the base to the object `last`. Null:
 * these are complete. `objects`: in order of the sequence.
 */
export function findFault(generation: string, objects: readonly ShipmentName[], last: number): string | null {
  for (let at = 0; at <= last; at++)
    if (objects[at]?.sequence !== at)
      return `the object ${at} of the generation ${generation} is ${isTwice(objects, at) ? 'there twice' : 'missing'}`
  return null
}

function isTwice(objects: readonly ShipmentName[], at: number): boolean {
  return (objects[at]?.sequence ?? at) < at
}

/**
 * Chooses the objects that restore the newest shipped state not later than `atMs`; null: the newest of all. Throws OperationalError if
 * the moment is before the first or after the last one, in a gap, or an object that it needs is missing.
 */
export function planRestore(shipped: ShippedObjects, atMs: number | null, address: string): RestorePlan {
  const periods = restorablePeriods(shipped)
  const first = periods[0]
  if (first === undefined) throw new OperationalError(`${address} contains no shipped changes of a service`)
  const lastMs = Math.max(...periods.map(({ toMs }) => toMs))
  if (atMs !== null && atMs < first.fromMs)
    throw new OperationalError(`${time(atMs)} is before the first moment that can be restored, ${time(first.fromMs)}`)
  if (atMs !== null && atMs > lastMs) throw new OperationalError(afterLast(shipped, atMs, lastMs))
  const fault = atMs === null ? findHidden(shipped, lastMs) : null
  if (fault !== null)
    throw new OperationalError(
      `the newest state cannot be restored: ${fault}; the last moment that can be restored is ${time(lastMs)}: name it with \`--at\``,
    )
  const until = atMs ?? lastMs
  let best: { objects: readonly ShipmentName[]; at: number; coveredMs: number } | null = null
  for (const all of shipped.values()) {
    const objects = unbroken(all) ?? []
    const at = objects.findLastIndex(({ timeMs }) => timeMs <= until)
    const found = objects[at]
    if (found === undefined) continue
    const coveredMs = Math.max(found.timeMs, objects[at + 1]?.unchangedUntilMs ?? found.timeMs)
    if (best === null || Math.min(coveredMs, until) >= Math.min(best.coveredMs, until))
      best = { objects, at, coveredMs }
  }
  const found = best?.objects[best.at]
  if (best === null || found === undefined)
    throw new OperationalError(`${address} contains no shipped changes of a service`)
  if (until - best.coveredMs > GAP_MS) {
    const next = Math.min(
      ...[...shipped.values()]
        .flat()
        .map(({ timeMs }) => timeMs)
        .filter((timeMs) => timeMs > until),
    )
    throw new OperationalError(
      `nothing was shipped between ${time(best.coveredMs)} and ${time(next)}, so the state at ${time(until)} is not known: choose one of these two moments`,
    )
  }
  return { objects: best.objects.slice(0, best.at + 1), timeMs: found.timeMs }
}

function afterLast(shipped: ShippedObjects, atMs: number, lastMs: number): string {
  const fault = findHidden(shipped, lastMs)
  return fault === null
    ? `${time(atMs)} is after the last moment that can be restored, ${time(lastMs)}`
    : `${time(atMs)} cannot be restored: ${fault}; the last moment that can be restored is ${time(lastMs)}`
}

/** A missing object hides all that follow it in its generation. Null: it hides no object that is as new as `lastMs`. */
function findHidden(shipped: ShippedObjects, lastMs: number): string | null {
  for (const [generation, objects] of shipped) {
    const fault = findFault(generation, objects, objects.length - 1)
    if (fault !== null && objects.at(-1)!.timeMs >= lastMs) return fault
  }
  return null
}

function time(ms: number): string {
  return new Date(ms).toISOString()
}
