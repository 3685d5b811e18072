// The environment variables of the program. Variables that an orchestrator creates with the same prefix are ignored,
// and unknown ones are rejected as probable misspellings.
import { nearestName } from '../../grammar/suggest.ts'
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import { environmentNameOf, settingSpecs } from '../settings.ts'
import { ownCommand } from './own-command.ts'

/** Environment variables by name. */
export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

/** Names the settings file. */
export const settingsFileVariable = 'VERDIGRAPH_SETTINGS'
/** The admin token that commands send to a running service, if they should not issue one from the data folder. */
export const tokenVariable = 'VERDIGRAPH_TOKEN'
/** The key of an application agent that commands send to a running service. */
export const agentKeyVariable = 'VERDIGRAPH_AGENT_KEY'

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
  ])
  return Object.entries(withoutServiceLinks(environment))
    .filter(([name, value]) => PREFIX.test(name) && !names.has(name) && (value ?? '') !== '')
    .map(([name]) => `${name}: unknown setting${hintFor(name, names)}`)
    .sort()
}

/** Compares without the common prefix, which would make all names similar. */
function hintFor(name: string, known: ReadonlySet<string>): string {
  const suffixes = new Map([...known].map((one) => [one.replace(PREFIX, ''), one]))
  const near = nearestName(name.replace(PREFIX, ''), suffixes.keys())
  return near === null
    ? `; \`${ownCommand(['settings'])}\` prints all of them`
    : `; did you mean \`${suffixes.get(near)}\`?`
}
