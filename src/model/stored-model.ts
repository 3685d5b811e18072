// The model of a project in its stored configuration, compiled once for each stored revision.
import { renderDiagnostic } from '../../grammar/diagnostic.ts'
import type { ConfigReader, DocumentFields } from '../config/kind.ts'
import type { KnownSymbols } from '../engine/unknown-symbols.ts'
import { CompiledOnce } from '../kernel/compiled-once.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { allSteps, type Steps } from '../kernel/steps.ts'
import type { GraphTypes } from './graph-types.ts'
import { nameProblem, nodesWith, propertyProblem } from './known-values.ts'
import { compilingModel, type ProjectModel } from './project-model.ts'

/** Name of the kind. */
export const modelsKind = 'models'

/**
 * The texts of a project are compiled with it: the model of the project, or null for a project without one. An error, with the issues of the model, makes each of
 * these texts fail: without the definitions, a text could mean another thing. One object for each stored revision.
 */
export type StoredModel = Result<ProjectModel | null, readonly string[]>

/** Of a project without a model. */
export const noModel: StoredModel = ok(null)

const compiled = new CompiledOnce<DocumentFields, StoredModel>()

/** The compiled model of stored fields. Issues are for the author: each has the path, the line and the column. */
export function compiledModel(fields: DocumentFields): StoredModel {
  return compiled.get(fields, () => allSteps(compiling(fields)))
}

/** Whether `compiledModel` would not compile. */
export function isModelCompiled(fields: DocumentFields): boolean {
  return compiled.has(fields)
}

/** As `compiledModel`, in steps. */
export function* compilingStoredModel(fields: DocumentFields): Steps<StoredModel> {
  if (isModelCompiled(fields)) return compiledModel(fields)
  const model = yield* compiling(fields)
  // Policies are compiled for one object of a model, so an earlier one stays.
  return compiled.get(fields, () => model)
}

function* compiling({ model }: DocumentFields): Steps<StoredModel> {
  const text = model as string
  const result = yield* compilingModel(text)
  return result.ok ? result : err(result.error.map((issue) => `model: ${renderDiagnostic(text, issue)}`))
}

/** The names of the derived relationship types of a model. Empty for one that does not compile. */
export function definedNames(model: StoredModel): readonly string[] {
  return model.ok ? (model.value?.definitions?.names ?? []) : []
}

/** The names of a model, for the search for names that neither it nor the graph has. */
export function modelSymbols(model: StoredModel): KnownSymbols {
  const types = typesOf(model)
  // Declared types have the names of definitions, too.
  if (types !== null) return types
  const names = new Set(definedNames(model))
  return {
    symbol: (kind, name) => (kind === 'type' && names.has(name) ? 1 : 0),
    symbolNames: (kind) => (kind === 'type' ? names : []),
  }
}

/** A stored model, as records of decisions name it. */
export interface UsedModel {
  readonly id: string
  readonly name: string
  readonly revision: number
}

/** The stored model of a project; null: it has none. */
export function usedModelOf(reader: ConfigReader, projectId: string): UsedModel | null {
  const [document] = reader.inScope(modelsKind, projectId)
  return document === undefined ? null : { id: document.id, name: document.name, revision: document.revision }
}

/** The model of a project. */
export function modelOf(reader: ConfigReader, projectId: string): StoredModel {
  const fields = modelFieldsOf(reader, projectId)
  return fields === null ? noModel : compiledModel(fields)
}

/** The stored fields of the model of a project; null: it has none. */
export function modelFieldsOf(reader: ConfigReader, projectId: string): DocumentFields | null {
  return reader.inScope(modelsKind, projectId)[0]?.fields ?? null
}

/** An issue for each member of a document that names a label which the model of the project does not declare. */
export function undeclaredLabels(
  reader: ConfigReader,
  projectId: string,
  labels: readonly (readonly [member: string, label: string])[],
): readonly string[] {
  const types = typesOf(modelOf(reader, projectId))
  if (types === null) return []
  return labels.flatMap(([member, label]) => {
    const message = nameProblem('label', label, types)
    return message === null ? [] : [`${member}: ${message}`]
  })
}

/** An issue for each member of a document that names a property which the model declares for no node with the label. */
export function undeclaredProperties(
  reader: ConfigReader,
  projectId: string,
  label: string,
  properties: readonly (readonly [member: string, property: string])[],
): readonly string[] {
  const types = typesOf(modelOf(reader, projectId))
  if (types === null) return []
  const known = nodesWith(types, label)
  return properties.flatMap(([member, property]) => {
    const message = propertyProblem(known, property, types)
    return message === null ? [] : [`${member}: ${message}`]
  })
}

/** The declared types of a project; null: its model declares none. */
export function typesOf(model: StoredModel): GraphTypes | null {
  return model.ok ? (model.value?.types ?? null) : null
}
