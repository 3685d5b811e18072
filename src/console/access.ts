// Whether the console is served.
import { hostname, networkInterfaces } from 'node:os'
import type { Settings } from '../settings.ts'

/** True if the console is on: by its setting, or because only this machine can reach the service. */
export function isConsoleOn({ console, host, publicUrl }: Pick<Settings, 'console' | 'host' | 'publicUrl'>): boolean {
  if (console !== 'auto') return console === 'on'
  // A proxy on this machine may serve other machines.
  return isLoopbackHost(host) && (publicUrl === '' || isLoopbackHost(new URL(publicUrl).hostname))
}

/** True for the addresses of this machine. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * True if a request with this host in its header `Host` names this service: an address or the name of this machine, or the setting `host`.
 * Any other name could belong to somebody else, who would get a link that is made for it. `name`: without port, IPv6 in brackets.
 */
export function isOwnHost(name: string, { host }: Pick<Settings, 'host'>): boolean {
  if (isLoopbackHost(name) || name === host.toLowerCase() || name === hostname().toLowerCase()) return true
  const addresses = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return addresses.some(({ address }) => name === address || name === `[${address}]`)
}
