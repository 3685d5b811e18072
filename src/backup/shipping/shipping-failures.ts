// Failures of the shipping in the log: the first one, then one line per minute with a count, and a line when it works again. The place is
// tried again every few seconds, so each failure would be a line otherwise.
import type { ShippingFigures } from './shipping-figures.ts'

/** A line of the log. */
export interface ShippingNote {
  readonly level: 'error' | 'info'
  readonly message: string
  /** The address of the place. */
  readonly place: string
  readonly reason?: string
  readonly generation?: string
  /** How often it has occurred since it was last logged, if more than once. */
  readonly times?: number
}

/** The part of the shipping that fails, with its message and the message when it works again. */
const messages = {
  changes: ['changes could not be shipped', 'changes are shipped again'],
  base: ['the base of a new generation could not be shipped', 'the base of a new generation was shipped'],
  check: ['the shipped objects could not be checked', 'the shipped objects were checked'],
  removal: ['shipped objects that are too old could not be removed', 'shipped objects that are too old were removed'],
  'last changes': ['the last changes could not be shipped; the next start ships them', null],
} as const

interface ShippingFailuresDeps {
  readonly place: { readonly address: string }
  readonly figures: Pick<ShippingFigures, 'failures'>
  readonly log: (note: ShippingNote) => void
  /** How often a failure with this message must be logged now as having occurred; 0: it is not logged now. */
  readonly timesOf: (message: string) => number
}

/** Counts and logs failures. */
export class ShippingFailures {
  private readonly deps: ShippingFailuresDeps
  /** Parts whose failure was logged, and that have not worked since. */
  private readonly failing = new Set<keyof typeof messages>()

  constructor(deps: ShippingFailuresDeps) {
    this.deps = deps
  }

  /** Counts a failure, and logs it if its message is due. The reason may differ each time, as the names of objects do. */
  report(part: keyof typeof messages, failure: unknown): void {
    const { figures, log, place, timesOf } = this.deps
    figures.failures = (figures.failures + 1) >>> 0
    const [message] = messages[part]
    const times = timesOf(message)
    if (times === 0) return
    this.failing.add(part)
    const reason = failure instanceof Error ? failure.message : String(failure)
    log({ level: 'error', message, place: place.address, reason, ...(times > 1 && { times }) })
  }

  /** The part works. Logged if the log has its failure. */
  end(part: keyof typeof messages): void {
    const [, message] = messages[part]
    if (!this.failing.delete(part) || message === null) return
    this.deps.log({ level: 'info', message, place: this.deps.place.address })
  }
}
