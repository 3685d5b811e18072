// Light or dark: as the system, or as the user chose.
import { Store } from './store.ts'

/** A choice of the user. */
export type Theme = 'system' | 'light' | 'dark'

const STORED = 'verdigraph-theme'

function stored(): Theme {
  const value = localStorage.getItem(STORED)
  return value === 'light' || value === 'dark' ? value : 'system'
}

/** The choice of the user. */
export const theme = new Store<Theme>(stored())

function apply(): void {
  document.documentElement.dataset.theme = theme.value
}

apply()
theme.subscribe(apply)
// Another tab has changed it.
addEventListener('storage', ({ key }) => {
  if (key === STORED) theme.set(stored())
})

/** Changes the theme in all tabs. */
export function chooseTheme(value: Theme): void {
  localStorage.setItem(STORED, value)
  theme.set(value)
}
