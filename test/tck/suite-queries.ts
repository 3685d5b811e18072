// The queries of the shared openCypher suite, if its folder is next to the checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs'

const folder = new URL('../../../shared/tck/open/', import.meta.url)

export const suitePresent = existsSync(folder)

export interface SuiteCase {
  readonly id: string
  readonly query: string
  readonly expect: { readonly kind: 'rows' | 'empty' | 'error'; readonly detail?: string }
}

export function readSuite(): SuiteCase[] {
  if (!suitePresent) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .flatMap((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as SuiteCase[])
}
