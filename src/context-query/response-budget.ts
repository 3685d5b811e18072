// How much one answer may hold. A value stands in the graph once, and in an answer as often as rows name it: a page of
// 10,000 rows around one node with a long text would be more than the process has memory for.
import { ExecutionError } from '../engine/errors.ts'
import { chargeText } from '../engine/value/cost-accounting.ts'

/** What a cell takes whatever is in it. */
const CELL = 8

export class ResponseBudget {
  private readonly max: number
  private taken = 0

  /** `max`: characters of the values; names and quotes come on top. */
  constructor(max: number) {
    this.max = max
  }

  /** JSON data that goes into the answer. Throws RunFault: at the limit, and when the time of the execution is over. */
  charge(value: unknown): void {
    const size = sizeOf(value)
    // A cell takes as long as so many characters of a text do.
    chargeText(size * 2)
    this.taken += size
    if (this.taken > this.max) throw new ExecutionError('budget', this.exhaustedMessage, 'executeAnswerMax')
  }

  /** As `take`, where a refusal comes too late: what was written by then stays. False: there is no room for it. */
  tryCharge(value: unknown): boolean {
    const size = sizeOf(value)
    if (this.taken + size > this.max) return false
    this.taken += size
    return true
  }

  get exhaustedMessage(): string {
    return `the limit of ${this.max} characters in one answer is reached; a smaller page holds less`
  }
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return CELL + value.length
  if (typeof value !== 'object' || value === null) return CELL
  let size = CELL
  for (const item of Array.isArray(value) ? value : Object.values(value)) size += sizeOf(item)
  return size
}
