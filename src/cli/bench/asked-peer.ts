// A system that a bench compares with, as the bench asks it.
import type { OpenedSystem } from './load.ts'

/** A peer that has the graph. */
export interface AskedPeer {
  readonly version: string
  /** What the reader of the figures must know. */
  readonly note: string
  /** Such as `HTTP`. */
  readonly protocol: string
  /** Processor time so far in seconds; null: not known. */
  cpuS(): number | null
  /** Opens connections, each for one question at a time. Throws OperationalError. */
  connect(connections: number): Promise<OpenedSystem>
  /** Ends it, or removes the graph from it. */
  close(): Promise<void>
}
