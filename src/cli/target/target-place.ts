// Where the graph is that a command asks: a service, a data folder, or a project folder with its graph in memory. Flags take
// precedence over environment variables, which take precedence over the current context.
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type {
  ActionSearchInput,
  ActionSearchOutput,
  AuthorizerToken,
  DecisionOutput,
  EntitySearchOutput,
  EvaluationInput,
  EvaluationsInput,
  ExplanationOutput,
  GraphNamesOutput,
  GraphQueryInput,
  GraphQueryOutput,
  ListedPolicy,
  ResourceSearchInput,
  SubjectSearchInput,
} from '../../authorizer/authorizer.ts'
import { CONFIGURATION_FOLDER, DATA_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { UsageError } from '../output/cli-error.ts'
import {
  agentKeyVariable,
  contextVariable,
  projectVariable,
  tokenVariable,
  urlVariable,
} from '../settings/environment-variables.ts'
import { type Flags, settingSourceOf, settingsFrom } from '../settings/flag-settings.ts'
import { ownCommand } from '../settings/own-command.ts'
import { type AskContext, contextNamed, readContexts, secretOf } from './contexts.ts'

/** The options that name a graph. */
export interface TargetFlags extends Flags {
  readonly context?: string
  /** The URL of a service. */
  readonly url?: string
  /** Id or name of the project. */
  readonly project?: string
  /** A data folder. */
  readonly data?: string
  /** A project folder. */
  readonly folder?: string
  /** A scenario file with the graph. */
  readonly graph?: string
}

/** A running service. */
export interface ServicePlace {
  readonly kind: 'service'
  readonly url: string
  /** Null: that of the agent key, or the only one. */
  readonly project: string | null
  /** Returns the key of an application agent, for decisions; null: none is given. Throws UsageError. */
  key(): string | null
  /** Returns the token of a service account; null: none is given. Throws UsageError. */
  token(): string | null
  /** The settings whose data folder may issue a token for the service; null: none is named, and the service is not on this machine. */
  readonly issuer: Settings | null
}

/** A data folder, which a service may be serving. */
export interface DataFolderPlace {
  readonly kind: 'data-folder'
  readonly settings: Settings
  /** Null: the only one. */
  readonly project: string | null
  /** A project folder with the policies that replace those of the data folder; null: those of the data folder. */
  readonly folder: string | null
}

/** A project folder with a graph in memory. */
export interface MemoryPlace {
  readonly kind: 'memory'
  /** Null: the one that the scenario file names. */
  readonly folder: string | null
  /** The scenario file with the graph; null: the only one of the folder. */
  readonly graph: string | null
}

/** Where the graph is that a command asks. */
export type TargetPlace = ServicePlace | DataFolderPlace | MemoryPlace

/** A user on whose behalf a command asks. */
export interface AskOptions {
  /** For a service: the token, which the service verifies. */
  readonly userToken?: string | undefined
  /** For a graph in this process: the claims, which are taken as they are. */
  readonly claims?: AuthorizerToken | undefined
}

/** A graph that answers. Its methods reject with CliError. */
export interface Target extends AsyncDisposable {
  readonly place: TargetPlace
  /** For people: `the service http://…`. */
  readonly description: string
  evaluate(request: EvaluationInput, options?: AskOptions): Promise<DecisionOutput>
  evaluations(
    request: EvaluationsInput,
    options?: AskOptions,
  ): Promise<{ readonly evaluations: readonly DecisionOutput[] }>
  readonly search: {
    subject(request: SubjectSearchInput, options?: AskOptions): Promise<EntitySearchOutput>
    resource(request: ResourceSearchInput, options?: AskOptions): Promise<EntitySearchOutput>
    action(request: ActionSearchInput, options?: AskOptions): Promise<ActionSearchOutput>
  }
  explain(request: EvaluationInput, options?: AskOptions): Promise<ExplanationOutput>
  query(request: GraphQueryInput): Promise<GraphQueryOutput>
  /** The names of labels, relationship types and properties; null: the caller may not read them. */
  names(): Promise<GraphNamesOutput | null>
  policies(): Promise<readonly ListedPolicy[]>
  close(): Promise<void>
}

/**
 * Where the graph is that the flags, the environment or the current context name. `options`: those of the command, for messages. Throws
 * UsageError.
 */
export function placeOf(flags: TargetFlags, options = '--url, --data, --folder or --context'): TargetPlace {
  refuseContradictions(flags)
  const named = namedPlace(flags)
  const project = flags.project ?? nonEmpty(process.env[projectVariable]) ?? named.project
  return placeIn({ ...named, ...(project !== undefined && { project }) }, flags, options)
}

/** A context, or what stands for one, with the name for messages. */
interface NamedPlace extends AskContext {
  readonly name: string
  /** The settings decide about the data folder. */
  readonly fromSettings?: true
}

function refuseContradictions({ context, url, data, folder, graph }: TargetFlags): void {
  const given = { '--context': context, '--url': url, '--folder': folder, '--graph': graph, '--data': data }
  const names = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [name]))
  for (const [first, ...others] of [
    ['--context', '--url', '--folder', '--graph', '--data'],
    ['--url', '--folder', '--graph'],
    ['--data', '--graph'],
  ] as const) {
    const second = names.includes(first) ? others.find((name) => names.includes(name)) : undefined
    if (second !== undefined) throw new UsageError([`expected either ${first} or ${second}: each names a graph`])
  }
}

function namedPlace(flags: TargetFlags): NamedPlace {
  const { url, folder, graph, context } = flags
  if (context !== undefined) return { name: context, ...contextNamed(context, readContexts()) }
  if (url !== undefined || folder !== undefined || graph !== undefined) {
    const isData = flags.data !== undefined && url === undefined
    return {
      name: 'flags',
      ...(url !== undefined && { url }),
      ...(folder !== undefined && { folder }),
      ...(graph !== undefined && { graph }),
      ...(isData && { fromSettings: true }),
    }
  }
  const source = settingSourceOf(flags, 'dataDir')
  if (source === 'flag') return { name: 'flags', fromSettings: true }
  const contextName = nonEmpty(process.env[contextVariable])
  if (contextName !== undefined) return { name: contextName, ...contextNamed(contextName, readContexts()) }
  const service = nonEmpty(process.env[urlVariable])
  if (service !== undefined) return { name: urlVariable, url: service }
  if (source === 'environment') return { name: 'environment', fromSettings: true }
  const contexts = readContexts()
  if (contexts.current !== null) return { name: contexts.current, ...contextNamed(contexts.current, contexts) }
  return { name: 'default', fromSettings: true }
}

function placeIn(named: NamedPlace, flags: TargetFlags, options: string): TargetPlace {
  const { name, url, data, folder, graph, project = null } = named
  if (url !== undefined) {
    return {
      kind: 'service',
      url: checkedUrl(url),
      project,
      key: () => nonEmpty(process.env[agentKeyVariable]) ?? secretIn(named, 'key'),
      token: () => nonEmpty(process.env[tokenVariable]) ?? secretIn(named, 'token'),
      issuer: issuerFor(url, data, flags),
    }
  }
  if (data !== undefined || named.fromSettings === true) {
    const settings = settingsFrom(data === undefined ? flags : { ...flags, data })
    if (name === 'default' && !isDataFolder(settings)) {
      throw new UsageError([
        `no graph is named, and ${settings.dataDir} is no data folder: pass ${options}, or run \`${ownCommand(['context', 'set', '--help'])}\``,
      ])
    }
    return { kind: 'data-folder', settings, project, folder: folder === undefined ? null : resolve(folder) }
  }
  if (folder === undefined && graph === undefined) {
    throw new UsageError([`the context \`${name}\` names no graph: set its URL, data folder or project folder`])
  }
  return { kind: 'memory', folder: folder ?? null, graph: graph ?? null }
}

function secretIn(context: NamedPlace, member: 'key' | 'token'): string | null {
  const text = context[member]
  return text === undefined ? null : secretOf(context.name, member, text)
}

/**
 * A data folder issues a token for a service if the user names both, or if the service is on this machine. The client sends it only to
 * the address of the settings.
 */
function issuerFor(url: string, data: string | undefined, flags: TargetFlags): Settings | null {
  if (data !== undefined) return settingsFrom({ ...flags, data })
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(new URL(url).hostname)
  if (settingSourceOf(flags, 'dataDir') === 'flag') return settingsFrom(flags)
  return isLocal && isDataFolder(settingsFrom(flags)) ? settingsFrom(flags) : null
}

function isDataFolder({ dataDir }: Settings): boolean {
  return existsSync(join(dataDir, CONFIGURATION_FOLDER, DATA_FILE))
}

/** Returns the URL of a service without a slash at the end; throws UsageError. */
export function checkedUrl(text: string): string {
  if (URL.canParse(text)) {
    const { protocol, username, password } = new URL(text)
    if (username !== '' || password !== '')
      throw new UsageError(['expected the URL of a service without a user name and a password'])
    if (protocol === 'http:' || protocol === 'https:') return text.replace(/\/+$/, '')
  }
  throw new UsageError([`expected the URL of a service, such as https://authz.example.com, found \`${text}\``])
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text
}
