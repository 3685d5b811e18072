// Lets a request meet a limit at a chosen step of its work.
import { vi } from 'vitest'
import { Budget } from '../../src/engine/budget.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import { LaneRequiredError } from '../../src/kernel/request/lane-required.ts'

const limits = ['decisionTimeMs', 'traversalStepsMax', 'rowsHeldMax', 'valueSizeMax']

/** Errors that the work of a request can meet at any step. */
export const chargeFaults: Readonly<Record<string, () => Error>> = {
  ...Object.fromEntries(
    limits.map((limit) => [limit, () => new ExecutionError('budget', 'a limit is reached', limit)]),
  ),
  'a missing lane': () => new LaneRequiredError('time'),
}

/** Lets the n-th charge of work fail, and each that follows. Returns whether there were as many. */
export async function failingAt(n: number, fault: () => Error, ask: () => void | Promise<void>): Promise<boolean> {
  const real = Budget.prototype.chargeSteps
  let charges = 0
  const spy = vi.spyOn(Budget.prototype, 'chargeSteps').mockImplementation(function (this: Budget, count: number) {
    charges += 1
    if (charges > n) throw fault()
    real.call(this, count)
  })
  try {
    await ask()
  } finally {
    spy.mockRestore()
  }
  return charges > n
}
