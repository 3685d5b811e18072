// The errors in the files of project folders as findings of `lint`: of every kind of document, by the reader of `apply` and `test`.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { LintFinding } from '../../language/lint/finding.ts'
import { ProjectFolderError } from '../../project/file-diagnostic.ts'
import { isProjectFolder, loadProject } from '../../project/load-project.ts'
import { foldersBelow } from './files-below.ts'

/**
 * Adds the errors of the project folders at and below `paths` to the findings of `lint`. Of a file with such errors, other findings
 * about its form are left out, because they describe the same mistakes.
 */
export async function withProjectErrors(
  findings: readonly LintFinding[],
  paths: readonly string[],
): Promise<readonly LintFinding[]> {
  const folders = paths
    .filter((path) => statSync(path).isDirectory())
    .flatMap(foldersBelow)
    .filter(isProjectFolder)
  const errors = (await Promise.all([...new Set(folders)].map(errorsOf))).flat()
  if (errors.length === 0) return findings
  const invalid = new Set(errors.map(({ file }) => file))
  const isForm = ({ rule, file }: LintFinding): boolean =>
    invalid.has(file) && (rule === 'invalid-document' || rule === 'invalid-cypher')
  return [...errors, ...findings.filter((finding) => !isForm(finding))].sort((a, b) =>
    a.file < b.file ? -1 : a.file > b.file ? 1 : a.line - b.line || a.column - b.column,
  )
}

async function errorsOf(folder: string): Promise<readonly LintFinding[]> {
  try {
    await loadProject(folder)
    return []
  } catch (error) {
    if (!(error instanceof ProjectFolderError)) throw error
    return error.diagnostics.map(
      ({ file, line, column, message }): LintFinding => ({
        rule: 'invalid-document',
        severity: 'error',
        file: join(folder, file),
        line,
        column,
        end_line: line,
        end_column: column + 1,
        message,
        suggestion: null,
      }),
    )
  }
}
