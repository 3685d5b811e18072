// Reads of the audit log.
import { call, callText } from '../api.ts'

/** A record, as the list has it. */
export interface ListedRecord {
  readonly index: number
  readonly generation: string
  readonly origin: string
  readonly entry: RecordEntry
}

/** A CloudEvent. */
export interface RecordEntry {
  readonly id: string
  readonly type: string
  readonly source: string
  readonly subject: string
  readonly time: string
  readonly data?: Readonly<Record<string, unknown>>
  readonly dataref?: string
  readonly datasha256?: string
}

/** A page of a list. */
interface ListedPage<T> {
  readonly items: readonly T[]
  readonly next_cursor: string | null
  readonly has_more: boolean
}

/** An inclusion proof, as the service gives it. */
export interface GivenProof {
  readonly index: number
  readonly generation: string
  readonly origin: string
  readonly entry: string
  readonly proof: readonly string[]
  readonly checkpoint: string
}

/** A history of a log. */
interface LogGeneration {
  readonly generation: string
  readonly origin: string
  readonly url: string
  readonly opened_at: string
  readonly size: number
  readonly first_index: number
  readonly verifier_keys: readonly string[]
}

/** The histories of a log, the present one last. */
export interface LogTrees {
  readonly customer_keys: readonly string[]
  readonly generations: readonly LogGeneration[]
}

/** Empty members do not filter. */
export interface RecordChoice {
  readonly type: string
  readonly actor: string
  readonly resource: string
  readonly from: string
  readonly to: string
  readonly order: string
}

function queryOf(log: string, more: Readonly<Record<string, string>>): string {
  const given = Object.entries(more).filter(([, value]) => value !== '')
  return new URLSearchParams([['project_id', log], ...given]).toString()
}

/** Reads a page of records. `log`: the id of a project or of the organization. */
export function readRecords(
  log: string,
  filter: RecordChoice,
  cursor: string,
  signal: AbortSignal,
): Promise<ListedPage<ListedRecord>> {
  return call('GET', `/audit/v1/records?${queryOf(log, { ...filter, cursor })}`, { signal })
}

/** Reads a proof to the newest checkpoint of a generation. */
export function readProof(log: string, { index, generation }: ListedRecord, signal: AbortSignal): Promise<GivenProof> {
  return call('GET', `/audit/v1/records/${index}/proof?${queryOf(log, { generation })}`, { signal })
}

/** Reads the hashes, in base64, which show that the tree of `to` entries continues that of `from` entries. */
export async function readConsistency(
  log: string,
  generation: string,
  from: number,
  to: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const query = queryOf(log, { generation, from: String(from), to: String(to) })
  const { proof } = await call<{ readonly proof: readonly string[] }>('GET', `/audit/v1/consistency?${query}`, {
    signal,
  })
  return proof
}

/** Reads the generations and keys of a log. */
export function readTrees(log: string, signal: AbortSignal): Promise<LogTrees> {
  return call('GET', `/audit/v1/tlog?${queryOf(log, {})}`, { signal })
}

/** Reads the newest checkpoint. */
export function readCheckpoint({ url }: LogGeneration, signal: AbortSignal): Promise<string> {
  const { pathname } = new URL(url, location.origin)
  return callText('GET', `${pathname}/checkpoint`, { signal })
}

/** The link to all records of a filter, with their proofs. */
export function exportLink(log: string, { order: _, ...filter }: RecordChoice): string {
  return `/audit/v1/export?${queryOf(log, filter)}`
}
