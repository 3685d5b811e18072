// Asks a graph in this process: that of a data folder, or one in memory with the policies of a project folder.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Authorizer } from '../../authorizer/authorizer.ts'
import { AuthorizerError } from '../../authorizer/authorizer-error.ts'
import { openFolderAuthorizer } from '../../authorizer/folder-authorizer.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { formatFileDiagnostic, ProjectFolderError } from '../../project/file-diagnostic.ts'
import { loadProject } from '../../project/load-project.ts'
import { defaultSecretLookup } from '../../project/secret-references.ts'
import { loadScenario, readScenarioFile } from '../../scenarios/load-scenario.ts'
import { openScenario } from '../../scenarios/run.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printNotice } from '../output/print.ts'
import type { AskOptions, DataFolderPlace, MemoryPlace, Target } from './target-place.ts'

/** Opens the graph. Rejects with CliError. */
export async function openProcessTarget(place: DataFolderPlace | MemoryPlace): Promise<Target> {
  return asCliErrors(async () => {
    const [authorizer, description] = await openAt(place)
    return processTarget(authorizer, place, description, asCliErrors)
  })
}

/** Opens the authorizer itself. The caller closes it. Rejects with CliError. */
export function openAuthorizerAt(place: DataFolderPlace | MemoryPlace): Promise<[Authorizer, string]> {
  return asCliErrors(() => openAt(place))
}

function openAt(place: DataFolderPlace | MemoryPlace): Promise<[Authorizer, string]> {
  return place.kind === 'data-folder' ? openDataFolder(place) : openInMemory(place)
}

async function openDataFolder({ settings, project, folder }: DataFolderPlace): Promise<[Authorizer, string]> {
  const { dataDir } = settings
  if (!existsSync(dataDir)) throw new UsageError([`${dataDir} does not exist`])
  const files = folder === null ? null : await loadProject(folder)
  const authorizer = await openFolderAuthorizer(dataDir, files, {
    projectName: project,
    secrets: defaultSecretLookup(),
    report: printNotice,
    settings,
  })
  const policies = folder === null ? '' : ` with the policies of ${folder}`
  return [authorizer, `the data folder ${dataDir}${policies}`]
}

async function openInMemory({ folder, graph }: MemoryPlace): Promise<[Authorizer, string]> {
  if (folder === null) {
    const scenario = await loadScenario(graph as string)
    return [await openScenario(scenario), `the graph of ${graph}`]
  }
  if (!existsSync(folder)) throw new UsageError([`${folder} does not exist`])
  const project = await loadProject(folder)
  const file = graph ?? onlyScenario(project.scenarios, folder)
  const scenario = readScenarioFile(file, project)
  return [await openScenario(scenario), `the graph of ${file} with the policies of ${folder}`]
}

function onlyScenario(scenarios: readonly string[], folder: string): string {
  const [only] = scenarios
  if (scenarios.length === 1 && only !== undefined) return join(folder, only)
  throw new UsageError([
    scenarios.length === 0
      ? `${folder} has no graph: pass --graph with a scenario file, or --data with a data folder`
      : `${folder} has several graphs: pass --graph with one of ${scenarios.map((file) => join(folder, file)).join(', ')}`,
  ])
}

/** Runs a part of a command. Rejects with CliError for what a user can solve. */
export async function asCliErrors<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const lines = linesOf(error)
    throw lines === null ? error : new CliError(lines, exitCodes.usage.code)
  }
}

function linesOf(error: unknown): readonly string[] | null {
  if (error instanceof ProjectFolderError) return error.diagnostics.map(formatFileDiagnostic)
  if (error instanceof AuthorizerError) return error.issues.length > 0 ? error.issues : [error.message]
  return error instanceof OperationalError ? [error.message] : null
}

function processTarget(
  authorizer: Authorizer,
  place: DataFolderPlace | MemoryPlace,
  description: string,
  call: <T>(ask: () => T) => Promise<T>,
): Target {
  const callOptions = ({ userToken, claims }: AskOptions = {}) => {
    if (userToken !== undefined) {
      throw new UsageError(['--token is for a service, which verifies it: use --token-claims here'])
    }
    return claims === undefined ? {} : { token: claims }
  }
  return {
    place,
    description,
    evaluate: (request, options) => call(() => authorizer.evaluate(request, callOptions(options))),
    evaluations: (request, options) => call(() => authorizer.evaluations(request, callOptions(options))),
    search: {
      subject: (request, options) => call(() => authorizer.search.subject(request, callOptions(options))),
      resource: (request, options) => call(() => authorizer.search.resource(request, callOptions(options))),
      action: (request, options) => call(() => authorizer.search.action(request, callOptions(options))),
    },
    explain: (request, options) => call(() => authorizer.explain(request, callOptions(options))),
    query: (request) => call(() => authorizer.query(request)),
    names: () => call(() => authorizer.names()),
    policies: () => call(() => authorizer.policies()),
    close: () => authorizer.close(),
    [Symbol.asyncDispose]: () => authorizer.close(),
  }
}
