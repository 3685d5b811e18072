// Runs many scenario files one after another, and reads the project folders that they share once. Errors in files are results too.
import { AuthorizerError } from '../authorizer/authorizer-error.ts'
import { OperationalError } from '../kernel/errors.ts'
import { type FileDiagnostic, type FilePosition, ProjectFolderError } from '../project/file-diagnostic.ts'
import { loadProject } from '../project/load-project.ts'
import type { ProjectFolder } from '../project/project-folder.ts'
import { loadScenario } from './load-scenario.ts'
import {
  newlyShared,
  runScenario,
  type ScenarioRun,
  type ScenarioRunOptions,
  type SharedByScenarios,
  withElement,
} from './run.ts'
import type { ScenarioFile } from './scenario.ts'

/** The result of one scenario file. */
export interface ScenarioFileResult {
  /** The path as it was given. */
  readonly file: string
  /** The folder of its project, absolute; null: it has its own policies, or was not read so far. */
  readonly projectFolder: string | null
  /** Null: it did not run, because of `errors`. */
  readonly run: ScenarioRun | null
  /** Errors in the file, in its project, or of its graph, with paths from the working folder. */
  readonly errors: readonly FileDiagnostic[]
}

/** Options of a suite. */
interface SuiteOptions extends Omit<ScenarioRunOptions, 'isSelected' | 'bail' | 'shared'> {
  /** Default: each check runs. `text`: the file, the list and the title of the check. */
  readonly isSelected?: (text: string) => boolean
  /** Ends after the first failed check or the first file with errors. Default: false. */
  readonly bail?: boolean
  /** Called after each file. */
  readonly onResult?: (result: ScenarioFileResult) => void
}

/** Runs scenario files in the given order. Files after a `bail` have no result. */
export async function runSuite(
  files: readonly string[],
  options: SuiteOptions,
): Promise<readonly ScenarioFileResult[]> {
  const projects = new Map<string, Promise<ProjectFolder>>()
  const shared = newlyShared()
  const results: ScenarioFileResult[] = []
  for (const file of files) {
    const result = await runFile(file, projects, shared, options)
    results.push(result)
    options.onResult?.(result)
    if (options.bail === true && !hasPassed(result)) break
  }
  return results
}

/** Whether a file ran and all its checks passed. */
export function hasPassed({ run }: ScenarioFileResult): boolean {
  return run?.checks.every(({ passed }) => passed) === true
}

async function runFile(
  file: string,
  projects: Map<string, Promise<ProjectFolder>>,
  shared: SharedByScenarios,
  { isSelected, onResult: _onResult, ...options }: SuiteOptions,
): Promise<ScenarioFileResult> {
  let projectFolder: string | null = null
  const load = (folder: string): Promise<ProjectFolder> => {
    projectFolder = folder
    const known = projects.get(folder) ?? loadProject(folder)
    projects.set(folder, known)
    return known
  }
  let scenario: ScenarioFile | null = null
  try {
    scenario = await loadScenario(file, load)
    const run = await runScenario(scenario, {
      ...options,
      shared,
      ...(isSelected !== undefined && { isSelected: ({ list, title }) => isSelected(`${file} ${list} ${title}`) }),
    })
    return { file, projectFolder, run, errors: [] }
  } catch (error) {
    return { file, projectFolder, run: null, errors: diagnosticsOf(error, file, scenario) }
  }
}

/** Throws an error that is not one of the files. */
function diagnosticsOf(error: unknown, file: string, scenario: ScenarioFile | null): readonly FileDiagnostic[] {
  const graphPosition: FilePosition = scenario?.graphPosition ?? { file, line: 1, column: 1 }
  if (error instanceof ProjectFolderError) return error.diagnostics
  if (error instanceof AuthorizerError && error.issues.length > 0 && scenario !== null) {
    const { items } = scenario
    return error.issues.map((issue) => ({ ...graphPosition, message: `graph: ${withElement({ items }, issue)}` }))
  }
  if (error instanceof AuthorizerError) return [{ ...graphPosition, message: `graph: ${error.message}` }]
  if (error instanceof OperationalError) return [{ ...graphPosition, message: error.message }]
  throw error
}
