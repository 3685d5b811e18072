// The models of the projects whose files are checked: each file is compiled with the model of the nearest folder around it.
import { definitionRemarks } from '../../model/definition-remarks.ts'
import { modelStart } from '../../model/model-file.ts'
import { compileModel, type ProjectModel } from '../../model/project-model.ts'
import { isModelFile, type LanguageDocument } from '../source/policy-source.ts'
import type { RawFinding } from './finding.ts'

/** Finds the model of a file; null: its project has none. */
export type FindModel = (file: string) => LanguageDocument | null

/** Finds models among documents: that of the folder of the file, or of the nearest folder around it. */
export function nearestModel(documents: readonly LanguageDocument[]): FindModel {
  const models = new Map(documents.filter(isModelFile).map((document) => [folderOf(document.file), document]))
  return (file) => {
    if (models.size === 0) return null
    for (let folder = folderOf(file); ; folder = folderOf(folder)) {
      const found = models.get(folder)
      if (found !== undefined || folder === '') return found ?? null
    }
  }
}

/** The compiled models of files. */
export class ProjectModels {
  private readonly find: FindModel
  private readonly compiled = new Map<string, ReturnType<typeof compileModel>>()

  constructor(find: FindModel) {
    this.find = find
  }

  /** The model with which a file is compiled; null: the project has no model, or one that does not compile. */
  of(file: string): ProjectModel | null {
    const document = this.find(file)
    const compiled = document === null ? null : this.compile(document)
    return compiled?.ok ? compiled.value : null
  }

  /** The errors of a model, or doubts about one that compiles. */
  faultsOf(document: LanguageDocument): readonly RawFinding[] {
    const start = modelStart(document.text)
    const compiled = this.compile(document)
    if (compiled.ok) {
      return definitionRemarks(document.text.slice(start)).map(({ span, ...remark }) => ({
        ...remark,
        document,
        span: { start: start + span.start, end: start + span.end },
      }))
    }
    return compiled.error.map(({ message, span }) => ({
      rule: 'invalid-model',
      document,
      span: { start: start + span.start, end: start + Math.max(span.end, span.start + 1) },
      message,
    }))
  }

  private compile({ text }: LanguageDocument): ReturnType<typeof compileModel> {
    const model = text.slice(modelStart(text))
    const known = this.compiled.get(model)
    if (known !== undefined) return known
    const compiled = compileModel(model)
    this.compiled.set(model, compiled)
    return compiled
  }
}

/** The folder of a path or a URI; empty: it has none. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')))
}
