// The environment as the settings see it: what an orchestrator hands out under such names by itself is left out, and what
// else looks like a setting and is none is refused, for it is a mistyped one, most likely.
import { masterKeyVariable, nextMasterKeyVariable } from '../identity/master-key.ts'
import { nearestName } from '../kernel/suggest.ts'
import { environmentNameOf, settingSpecs } from '../settings.ts'

export type EnvironmentVariables = Readonly<Record<string, string | undefined>>

export const settingsFileVariable = 'VERDIGRAPH_SETTINGS'

const PREFIX = /^VERDIGRAPH_/i

/** Of a service whose name begins with ours, in the same namespace of Kubernetes: `VERDIGRAPH_PORT` may be one of them. */
const LINK_NAME = /^VERDIGRAPH_(?:.*_)?(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT_\d+_(?:TCP|UDP|SCTP)(?:_.+)?)$/
const LINK_VALUE = /^(?:tcp|udp|sctp):\/\//

export function withoutServiceLinks(environment: EnvironmentVariables): EnvironmentVariables {
  const isLink = (name: string, value = '') => LINK_NAME.test(name) || (/_PORT$/.test(name) && LINK_VALUE.test(value))
  return Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => !(PREFIX.test(name) && isLink(name, value))),
  )
}

/** One fault for each. An empty one is none, as everywhere. */
export function unknownVariables(environment: EnvironmentVariables): string[] {
  const known = new Set([
    ...Object.values(settingSpecs).map(environmentNameOf),
    masterKeyVariable,
    nextMasterKeyVariable,
    settingsFileVariable,
  ])
  return Object.entries(withoutServiceLinks(environment))
    .filter(([name, value]) => PREFIX.test(name) && !known.has(name) && (value ?? '') !== '')
    .map(([name]) => `${name}: unknown setting${hintFor(name, known)}`)
    .sort()
}

/** Without the prefix, which would make all of them look alike. */
function hintFor(name: string, known: ReadonlySet<string>): string {
  const suffixes = new Map([...known].map((one) => [one.replace(PREFIX, ''), one]))
  const near = nearestName(name.replace(PREFIX, ''), suffixes.keys())
  return near === null ? '; `verdigraph settings` prints all of them' : `; did you mean \`${suffixes.get(near)}\`?`
}
