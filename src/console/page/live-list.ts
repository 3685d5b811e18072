// The items of a stream that a view shows: the newest ones, rendered once per frame, with a pause. Memory is bounded.
import { Store } from './store.ts'

/** The shown items and counts. */
interface LiveItems<T> {
  /** The newest first. */
  readonly items: readonly T[]
  readonly isPaused: boolean
  /** Items that arrived during the pause. */
  readonly waiting: number
  readonly received: number
  /** Items that were removed because there are too many. */
  readonly dropped: number
}

const ITEMS_MAX = 2000

/** Collects items. */
export class LiveList<T> {
  readonly state = new Store<LiveItems<T>>({ items: [], isPaused: false, waiting: 0, received: 0, dropped: 0 })
  /** Not shown yet, the oldest first. */
  private arrived: T[] = []
  private received = 0
  private dropped = 0
  private isScheduled = false

  /** The oldest first. */
  add(items: readonly T[]): void {
    this.received += items.length
    this.arrived.push(...items)
    if (this.arrived.length > 2 * ITEMS_MAX) this.dropOldest()
    if (this.isScheduled) return
    this.isScheduled = true
    // A page in the background has no frames: its items wait.
    requestAnimationFrame(() => {
      this.isScheduled = false
      this.show()
    })
  }

  /** Items that arrive are counted and shown after the pause. */
  setPaused(isPaused: boolean): void {
    this.state.set({ ...this.state.value, isPaused })
    this.show()
  }

  /** Removes all items. */
  clear(): void {
    this.arrived = []
    this.received = 0
    this.dropped = 0
    this.state.set({ ...this.state.value, items: [], waiting: 0, received: 0, dropped: 0 })
  }

  private show(): void {
    this.dropOldest()
    const { items, isPaused } = this.state.value
    const { received, arrived } = this
    if (isPaused) {
      this.state.set({ items, isPaused, waiting: arrived.length, received, dropped: this.dropped })
      return
    }
    const all = [...arrived.reverse(), ...items]
    this.arrived = []
    this.dropped += Math.max(0, all.length - ITEMS_MAX)
    this.state.set({ items: all.slice(0, ITEMS_MAX), isPaused, waiting: 0, received, dropped: this.dropped })
  }

  private dropOldest(): void {
    const surplus = this.arrived.length - ITEMS_MAX
    if (surplus <= 0) return
    this.arrived.splice(0, surplus)
    this.dropped += surplus
  }
}
