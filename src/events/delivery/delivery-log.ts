// The log lines of one delivery. Lines that can repeat with each event are limited: the first is logged at once, and those that
// follow within a minute are logged together, with their number.
import type { EventStreamName } from '../envelope.ts'

/** A line for the log. */
export interface DeliveryLogEntry {
  readonly level: 'info' | 'error'
  readonly message: string
  readonly [field: string]: unknown
}

/** Time between two lines with one message about events, in milliseconds. */
const INTERVAL_MS = 60_000

interface Repetition {
  /** The last line that was not logged; null: all were. */
  entry: DeliveryLogEntry | null
  /** Events that it stands for. */
  events: number
  readonly timer: ReturnType<typeof setTimeout>
}

/** Logs what happens to the delivery of a stream to a provider. */
export class DeliveryLog {
  private readonly write: (entry: DeliveryLogEntry) => void
  private readonly context: { readonly project: string; readonly source: string; readonly provider: string }
  /** By message. */
  private readonly repetitions = new Map<string, Repetition>()

  constructor(write: (entry: DeliveryLogEntry) => void, { projectId, source }: EventStreamName, provider: string) {
    this.write = write
    this.context = { project: projectId, source, provider }
  }

  /** Logs a line. */
  add(level: DeliveryLogEntry['level'], message: string, more: object = {}): void {
    this.write({ level, message, ...this.context, ...more })
  }

  /** Logs an error about a number of events, at once or with later ones: then with the members `more` of the last one. */
  addEvents(message: string, events: number, more: object = {}): void {
    this.repeat({ level: 'error', message, ...this.context, ...more }, events)
  }

  private repeat(entry: DeliveryLogEntry, events: number): void {
    const repetition = this.repetitions.get(entry.message)
    if (repetition === undefined) {
      this.write({ ...entry, events })
      const timer = setTimeout(() => this.end(entry.message), INTERVAL_MS)
      timer.unref?.()
      this.repetitions.set(entry.message, { entry: null, events: 0, timer })
      return
    }
    repetition.entry = entry
    repetition.events += events
  }

  private end(message: string): void {
    const { entry, events } = this.repetitions.get(message) as Repetition
    this.repetitions.delete(message)
    if (entry !== null) this.repeat(entry, events)
  }

  /** Logs what was not logged yet. */
  close(): void {
    for (const { entry, events, timer } of this.repetitions.values()) {
      clearTimeout(timer)
      if (entry !== null) this.write({ ...entry, events })
    }
    this.repetitions.clear()
  }
}
