// Limits the size of one response. The graph stores a value once, but a response repeats it in every row that names it:
// 10,000 rows around one node with a long text would exceed the memory of the process.
import type { Budget } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { jsonSize } from '../kernel/json/json-size.ts'

/** Counts the characters of the values in one response. */
export class ResponseBudget {
  private readonly max: number
  private readonly budget: Budget
  private used = 0

  /** `max`: maximum characters of the values; names and quotes are not counted. `budget` is charged the time. */
  constructor(max: number, budget: Budget) {
    this.budget = budget
    this.max = max
  }

  /**
   * Charges JSON data of the response. Throws ExecutionError if the limit is exceeded, or if the time of the execution is
   * over.
   */
  charge(value: unknown): void {
    this.chargeSize(jsonSize(value))
  }

  /** As `charge`, for data of that size. */
  chargeSize(size: number): void {
    // A value costs about as much time as this many characters of text processing.
    this.budget.chargeText(size * 2)
    this.used += size
    if (this.used > this.max) throw new ExecutionError('budget', this.exhaustedMessage, 'executeAnswerMax')
  }

  /**
   * Like `charge`, for data that arrives after writes were committed: returns false instead of throwing if it does not
   * fit. `uses`: number of places in the response.
   */
  tryCharge(value: unknown, uses: number): boolean {
    const size = jsonSize(value) * uses
    if (this.used + size > this.max) return false
    this.used += size
    return true
  }

  /** The message for an exceeded limit. */
  get exhaustedMessage(): string {
    return `the limit of ${this.max} characters in one answer is reached; request a smaller page`
  }
}
