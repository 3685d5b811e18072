// Durable runs whose state is in a configuration document: in the fields `run` (in progress), `requested_run` and `retry`, which change without a
// new revision. A change and its event are in one transaction.
import type { ConfigReader, ConfigWriter, DocumentDraft, DocumentFields, StoredDocument } from '../config/kind.ts'
import { mintGid } from '../kernel/ids.ts'
import { type Clock, isWithin } from '../kernel/time/clock.ts'
import type { RunFailures, RunKind } from './durable-runs.ts'

/** A run that has begun more often has not ended because of its process, which it may exhaust. */
export const ATTEMPTS_MAX = 5
const ATTEMPTS_MESSAGE = `the process ended ${ATTEMPTS_MAX} times during the run; its memory may not suffice`

/** A run in progress. Its kind adds members. */
export interface StoredRun<Request> {
  readonly runId: string
  /** Milliseconds since the epoch. */
  readonly startedMs: number
  /** Null: the schedule has caused the run. */
  readonly request: Request | null
  /** How often the run has begun since it last failed. Absent: a run that an earlier version has begun. */
  readonly attempts?: number
}

interface StoredFailures extends RunFailures {
  readonly error: string
}

/** A schedule of periods. */
interface PeriodSchedule {
  readonly periodMs: number
  /** Until when runs are done, milliseconds since the epoch. */
  readonly doneMs: number
  /** The last time at which a run was due. Takes a millisecond. */
  lastDueMs(nowMs: number): number
}

/** The steps of one kind of run, and the changes of its document. */
interface DocumentRuns<Request, Run extends StoredRun<Request>, Prepared, Outcome> {
  /** For messages, such as `pass`. */
  readonly name: string
  /** The kind of the documents. */
  readonly kind: string
  readonly documents: ConfigWriter
  readonly clock: Clock
  /** The data that the runs of a document write. Of documents of a project with the same data, only the oldest one has runs. */
  dataOf(document: StoredDocument): string
  /** Null: without a request there are no runs. */
  scheduleOf(document: StoredDocument): PeriodSchedule | null
  /** Opens what the run needs. Rejects if that fails: the run then does not begin. */
  prepare(document: StoredDocument): Promise<Prepared>
  /** The state of a new run, or of one that continues. */
  begin(document: StoredDocument, known: StoredRun<Request> | Run, prepared: Prepared): Run
  /** The fields when a run begins or continues. */
  begun(fields: DocumentFields, run: Run, isNew: boolean): DocumentFields
  /** Whether the document has changed so that the run must begin again. */
  isOutdated(document: StoredDocument, run: Run): boolean
  /** Works, and calls `save` after its steps, which resolves with whether the run continues. Null: it did not continue. */
  work(
    document: StoredDocument,
    run: Run,
    prepared: Prepared,
    save: (run: Run) => Promise<boolean>,
  ): Promise<Outcome | null>
  /** The fields after the run, and the error of its event; null: it succeeded. */
  ended(draft: DocumentDraft, document: StoredDocument, run: Run, outcome: Outcome): DocumentFields
  failed(fields: DocumentFields, error: string): DocumentFields
  readonly events: {
    started(draft: DocumentDraft, document: StoredDocument, run: Run): void
    failed(draft: DocumentDraft, document: StoredDocument, run: Run, error: string): void
  }
}

/** The document whose runs write the data of this one, because it is older; null: those of this one do. */
export function shadowOf(
  reader: ConfigReader,
  document: StoredDocument,
  dataOf: (document: StoredDocument) => string,
): StoredDocument | null {
  const data = dataOf(document)
  const first = reader.inScope(document.kind, document.project_id).find((one) => dataOf(one) === data)
  return first === undefined || first.id === document.id ? null : first
}

/** The fields of a document whose failed run does not wait any more, because a run is requested. */
export function withoutWaiting(fields: DocumentFields): DocumentFields {
  const { retry: _, ...others } = fields
  return others
}

/** The kind of the runs of documents. */
export function documentRuns<Request, Run extends StoredRun<Request>, Prepared, Outcome>(
  options: DocumentRuns<Request, Run, Prepared, Outcome>,
): RunKind<StoredDocument> {
  const { kind, documents, clock } = options
  const dueTimes = new WeakMap<StoredDocument, number>()
  const runIn = ({ fields }: StoredDocument): Run | null => (fields.run ?? null) as Run | null
  const failuresIn = ({ fields }: StoredDocument): StoredFailures | null =>
    (fields.retry ?? null) as StoredFailures | null

  /** Computed once in each period. */
  function lastDueMs(document: StoredDocument, schedule: PeriodSchedule, nowMs: number): number {
    const known = dueTimes.get(document)
    if (known !== undefined && isWithin(nowMs, known, schedule.periodMs)) return known
    const dueMs = schedule.lastDueMs(nowMs)
    dueTimes.set(document, dueMs)
    return dueMs
  }

  function dueSinceMs(document: StoredDocument, nowMs: number): number | null {
    if (document.project_id === '' || shadowOf(documents, document, options.dataOf) !== null) return null
    if (runIn(document) !== null || document.fields.requested_run !== undefined) return 0
    const schedule = options.scheduleOf(document)
    const dueMs = schedule === null ? null : lastDueMs(document, schedule, nowMs)
    return schedule !== null && dueMs !== null && schedule.doneMs < dueMs ? dueMs : null
  }

  function begin(id: string, prepared: Prepared): Promise<{ document: StoredDocument; run: Run } | null> {
    return documents.write((draft) => {
      const document = draft.get(kind, id)
      if (document === null) return null
      const current = runIn(document)
      const isNew = current === null
      const continues = current !== null && !options.isOutdated(document, current)
      const { requested_run, ...others } = document.fields
      const startedMs = clock.now()
      const request = (requested_run ?? current?.request ?? null) as Request | null
      const fresh: StoredRun<Request> = {
        runId: current?.runId ?? (requested_run as { runId?: string } | undefined)?.runId ?? mintGid(startedMs),
        startedMs,
        request,
      }
      const attempts = (current?.attempts ?? 0) + 1
      if (attempts > ATTEMPTS_MAX) throw new Error(ATTEMPTS_MESSAGE)
      const run: Run = { ...options.begin(document, continues ? current : fresh, prepared), attempts }
      // The request of a run that continues is not that of this run.
      const fields = options.begun({ ...(continues ? document.fields : others), run }, run, isNew)
      draft.put({ ...document, fields })
      if (isNew) options.events.started(draft, document, run)
      return { document, run }
    })
  }

  /** Changes the document while it has the run. Resolves with null if it has not. */
  function change(
    id: string,
    runId: string,
    fieldsOf: (document: StoredDocument, run: Run, draft: DocumentDraft) => DocumentFields,
  ): Promise<StoredDocument | null> {
    return documents.write((draft) => {
      const document = draft.get(kind, id)
      const run = document === null ? null : runIn(document)
      if (document === null || run?.runId !== runId) return null
      draft.put({ ...document, fields: fieldsOf(document, run, draft) })
      return document
    })
  }

  return {
    name: options.name,
    subjects: () => documents.all(kind),
    idOf: ({ id }) => id,
    dueSinceMs,
    failuresOf: failuresIn,
    async attempt({ id, ...known }, context) {
      const prepared = await options.prepare({ id, ...known })
      const begun = await begin(id, prepared)
      if (begun === null) return 'ended'
      const { document, run } = begun
      const { runId } = run
      const save = async (state: Run): Promise<boolean> => {
        const saved = await change(id, runId, ({ fields }, { attempts }) => ({
          ...fields,
          run: { ...state, attempts },
        }))
        return saved !== null && !options.isOutdated(saved, run) && !context.isStopping()
      }
      const outcome = await options.work(document, run, prepared, save)
      if (outcome === null) {
        // A process that is stopped has not failed.
        await change(id, runId, ({ fields }, one) => ({
          ...fields,
          run: { ...one, attempts: (one.attempts ?? 1) - 1 },
        }))
        return 'again'
      }
      await change(id, runId, (before, one, draft) => {
        const { run: _, retry: __, ...fields } = before.fields
        return options.ended(draft, { ...before, fields }, one, outcome)
      })
      return 'ended'
    },
    async fail({ id }, error, failures) {
      await documents.write((draft) => {
        const document = draft.get(kind, id)
        if (document === null) return
        const run = runIn(document)
        const retry: StoredFailures = { ...failures, error }
        // After the last attempt of a row only one more may end early.
        const attempts = (run?.attempts ?? 0) >= ATTEMPTS_MAX ? ATTEMPTS_MAX - 1 : 0
        const fields = options.failed(document.fields, error)
        draft.put({ ...document, fields: { ...fields, retry, ...(run !== null && { run: { ...run, attempts } }) } })
        if (run !== null && failuresIn(document)?.error !== error) options.events.failed(draft, document, run, error)
      })
    },
  }
}

/** The kind of the removals of what deleted documents have left. Each is a document, which is removed at the end. */
export function removalRuns(options: {
  readonly kind: string
  readonly documents: ConfigWriter
  /** Resolves with whether all is removed; false: it must end before that. */
  remove(document: StoredDocument, isStopping: () => boolean): Promise<boolean>
}): RunKind<StoredDocument> {
  const { kind, documents, remove } = options
  return {
    name: 'removal',
    subjects: () => documents.all(kind),
    idOf: ({ id }) => id,
    dueSinceMs: () => 0,
    failuresOf: ({ fields }) => (fields.retry ?? null) as RunFailures | null,
    async attempt(document, { isStopping }) {
      if (!(await remove(document, isStopping))) return 'again'
      await documents.write((draft) => draft.remove(kind, document.id))
      return 'ended'
    },
    async fail({ id }, _, retry) {
      await documents.write((draft) => {
        const document = draft.get(kind, id)
        if (document !== null) draft.put({ ...document, fields: { ...document.fields, retry } })
      })
    },
  }
}
