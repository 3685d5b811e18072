// Work in steps: a generator that yields where other work may run.

/** Work that yields between its steps. */
export type Steps<T> = Generator<void, T>

/** Does all steps at once. Throws what a step throws. */
export function allSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
