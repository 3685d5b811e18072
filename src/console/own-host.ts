// Decides whether a host name in a request names this machine.
import { hostname, networkInterfaces } from 'node:os'
import type { Settings } from '../settings.ts'
import { isLoopbackHost } from './access.ts'

/**
 * True if a request with this host in its header `Host` names this service: an address or the name of this machine, or the setting `host`.
 * Another name may be a machine of an attacker, which would receive a link that is made for it. `name`: without port, IPv6 in brackets.
 */
export function isOwnHost(name: string, { host }: Pick<Settings, 'host'>): boolean {
  if (isLoopbackHost(name) || name === host.toLowerCase() || name === hostname().toLowerCase()) return true
  const addresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return addresses.some(({ address }) => name === address || name === `[${address}]`)
}
