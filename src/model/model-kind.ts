// The configuration kind of models: the declared types of a project, and the definitions that its policies and queries use.
import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import type { ConfigKind } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import { compiledModel, modelsKind, noModel, type StoredModel } from './stored-model.ts'

/** Finds what a change of a model breaks. See `ConfigKind.consequences`. */
type ModelConsequences = (
  reader: Parameters<NonNullable<ConfigKind['consequences']>>[0],
  projectId: string,
  before: StoredModel,
  after: StoredModel,
) => readonly string[]

/**
 * Returns the kind. `textMax`: maximum characters of a model. `consequences`: what a change breaks. `warnings`: about stored models;
 * without it none.
 */
export function models(
  textMax: number,
  consequences: ModelConsequences,
  warnings?: ConfigKind['warnings'],
): ConfigKind {
  return defineKind({
    path: modelsKind,
    label: 'model',
    onePerProject: true,
    fields: {
      model: field(
        z
          .string()
          .max(textMax)
          .regex(/\S/, { error: 'expected the text of a model: a project without types and definitions has no model' })
          .describe(
            'the text of the model: declared types such as `(:User {email STRING}), (:User)-[:OWNER]->(:Doc)`, then definitions such as `DEFINE (u:User)-[:can_view]->(d:Doc) AS { MATCH … }`',
          ),
      )
        .required()
        .emptyInLists(),
    },
    // As in a file of a project folder, which may be checked out with the line breaks of the system.
    normaliseBody: (body) =>
      typeof body.model === 'string' ? { ...body, model: body.model.replaceAll('\r\n', '\n').trimEnd() } : body,
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
    ...(warnings === undefined ? {} : { warnings }),
  })
}
