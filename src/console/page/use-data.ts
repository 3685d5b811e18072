// Reads data for a view, and again when the service has returned.
import { useEffect, useState } from 'preact/hooks'
import { AwayError, connection } from './api.ts'
import { useStore } from './store.ts'

/** The data of a view. While new data is read, `value` holds the data before. */
export interface DataState<T> {
  readonly value: T | null
  readonly error: Error | null
  readonly isLoading: boolean
  /** Reads the data again. */
  reload(): void
}

/**
 * Reads data when `inputs` change, by `read`, whose requests must use the signal. A null `read`: there is nothing to read.
 */
export function useData<T>(
  read: ((signal: AbortSignal) => Promise<T>) | null,
  inputs: readonly unknown[],
): DataState<T> {
  const { epoch } = useStore(connection)
  const [reloads, setReloads] = useState(0)
  const [state, setState] = useState<Omit<DataState<T>, 'reload'>>({
    value: null,
    error: null,
    isLoading: read !== null,
  })
  useEffect(() => {
    if (read === null) {
      setState({ value: null, error: null, isLoading: false })
      return
    }
    const control = new AbortController()
    setState((before) => ({ ...before, isLoading: true }))
    read(control.signal).then(
      (value) => {
        if (!control.signal.aborted) setState({ value, error: null, isLoading: false })
      },
      (failure: Error) => {
        if (control.signal.aborted) return
        // Data that was read before stays on the screen until the service returns.
        setState((before) => ({
          value: failure instanceof AwayError ? before.value : null,
          error: failure,
          isLoading: false,
        }))
      },
    )
    return () => control.abort()
  }, [...inputs, epoch, reloads])
  return { ...state, reload: () => setReloads((count) => count + 1) }
}
