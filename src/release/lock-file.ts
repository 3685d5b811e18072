// The packages in package-lock.json.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { top } from './compile.ts'

/** A package in package-lock.json. */
export interface LockEntry {
  readonly version: string
  /** `sha512-` and the hash of the package file in base64. */
  readonly integrity: string
  /** An SPDX expression. */
  readonly license?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** All packages by their folder, such as `node_modules/zod`. */
export const lockEntries: Readonly<Record<string, LockEntry>> = (
  JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as { packages: Record<string, LockEntry> }
).packages
