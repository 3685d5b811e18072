// Limits log lines that can repeat with each event: the first is logged at once, and those that follow within a minute are logged
// together, with their number.
import type { DeliveryLogEntry } from './stream-delivery.ts'

/** Time between two lines with one message, in milliseconds. */
const INTERVAL_MS = 60_000

interface Repetition {
  /** The last line that was not logged; null: all were. */
  entry: DeliveryLogEntry | null
  /** Events that it stands for. */
  events: number
  timer: ReturnType<typeof setTimeout>
}

/** Logs lines about events, at most one with the same message in an interval. */
export class RepeatedLog {
  private readonly log: (entry: DeliveryLogEntry) => void
  private readonly byMessage = new Map<string, Repetition>()

  constructor(log: (entry: DeliveryLogEntry) => void) {
    this.log = log
  }

  /** Logs a line about a number of events, now or with later ones: then with the fields of the last line. */
  report(entry: DeliveryLogEntry, events: number): void {
    const repetition = this.byMessage.get(entry.message)
    if (repetition === undefined) {
      this.log({ ...entry, events })
      this.byMessage.set(entry.message, { entry: null, events: 0, timer: this.schedule(entry.message) })
      return
    }
    repetition.entry = entry
    repetition.events += events
  }

  private schedule(message: string): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => this.end(message), INTERVAL_MS)
    timer.unref?.()
    return timer
  }

  private end(message: string): void {
    const { entry, events } = this.byMessage.get(message) as Repetition
    this.byMessage.delete(message)
    if (entry !== null) this.report(entry, events)
  }

  /** Logs what was not logged yet. */
  close(): void {
    for (const { entry, events, timer } of this.byMessage.values()) {
      clearTimeout(timer)
      if (entry !== null) this.log({ ...entry, events })
    }
    this.byMessage.clear()
  }
}
