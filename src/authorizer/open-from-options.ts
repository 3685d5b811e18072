// Opens an authorizer from options that have been checked.
import { loadProject } from '../project/load-project.ts'
import { defaultSecretLookup } from '../project/secret-references.ts'
import type { Authorizer, AuthorizerOptions } from './authorizer.ts'
import { openProjectAuthorizer } from './memory-authorizer.ts'

/** See `openAuthorizer`. */
export async function openFromOptions({
  folder,
  project,
  projectName,
  secrets = defaultSecretLookup(),
  log = () => undefined,
}: AuthorizerOptions): Promise<Authorizer> {
  const files = project === undefined ? null : await loadProject(project)
  if (folder === undefined && files !== null) return openProjectAuthorizer(files, null, { secrets, report: log })
  const { openFolderAuthorizer } = await import('./folder-authorizer.ts')
  return openFolderAuthorizer(folder as string, files, { projectName: projectName ?? null, secrets, report: log })
}
