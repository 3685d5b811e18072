// The model of a project, compiled from its text: the only place of the product above the engine that parses a model.
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parseModel } from '../../grammar/index.ts'
import { type CompiledModel, compilingDefinitions } from '../engine/definitions/model.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { allSteps, type Steps } from '../kernel/steps.ts'
import { compileGraphTypes, type GraphTypes } from './graph-types.ts'
import { definitionProblems } from './type-problems.ts'

/** A compiled model. It is never changed: a new text is another object. */
export interface ProjectModel {
  /** The text that it was compiled from. */
  readonly text: string
  /** The declared types; null: the text declares none, and nothing is compared with types. */
  readonly types: GraphTypes | null
  /** The derived relationship types; null: the text has none. */
  readonly definitions: CompiledModel | null
}

/** Compiles the text of a model. The error holds every diagnostic; their places are offsets of the text. */
export function compileModel(text: string): Result<ProjectModel, readonly Diagnostic[]> {
  return allSteps(compilingModel(text))
}

/** As `compileModel`, in steps: the text is parsed in one, and each definition is compiled in one. */
export function* compilingModel(text: string): Steps<Result<ProjectModel, readonly Diagnostic[]>> {
  const parsed = parseModel(text)
  if (!parsed.ok) return err(parsed.diagnostics)
  yield
  const compiled = yield* compilingDefinitions(parsed.model)
  const types = parsed.model.types === null ? null : compileGraphTypes(parsed.model.types, parsed.model.definitions)
  const faults = [...(types === null || types.ok ? [] : types.error), ...(compiled.ok ? [] : compiled.error)]
  if (!compiled.ok || faults.length > 0) return err(faults)
  const declared = types?.ok === true ? types.value : null
  const problems: Diagnostic[] = []
  if (declared !== null) {
    for (const definition of parsed.model.definitions) {
      problems.push(...definitionProblems(definition, declared))
      yield
    }
  }
  if (problems.length > 0) return err(problems)
  return ok({ text, types: declared, definitions: compiled.value.names.length === 0 ? null : compiled.value })
}
