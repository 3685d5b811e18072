// The address of a view: `#/screen?name=value`. Links to views can be shared, and the buttons of the browser work.
import { Store } from './store.ts'

/** A screen and its parameters. */
interface ViewAddress {
  /** Empty for the first screen. */
  readonly screen: string
  readonly parameters: URLSearchParams
}

function read(): ViewAddress {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  return { screen: path, parameters: new URLSearchParams(query) }
}

/** The current view. */
export const address = new Store<ViewAddress>(read())

addEventListener('hashchange', () => address.set(read()))

/** The link to a view. Parameters without a value are left out. */
export function linkTo(screen: string, parameters: Readonly<Record<string, string | null | undefined>> = {}): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) if (value != null && value !== '') query.set(name, value)
  return `#/${screen}${query.size === 0 ? '' : `?${query}`}`
}

/** Changes the parameters of the current view without an entry in the history. */
export function replaceParameters(parameters: Readonly<Record<string, string>>): void {
  const link = linkTo(address.value.screen, parameters)
  history.replaceState(null, '', link)
  address.set(read())
}

/** The secret of a one-time link in the address, which is removed from the address and the history; null: none. */
export function takeLinkSecret(): string | null {
  const secret = /^#link=([\w.-]+)$/.exec(location.hash)?.[1] ?? null
  if (secret === null) return null
  history.replaceState(null, '', location.pathname)
  address.set(read())
  return secret
}
