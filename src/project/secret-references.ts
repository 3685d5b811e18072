// References to secrets in the files of a project: `${env:NAME}` and `secret://NAME`. A file never contains a secret itself.
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { err, ok, type Result } from '../kernel/result.ts'

/** The folder of the files that `secret://NAME` reads, if the variable `VERDIGRAPH_SECRETS` does not name another. */
const DEFAULT_FOLDER = '/run/secrets'

/** `${env:NAME}`, or `secret://` and a name of one or more segments. */
const REFERENCE =
  /\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}|secret:\/\/([A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*)/g

/** Returns the value of a reference such as `${env:TOKEN}` or `secret://sinks/audit`; undefined if it has none. */
export type SecretLookup = (reference: string) => string | undefined

/** The references in a text, in order. */
export function secretReferencesIn(text: string): readonly string[] {
  return Array.from(text.matchAll(REFERENCE), ([reference]) => reference)
}

/** Looks in the environment, and in the files of the folder `VERDIGRAPH_SECRETS`. */
export function defaultSecretLookup(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): SecretLookup {
  const folder = environment.VERDIGRAPH_SECRETS ?? DEFAULT_FOLDER
  return (reference) => {
    const [match] = reference.matchAll(REFERENCE)
    const [, variable, name] = match ?? []
    if (variable !== undefined) return environment[variable]
    if (name === undefined) return undefined
    const path = join(folder, ...name.split('/'))
    // Editors and `echo` end a file with a line feed, which belongs to no secret.
    const isRead = existsSync(path) && !statSync(path).isDirectory()
    return isRead ? readFileSync(path, 'utf8').replace(/\r?\n$/, '') : undefined
  }
}

/** Replaces the references in a text. Error: the first reference without a value. */
export function resolveSecret(text: string, lookup: SecretLookup): Result<string, string> {
  let missing: string | null = null
  const resolved = text.replace(REFERENCE, (reference) => {
    const value = lookup(reference)
    if (value === undefined) missing ??= reference
    return value ?? ''
  })
  return missing === null ? ok(resolved) : err(missing)
}
