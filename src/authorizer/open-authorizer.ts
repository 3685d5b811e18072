// Opens an authorizer. It loads its parts when it is first called, so that a program which uses only the graph does not load them.
import type { Authorizer, AuthorizerOptions } from './authorizer.ts'

/**
 * Opens an authorizer: over an empty graph in memory with the policies of a project folder, or over an existing data folder. Close
 * it at the end, or declare it with `await using`.
 *
 * Rejects with ProjectFolderError for errors in the files of the project, each with file, line and column, and with
 * OperationalError if a folder cannot be used.
 *
 * @example
 * await using authorizer = await openAuthorizer({ memory: true, project: './authz' })
 */
export async function openAuthorizer(options: AuthorizerOptions): Promise<Authorizer> {
  const { memory, folder, project } = options
  if ((memory === true) === (folder !== undefined)) {
    throw new TypeError('openAuthorizer: expected either `memory: true` or `folder`')
  }
  if (memory === true && project === undefined) {
    throw new TypeError('openAuthorizer: expected `project` with `memory`: the folder of the policies')
  }
  const { openFromOptions } = await import('./open-from-options.ts')
  return openFromOptions(options)
}
