// Asks a service: as an application agent if there is a key, and as a service account otherwise. Only a service account may read the
// graph and the policies.
import { suggestion } from '../../../grammar/suggest.ts'
import type {
  ActionSearchOutput,
  DecisionOutput,
  EntitySearchOutput,
  ExplanationOutput,
  GraphNamesOutput,
  GraphQueryOutput,
  ListedPolicy,
} from '../../authorizer/authorizer.ts'
import { createClient, type VerdigraphClient } from '../../client/client.ts'
import { ClientError, NotAuthorizedError } from '../../client/errors.ts'
import { projectsKind } from '../../config/kind.ts'
import type { JsonNumbers } from '../../kernel/json/json.ts'
import { policiesKind } from '../../policy/authorization-policy.ts'
import { defaultSettings } from '../../settings.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { agentKeyVariable, tokenVariable } from '../settings/environment-variables.ts'
import { ServiceClient, ServiceRefusalError } from './service-client.ts'
import type { AskOptions, ServicePlace, Target } from './target-place.ts'

/** Opens a service. No request is sent before the first question. */
export function openServiceTarget(place: ServicePlace): Target {
  const account = new AccountSide(place)
  const asker = new Asker(place, account)
  return {
    place,
    description: `the service ${place.url}`,
    evaluate: (request, options) =>
      asker.ask<DecisionOutput>(options, '/access/v1/evaluation', request, (client, as) =>
        client.evaluate(request, as),
      ),
    evaluations: (request, options) =>
      asker.ask<{ evaluations: readonly DecisionOutput[] }>(options, '/access/v1/evaluations', request, (client, as) =>
        client.evaluations(request, as),
      ),
    search: {
      subject: (request, options) =>
        asker.ask<EntitySearchOutput>(options, '/access/v1/search/subject', request, (client, as) =>
          client.searchSubjects(request, as),
        ),
      resource: (request, options) =>
        asker.ask<EntitySearchOutput>(options, '/access/v1/search/resource', request, (client, as) =>
          client.searchResources(request, as),
        ),
      action: (request, options) =>
        asker.ask<ActionSearchOutput>(options, '/access/v1/search/action', request, (client, as) =>
          client.searchActions(request, as),
        ),
    },
    explain: (request, options) =>
      asker.ask<ExplanationOutput>(options, '/access/v1/explain', request, (client, as) => client.explain(request, as)),
    query: async (request) => (await account.request('POST', '/graph/v1/query', request, 'exact')) as GraphQueryOutput,
    names: () => account.names(),
    policies: async () => {
      const query = new URLSearchParams({ project_id: await account.projectId(), full_fetch: 'true' })
      return ((await account.call('GET', `${policiesKind}?${query}`)) as { data: readonly ListedPolicy[] }).data
    },
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

type ClientOptionsOfCall = { readonly token?: string }

/** Sends questions about decisions. */
class Asker {
  private readonly place: ServicePlace
  private readonly account: AccountSide
  private client: VerdigraphClient | null = null

  constructor(place: ServicePlace, account: AccountSide) {
    this.place = place
    this.account = account
  }

  async ask<T>(
    { userToken, claims }: AskOptions = {},
    path: string,
    request: object,
    send: (client: VerdigraphClient, as: ClientOptionsOfCall) => Promise<T>,
  ): Promise<T> {
    if (claims !== undefined) {
      throw new UsageError(['--token-claims is for a graph in this process: a service verifies the token of --token'])
    }
    const { url } = this.place
    const key = this.place.key()
    if (key === null) {
      if (userToken !== undefined) {
        throw new UsageError([
          `--token needs the key of an application agent: set ${agentKeyVariable}, or the key of the context`,
        ])
      }
      return (await this.account.request('POST', path, request, 'plain')) as T
    }
    this.client ??= createClient({ url, key })
    try {
      return await send(this.client, userToken === undefined ? {} : { token: userToken })
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      throw new CliError(linesOf(error, url), exitCodes.usage.code)
    }
  }
}

function linesOf(error: ClientError, url: string): readonly string[] {
  if (error instanceof NotAuthorizedError) return [`${url} refused the agent key or the token: ${error.message}`]
  if (error.status === null) return [`${url} cannot be reached: ${causeOf(error)}`]
  return error.errors.length > 0 ? error.errors : [`${url} answered: ${error.message}`]
}

function causeOf({ cause, message }: ClientError): string {
  return cause instanceof Error ? cause.message : message
}

/** Sends requests as a service account. Its methods reject with CliError. */
export class AccountSide {
  private readonly place: ServicePlace
  private readonly client: () => ServiceClient
  private project: string | null = null

  constructor(place: ServicePlace) {
    this.place = place
    let client: ServiceClient | null = null
    this.client = () => {
      const { url, issuer } = place
      const token = place.token()
      if (token === null && issuer === null && place.key() !== null) {
        throw new UsageError([
          `this command needs a token of a service account (${tokenVariable}, or the token of a context); an agent key is not enough`,
        ])
      }
      if (token === null && issuer === null) {
        throw new UsageError([
          `no credential for ${url}: set ${agentKeyVariable} or ${tokenVariable}, store a key or a token in a context, or pass --data with the data folder of the service`,
        ])
      }
      client ??= new ServiceClient(issuer ?? defaultSettings, url, token)
      return client
    }
  }

  /** Sends requests about the project. */
  async ask<T>(send: (client: ServiceClient, projectId: string) => Promise<T>): Promise<T> {
    const client = this.client()
    const projectId = await this.projectId()
    return this.explained(send(client, projectId))
  }

  /** Sends a request about the project. */
  async request(method: string, path: string, body: object | undefined, numbers: JsonNumbers): Promise<unknown> {
    const headers = { 'x-project-id': await this.projectId() }
    return this.explained(this.client().request(method, path, body, numbers, headers))
  }

  /** Sends a request to `/configs/v1`. */
  async call(method: string, path: string): Promise<unknown> {
    return this.explained(this.client().call(method, path))
  }

  /** Null: the caller may not read them, and suggestions do not need them. */
  async names(): Promise<GraphNamesOutput | null> {
    try {
      return (await this.request('GET', '/graph/v1/names', undefined, 'plain')) as GraphNamesOutput
    } catch (error) {
      if (error instanceof CliError) return null
      throw error
    }
  }

  /** The id of the project. */
  async projectId(): Promise<string> {
    this.project ??= await this.findProject()
    return this.project
  }

  private async findProject(): Promise<string> {
    const { project } = this.place
    const { data } = (await this.call('GET', projectsKind)) as {
      readonly data: readonly { readonly id: string; readonly name: string }[]
    }
    const names = data.map(({ name }) => name)
    if (project !== null) {
      const found = data.filter(({ id, name }) => id === project || name === project)
      if (found.length === 1 && found[0] !== undefined) return found[0].id
      throw new UsageError([`no project is named \`${project}\`${suggestion(project, names)}`])
    }
    if (data.length === 1 && data[0] !== undefined) return data[0].id
    throw new UsageError([
      data.length === 0
        ? 'the service has no project'
        : `the service has several projects: pass --project with one of ${names.join(', ')}`,
    ])
  }

  private async explained<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } catch (error) {
      if (!(error instanceof CliError) || error instanceof UsageError) throw error
      const isCredential = error instanceof ServiceRefusalError && (error.status === 401 || error.status === 403)
      const lines = isCredential ? [`${this.place.url} refused the token: ${error.lines.join('; ')}`] : error.lines
      throw new CliError(lines, exitCodes.usage.code)
    }
  }
}
