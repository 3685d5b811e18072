// A value that components follow.
import { useEffect, useState } from 'preact/hooks'

/** A value that changes, and the functions to call when it does. */
export class Store<T> {
  value: T
  private readonly listeners = new Set<() => void>()

  constructor(value: T) {
    this.value = value
  }

  set(value: T): void {
    if (Object.is(value, this.value)) return
    this.value = value
    for (const listener of [...this.listeners]) listener()
  }

  /** Returns the function that ends the subscription. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }
}

/** The value of a store; the component renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  const [, render] = useState(0)
  useEffect(() => store.subscribe(() => render((count) => count + 1)), [store])
  return store.value
}
