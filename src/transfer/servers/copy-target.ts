// The targets of a copy, in a data folder or in database servers. Each batch is stored together with the place where the next one begins,
// so that a copy that was interrupted continues. All databases of a project stay unfinished until all of them are copied and compared.
import type { Symbols } from '../../bolt/stored-elements.ts'
import type { NodeRecord } from '../../store/format/records.ts'
import type { CopiedRelationship, GraphReader } from './graph-reader.ts'

/** How far a copy is: where the next pages begin; null: all are copied. */
export interface CopyPosition {
  readonly nodes: number | null
  readonly relationships: number | null
}

/** The position of a copy that has written nothing. */
export const COPY_BEGIN: CopyPosition = { nodes: 0, relationships: 0 }

/** The position of a database that is only compared. */
export const COPY_END: CopyPosition = { nodes: null, relationships: null }

/** One database that is written. */
export interface CopyTarget {
  readonly position: CopyPosition
  /** Whether an earlier run has begun this copy. */
  readonly isResumed: boolean
  /** How an operator begins again; null: an earlier run has finished this database, or it was filled by others. */
  readonly restartHint: string | null
  writeNodes(nodes: readonly NodeRecord[], symbols: Symbols, position: CopyPosition): Promise<void>
  writeRelationships(
    relationships: readonly CopiedRelationship[],
    symbols: Symbols,
    position: CopyPosition,
  ): Promise<void>
  /** Completes the graph, which can be read then. `progress`: of the lists of relationships. */
  complete(progress: (done: number, total: number) => void): Promise<GraphReader>
  close(): Promise<void>
}

/** All databases of a project that are written. */
export interface CopyTargets {
  /** Whether no element was written, in this run or before. */
  readonly isUntouched: boolean
  /** Opens one of them, in the order in which they were given. */
  open(index: number): Promise<CopyTarget>
  /** Removes the notes of the copy, after all graphs were compared: they can be served. */
  finish(): Promise<void>
  /** Removes the notes of a copy that has written nothing. */
  abandon(): Promise<void>
}
