// Warnings about a stored model: relationships of the graph that no text can read while the model gives their type another meaning, and
// stored elements that its declared types do not allow.
import type { ConfigKind } from '../config/kind.ts'
import { readGraph } from '../engine/read-graph.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import { findMisfits, misfitWarnings } from '../model/misfits.ts'
import { compiledModel, definedNames, typesOf } from '../model/stored-model.ts'
import type { NameSource } from './name-warnings.ts'

/** Nodes and relationships of one graph that are compared with declared types when a model is stored: less than a second of work. */
const COMPARED_MAX = 50_000

/** Returns the warnings of the kind of models. `names`: the graphs whose relationships are counted. */
export function modelWarningsBy(names: NameSource): NonNullable<ConfigKind['warnings']> {
  return async ({ project_id, fields }) => {
    const model = compiledModel(fields)
    const defined = definedNames(model)
    const types = typesOf(model)
    try {
      await names.ready(project_id)
      const stores = [...names.storesOf(project_id)]
      const unfit: string[] = []
      if (types !== null) {
        for (const store of stores) unfit.push(...misfitWarnings(await findMisfits(store, types, COMPARED_MAX)))
      }
      const hidden = await readGraph(stores, (snapshots) =>
        defined.flatMap((name) => {
          const count = snapshots.reduce((sum, snapshot) => {
            const type = snapshot.symbol('type', name)
            return type === 0 ? sum : sum + snapshot.relationshipCount(type)
          }, 0)
          return count === 0 ? [] : [warningFor(name, count)]
        }),
      )
      return [...hidden, ...unfit]
    } catch (error) {
      if (!(error instanceof ThrownServiceError)) throw error
      return [
        'stored relationships were not compared with the model: the knowledge graph of this project is unavailable',
      ]
    }
  }
}

function warningFor(name: string, count: number): string {
  const stored = count === 1 ? '1 stored relationship' : `${count} stored relationships`
  return `model: \`${name}\` is also the type of ${stored}, which nothing reads while the model defines the name: rename the definition, or delete them`
}
