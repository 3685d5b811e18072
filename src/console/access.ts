// Whether the console is served.
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
