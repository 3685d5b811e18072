// Bodies that have not come whole yet: each has so long and no longer, and none holds up a stop.
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'

/** How often the clock is looked at. */
const LOOK_MS = 250
/** What a body that is on its way gets when the server stops. */
const GRACE_MS = 1000

interface Wait {
  /** In looks. */
  readonly until: number
  readonly give: (fault: ServiceFault) => void
}

const tooSlow: ServiceError = { kind: 'too-slow', message: 'the body did not come within the time limit' }
const stopping: ServiceError = { kind: 'unavailable', message: 'the server is stopping' }
const cutOff: ServiceError = { kind: 'malformed', issues: ['body: the connection ended before the body'] }

export class SlowBodies {
  private readonly looksMax: number
  private readonly graceMs: number
  private looks = 0
  private readonly waits = new Set<Wait>()
  private readonly timer: ReturnType<typeof setInterval>

  constructor(timeMs: number) {
    this.looksMax = Math.ceil(timeMs / LOOK_MS)
    this.graceMs = Math.min(GRACE_MS, timeMs)
    // One for all: a timer of its own would cost each request more than all the rest here.
    this.timer = setInterval(() => this.look(), LOOK_MS)
    this.timer.unref()
  }

  /** The body when it comes; rejects with a ServiceFault when it does not. */
  wait(body: Promise<Uint8Array>): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const wait: Wait = { until: this.looks + this.looksMax, give: reject }
      this.waits.add(wait)
      body.then(
        (bytes) => {
          this.waits.delete(wait)
          resolve(bytes)
        },
        (fault: unknown) => {
          this.waits.delete(wait)
          reject(fault instanceof ServiceFault ? fault : new ServiceFault(cutOff))
        },
      )
    })
  }

  /** Refuses what has not come after a moment more. */
  stop(): void {
    clearInterval(this.timer)
    if (this.waits.size === 0) return
    setTimeout(() => this.refuse(stopping, () => true), this.graceMs)
  }

  private look(): void {
    this.looks += 1
    this.refuse(tooSlow, ({ until }) => until < this.looks)
  }

  private refuse(error: ServiceError, which: (wait: Wait) => boolean): void {
    for (const wait of this.waits) {
      if (!which(wait)) continue
      this.waits.delete(wait)
      wait.give(new ServiceFault(error))
    }
  }
}
