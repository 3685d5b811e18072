// How many calls run at once for one project: the others wait in the order in which they came, and no longer than they may.

interface WaitingCall {
  enter(entered: boolean): void
}

interface ConcurrencySlots {
  running: number
  readonly waiting: Set<WaitingCall>
}

export class ConcurrencyLimiter {
  private readonly places: number
  private readonly gates = new Map<string, ConcurrencySlots>()

  constructor(places: number) {
    this.places = places
  }

  /** False: there was no place within the time. Whoever entered leaves. */
  acquire(key: string, timeMs: number): boolean | Promise<boolean> {
    const gate = this.gates.get(key) ?? { running: 0, waiting: new Set() }
    this.gates.set(key, gate)
    if (gate.running < this.places) {
      gate.running += 1
      return true
    }
    return new Promise((resolve) => {
      const waiting: WaitingCall = {
        enter(entered) {
          clearTimeout(timer)
          gate.waiting.delete(waiting)
          resolve(entered)
        },
      }
      const timer = setTimeout(() => waiting.enter(false), timeMs)
      gate.waiting.add(waiting)
    })
  }

  release(key: string): void {
    const gate = this.gates.get(key)
    if (gate === undefined) return
    const [next] = gate.waiting
    // The place goes from one to the other.
    if (next !== undefined) next.enter(true)
    else {
      gate.running -= 1
      if (gate.running === 0) this.gates.delete(key)
    }
  }
}
