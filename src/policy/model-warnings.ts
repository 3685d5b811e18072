// Warnings about a stored model: relationships of the graph that no text can read while the model gives their type another meaning, and
// stored elements that its declared types do not allow.
import type { ConfigKind } from '../config/kind.ts'
import { readGraph, readGraphsNow } from '../engine/read-graph.ts'
import type { GraphStore, Snapshot } from '../engine/store.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import { findMisfits, findMisfitsNow, type MisfitBudget, misfitWarnings } from '../model/misfits.ts'
import { compiledModel, definedNames, type StoredModel, typesOf } from '../model/stored-model.ts'
import type { NameSource } from './name-warnings.ts'

/** What of one graph is compared with declared types when a model is stored or proposed: mostly less than a second of work. */
const BUDGET: MisfitBudget = { elements: 50_000, timeMs: 2_000 }

const unavailable = 'stored data was not compared with the model: the knowledge graph of this project is unavailable'

/** Returns the warnings of the kind of models. `names`: the graphs whose data is compared. */
export function modelWarningsBy(names: NameSource): NonNullable<ConfigKind['warnings']> {
  return async ({ project_id, fields }) => {
    try {
      await names.ready(project_id)
      return await modelWarnings([...names.storesOf(project_id)], compiledModel(fields))
    } catch (error) {
      if (!(error instanceof ThrownServiceError)) throw error
      return [unavailable]
    }
  }
}

/** The warnings about a model of these graphs. Rejects if one of them cannot be read. */
export async function modelWarnings(stores: readonly GraphStore[], model: StoredModel): Promise<readonly string[]> {
  const types = typesOf(model)
  const unfit: string[] = []
  if (types !== null) for (const store of stores) unfit.push(...misfitWarnings(await findMisfits(store, types, BUDGET)))
  const hidden = await readGraph(stores, (snapshots) => hiddenWarnings(snapshots, model))
  return [...hidden, ...unfit]
}

/** As `modelWarnings`, for graphs of this process and a caller that cannot wait. */
export function modelWarningsNow(stores: readonly GraphStore[], model: StoredModel): readonly string[] {
  const types = typesOf(model)
  const unfit = types === null ? [] : stores.flatMap((store) => misfitWarnings(findMisfitsNow(store, types, BUDGET)))
  const hidden = readGraphsNow((views) =>
    hiddenWarnings(
      stores.map((store) => views.of(store)),
      model,
    ),
  )
  return [...hidden, ...unfit]
}

function hiddenWarnings(snapshots: readonly Snapshot[], model: StoredModel): readonly string[] {
  return definedNames(model).flatMap((name) => {
    const count = snapshots.reduce((sum, snapshot) => {
      const type = snapshot.symbol('type', name)
      return type === 0 ? sum : sum + snapshot.relationshipCount(type)
    }, 0)
    return count === 0 ? [] : [warningFor(name, count)]
  })
}

function warningFor(name: string, count: number): string {
  const stored = count === 1 ? '1 stored relationship' : `${count} stored relationships`
  return `model: \`${name}\` is also the type of ${stored}, which nothing reads while the model defines the name: rename the definition, or delete them`
}
