// Finds the project of a service that an option names by its id or its name.
import { suggestion } from '../../../grammar/suggest.ts'
import { projectsKind } from '../../config/kind.ts'
import { isGid } from '../../kernel/ids.ts'
import { CliError } from '../output/cli-error.ts'
import { type ServiceClient, ServiceRefusalError } from './service-client.ts'

/** Returns the id of a project. An id is not looked up, because a deleted project has logs too. Rejects with CliError. */
export async function projectIdAt(client: ServiceClient, project: string): Promise<string> {
  if (isGid(project)) return project
  const { data } = (await client.call('GET', projectsKind).catch(explainRefusal)) as {
    readonly data: readonly { readonly id: string; readonly name: string }[]
  }
  const found = data.find(({ name }) => name === project)
  if (found !== undefined) return found.id
  const names = data.map(({ name }) => name)
  throw new CliError([`${client.url} has no project \`${project}\`${suggestion(project, names)}`])
}

/** The key of an agent reads the log of its project, but lists no projects. */
function explainRefusal(failure: unknown): never {
  if (!(failure instanceof ServiceRefusalError)) throw failure
  throw new CliError([
    ...failure.lines,
    '--project: pass the id, or the token of a service account that may list projects',
  ])
}
