// Values that may be available at once. Most decisions are answered without a promise, which saves four of them per request.

/** A value, or a promise of it. */
export type MaybePromise<T> = T | Promise<T>

/** Applies `next` to a value, synchronously if the value is available. */
export function whenReady<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
