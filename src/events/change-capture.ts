// Which providers of an event sink receive change data capture, and how it starts.
import type { DocumentFields } from '../config/kind.ts'

/** Whether a provider of a sink receives change data capture. */
export function receivesChanges(sink: DocumentFields, provider: DocumentFields): boolean {
  return (provider.include_cdc_events ?? sink.include_cdc_events) === true
}

/** Whether change data capture to a provider of a sink starts with a snapshot. */
export function startsWithSnapshot(sink: DocumentFields, provider: DocumentFields): boolean {
  return receivesChanges(sink, provider) && (provider.snapshot ?? sink.snapshot) === 'initial'
}
