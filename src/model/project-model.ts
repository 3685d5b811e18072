// The model of a project, compiled from its text: the only place of the product above the engine that parses a model.
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { type CompiledModel, compileModel as compileDefinitions } from '../engine/definitions/model.ts'
import { ok, type Result } from '../kernel/result.ts'

/** A compiled model. It is never changed: a new text is another object. */
export interface ProjectModel {
  /** The text that it was compiled from. */
  readonly text: string
  /** The derived relationship types; null: the text has none. */
  readonly definitions: CompiledModel | null
}

/** Compiles the text of a model. The error holds every diagnostic; their places are offsets of the text. */
export function compileModel(text: string): Result<ProjectModel, readonly Diagnostic[]> {
  const definitions = compileDefinitions(text)
  if (!definitions.ok) return definitions
  return ok({ text, definitions: definitions.value.names.length === 0 ? null : definitions.value })
}
