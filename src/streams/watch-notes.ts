// Notes which names of watched graphs a batch changes (store/process/change-table.ts). Costs one comparison while nothing is watched.

import { createHash } from 'node:crypto'
import { uptime } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ElementChange, NodeImage, RelationshipImage, WrittenBatch } from '../engine/store.ts'
import { WATCH_FOLDER, WATCHED_UNTIL_FILE } from '../kernel/folder/data-folder.ts'
import { CHANGE_SLOTS, ChangeTable, changeSlots, slotOfName } from '../store/process/change-table.ts'
import { openSharedCounter, type SharedCounter } from '../store/process/shared-counter.ts'
import type { WrittenGraph } from '../store/tenancy/catalog.ts'

/** A batch with more changed elements is noted as a change of everything: looking at each would delay its commit. */
const ELEMENTS_MAX = 20_000

/** How long writers note changes after they were last asked to, seconds. */
export const WATCH_LEASE_S = 60

/** Writers look for watchers for this much longer than one of them asks for it. */
const GRACE_S = 30

/**
 * Seconds since the machine started, for times that processes of the machine share: all of them read the same, and it does not jump
 * when the clock of the machine is set. A jump would end the notes of writers before a watcher renews them.
 */
export function uptimeS(): number {
  return Math.floor(uptime())
}

/** Where the notes of a data folder are, for writers and watchers of all processes of one service. */
export interface WatchPlace {
  /** The time until which any graph is watched, in seconds since the machine started. */
  readonly watchedUntil: SharedCounter
  /** Names this start of the service. */
  readonly epoch: string
  /** Path of the notes of a graph. */
  pathOf(projectId: string, part: string): string
}

/** Opens the place of the notes. `serviceToken`: the token of the process that holds the lock of the folder. */
export function openWatchPlace(dataDir: string, serviceToken: string): WatchPlace {
  const epoch = createHash('sha256').update(`watch ${serviceToken}`).digest('hex').slice(0, 12)
  const folder = join(dataDir, WATCH_FOLDER, epoch)
  return {
    watchedUntil: openSharedCounter(join(dataDir, WATCHED_UNTIL_FILE)),
    epoch,
    pathOf: (projectId, part) => join(folder, `${projectId.replace(':', '-')}.${part}`),
  }
}

/** Notes the changes of batches. */
export class WatchNotes {
  private readonly place: WatchPlace
  private readonly tables = new Map<string, ChangeTable>()

  constructor(place: WatchPlace) {
    this.place = place
  }

  /** Notes what a batch changes, within its transaction. Throws the error of the system if the notes cannot be opened. */
  record(graph: WrittenGraph, batch: WrittenBatch): void {
    const nowS = uptimeS()
    const until = this.place.watchedUntil.load()
    // A time that is too late was stored before the machine was last started.
    if (until + GRACE_S < nowS || until > nowS + WATCH_LEASE_S + GRACE_S) {
      this.tables.clear()
      return
    }
    const table = this.tableOf(graph)
    if (table === null || !table.isWatched(nowS)) return
    table.note(slotsOf(batch), graph.transaction())
  }

  private tableOf({ projectId, part }: WrittenGraph): ChangeTable | null {
    const path = this.place.pathOf(projectId, part)
    const known = this.tables.get(path)
    if (known !== undefined) return known
    const table = ChangeTable.openIfPresent(path)
    if (table !== null) this.tables.set(path, table)
    return table
  }
}

function slotsOf(batch: WrittenBatch): ReadonlySet<number> {
  const slots = new Set<number>()
  let elements = 0
  for (const change of batch.changes()) {
    addSlots(change, slots)
    elements += 1
    if (elements > ELEMENTS_MAX) return allSlots()
  }
  return slots
}

function addSlots(change: ElementChange, slots: Set<number>): void {
  const { before, after } = change
  const isUpdate = before !== null && after !== null
  if (change.element === 'relationship') {
    const image = (after ?? before) as RelationshipImage
    if (!isUpdate) {
      slots.add(changeSlots.relationships)
      slots.add(slotOfName('type', image.type))
    }
  } else if (!isUpdate) {
    slots.add(changeSlots.nodes)
    for (const label of ((after ?? before) as NodeImage).labels) slots.add(slotOfName('label', label))
  } else {
    const [old, now] = [change.before?.labels ?? [], change.after?.labels ?? []]
    for (const label of old) if (!now.includes(label)) slots.add(slotOfName('label', label))
    for (const label of now) if (!old.includes(label)) slots.add(slotOfName('label', label))
  }
  if (!isUpdate) return
  slots.add(changeSlots.updates)
  const old = before.properties()
  const now = after.properties()
  for (const [name, property] of now) {
    const known = old.get(name)
    if (known === undefined || !isSameValue(known, property)) slots.add(slotOfName('property', name))
  }
  for (const name of old.keys()) if (!now.has(name)) slots.add(slotOfName('property', name))
}

type NotedProperty = ReturnType<NodeImage['properties']> extends ReadonlyMap<string, infer P> ? P : never

/** Metadata is part of a property: conditions may read it. The time of the last change is not. */
function isSameValue(a: NotedProperty, b: NotedProperty): boolean {
  if (a.externalValue !== b.externalValue) return false
  return isDeepStrictEqual(a.value, b.value) && isDeepStrictEqual(a.metadata, b.metadata)
}

function allSlots(): ReadonlySet<number> {
  return new Set(Array.from({ length: CHANGE_SLOTS }, (_, slot) => slot))
}
