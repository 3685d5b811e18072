// The environment variables of the program. Variables that an orchestrator creates with the same prefix are ignored,
// and unknown ones are rejected as probable misspellings.
import { nearestName } from '../../../grammar/suggest.ts'
import { masterKeyVariable, nextMasterKeyVariable } from '../../identity/master-key.ts'
import { environmentNameOf, settingSpecs } from '../../settings.ts'
import { ownCommand } from './own-command.ts'

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Names the settings file. */
export const settingsFileVariable = 'VERDIGRAPH_SETTINGS'
/** The admin token that commands send to a running service, if they should not issue one from the data folder. */
export const tokenVariable = 'VERDIGRAPH_TOKEN'
/** The key of an application agent that commands send to a running service. */
export const agentKeyVariable = 'VERDIGRAPH_AGENT_KEY'
/** The name of the context that commands ask. */
export const contextVariable = 'VERDIGRAPH_CONTEXT'
/** The URL of the service that commands ask. */
export const urlVariable = 'VERDIGRAPH_URL'
/** Id or name of the project that commands ask. */
export const projectVariable = 'VERDIGRAPH_PROJECT'
/** The folder of the secrets that project folders and contexts refer to. */
const secretsVariable = 'VERDIGRAPH_SECRETS'

const PREFIX = /^VERDIGRAPH_/i

/**
 * Variables that Kubernetes creates for each service in the namespace whose name starts with `verdigraph`.
 * `VERDIGRAPH_PORT` may be one of them.
 */
const LINK_NAME = /^VERDIGRAPH_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_.+)?)$/
const LINK_VALUE = /^(?:tcp|udp|sctp):\/\//

/** The environment without the service variables of Kubernetes. */
export function withoutServiceLinks(environment: EnvironmentVariables): EnvironmentVariables {
  const isLink = (name: string, value = '') => LINK_NAME.test(name) || (/_PORT$/.test(name) && LINK_VALUE.test(value))
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !(PREFIX.test(name) && isLink(name, value))),
  )
}

/** One message for each unknown variable. Empty variables are ignored. */
export function unknownVariables(environment: EnvironmentVariables): string[] {
  const names = new Set([
    ...Object.values(settingSpecs).map(environmentNameOf),
    masterKeyVariable,
    nextMasterKeyVariable,
    settingsFileVariable,
    tokenVariable,
    agentKeyVariable,
    contextVariable,
    urlVariable,
    projectVariable,
    secretsVariable,
  ])
  const given = Object.entries(withoutServiceLinks(environment)).filter(([, value]) => (value ?? '') !== '')
  const isTraced = endpointVariables.some((name) => (environment[name] ?? '') !== '')
  return [
    ...given
      .filter(([name]) => PREFIX.test(name) && !names.has(name))
      .map(([name]) => `${name}: unknown setting${hintFor(name, names)}`),
    ...(isTraced ? given.filter(([name]) => OTEL_PREFIX.test(name) && !names.has(name)).flatMap(otelError) : []),
  ].sort()
}

const OTEL_PREFIX = /^OTEL_/
/** With one of them requests are traced, and all variables about traces must be known. */
const endpointVariables = [settingSpecs.otlpEndpoint, settingSpecs.otlpTracesEndpoint].map(environmentNameOf)
/** Variables about other signals, and of other programs. */
const OTHER_SIGNAL =
  /^OTEL_(?:EXPORTER_OTLP_)?(?:METRICS?|LOGS?|LOGRECORD|BLRP|PROFILES|EXPORTER_PROMETHEUS|NODE|LOG_LEVEL)(?:_|$)/
/** Variables with one value that is executed. */
const fixedVariables: Readonly<Record<string, string>> = {
  OTEL_PROPAGATORS: 'tracecontext',
  OTEL_EXPORTER_OTLP_COMPRESSION: 'none',
  OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: 'none',
}

function otelError([name, value = '']: readonly [string, string | undefined]): string[] {
  const only = fixedVariables[name]
  if (OTHER_SIGNAL.test(name) || value === only) return []
  if (only !== undefined) return [`${name}: expected \`${only}\`, found \`${value}\``]
  return [`${name}: this variable of OpenTelemetry is not supported; remove it`]
}

/** Compares without the common prefix, which would make all names similar. */
function hintFor(name: string, known: ReadonlySet<string>): string {
  const suffixes = new Map([...known].map((one) => [one.replace(PREFIX, ''), one]))
  const near = nearestName(name.replace(PREFIX, ''), suffixes.keys())
  return near === null
    ? `; \`${ownCommand(['settings'])}\` prints all of them`
    : `; did you mean \`${suffixes.get(near)}\`?`
}
