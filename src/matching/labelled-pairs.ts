// The labelled pairs of a requested run, which measure it. They are stored apart from the pipeline, because its document is stored
// again with each progress.
import type { ConfigReader, DocumentDraft, StoredDocument } from '../config/kind.ts'
import { mintGid } from '../kernel/ids.ts'
import type { LabelledPair } from './run-state.ts'

/** Kind name of the labelled pairs of a run. Their name is the id of the pipeline. */
export const labelledPairsKind = 'entity-matching-labels'

/** Labelled pairs of one run. */
export const LABELLED_PAIRS_MAX = 5000

/** Stores the labelled pairs of a run in place of those before; no pairs: removes those before. */
export function putLabels(
  draft: DocumentDraft,
  pipeline: StoredDocument,
  pairs: readonly LabelledPair[],
  nowMs: number,
): void {
  const before = draft.getByName(labelledPairsKind, pipeline.project_id, pipeline.id)
  if (pairs.length === 0) {
    if (before !== null) draft.remove(labelledPairsKind, before.id)
    return
  }
  draft.put({
    ...pipeline,
    kind: labelledPairsKind,
    id: before?.id ?? mintGid(nowMs),
    revision: 1,
    parent_id: pipeline.id,
    name: pipeline.id,
    fields: { pairs },
  })
}

/** The labelled pairs of the requested run of a pipeline. */
export function labelsOf(reader: ConfigReader, { id, project_id }: StoredDocument): readonly LabelledPair[] {
  const found = reader.getByName(labelledPairsKind, project_id, id)
  return (found?.fields.pairs ?? []) as readonly LabelledPair[]
}
