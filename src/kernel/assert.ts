// Assertions for programming errors only. Invalid input is a Result, never an assertion.

/** Throws if the condition is false. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`)
}

/** Ends an exhaustive switch: compiles only if no case is missing. Throws if reached. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`)
}
