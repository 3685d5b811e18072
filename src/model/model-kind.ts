// The configuration kind of models: the definitions of derived relationships that the policies and queries of a project use.
import { z } from 'zod'
import { type ConfigKind, envelope, envelopeUpdate, projectsKind, reference } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import { compiledModel, modelsKind, noModel, type StoredModel } from './stored-model.ts'

/** Finds what a change of a model breaks. See `ConfigKind.consequences`. */
type ModelConsequences = (
  reader: Parameters<NonNullable<ConfigKind['consequences']>>[0],
  projectId: string,
  before: StoredModel,
  after: StoredModel,
) => readonly string[]

/** Returns the kind. `textMax`: maximum characters of a model. `consequences`: what a change breaks. */
export function models(textMax: number, consequences: ModelConsequences): ConfigKind {
  const members = {
    model: z
      .string()
      .min(1)
      .max(textMax)
      .describe('the text of the model: `DEFINE (u:User)-[:can_view]->(d:Doc) AS { MATCH … }`, any number of times'),
  }
  return {
    path: modelsKind,
    label: 'model',
    parent: { field: 'project_id', kind: projectsKind },
    operations: { create: true, update: true, delete: true, byName: true },
    onePerProject: true,
    createSchema: z.strictObject({ ...envelope, project_id: reference, ...members }),
    updateSchema: z.strictObject({ ...envelopeUpdate, model: members.model.nullish() }),
    readShape: { model: z.string() },
    secrets: [],
    omittedInLists: ['model'],
    check(fields) {
      const compiled = compiledModel(fields)
      return compiled.ok ? ok({ fields }) : err({ kind: 'invalid', issues: compiled.error })
    },
    consequences: (reader, projectId, before, after) =>
      consequences(
        reader,
        projectId,
        before === null ? noModel : compiledModel(before),
        after === null ? noModel : compiledModel(after),
      ),
  }
}
