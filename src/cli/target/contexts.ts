// The contexts file: names for the graphs that commands ask, with the credentials for them. Only its owner can read it.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { suggestion } from '../../../grammar/suggest.ts'
import { validate } from '../../config/validate.ts'
import { defaultSecretLookup, resolveSecret } from '../../project/secret-references.ts'
import { UsageError } from '../output/cli-error.ts'
import { printNotice } from '../output/print.ts'
import type { EnvironmentVariables } from '../settings/environment-variables.ts'
import { ownCommand } from '../settings/own-command.ts'

const context = z.strictObject({
  url: z.string().optional(),
  data: z.string().optional(),
  folder: z.string().optional(),
  graph: z.string().optional(),
  project: z.string().optional(),
  key: z.string().optional(),
  token: z.string().optional(),
})

/**
 * Where a graph is, and how to ask it. `url`: a service; `data`: a data folder; `folder`: a project folder; `graph`: a scenario
 * file with its graph. Paths are absolute. `key` and `token` are the secrets, or references to them such as `${env:NAME}`.
 */
export type AskContext = z.infer<typeof context>

const contextsFile = z.strictObject({
  current: z.string().nullable(),
  contexts: z.record(z.string(), context),
})

/** The contexts of the user. */
export type Contexts = z.infer<typeof contextsFile>

const FILE_MODE = 0o600
const FOLDER_MODE = 0o700
/** Bits of the mode that give access to other users. */
const OTHERS = 0o077
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

/** The path of the file: in the configuration folder of the XDG Base Directory Specification. */
export function contextsPath(environment: EnvironmentVariables = process.env): string {
  const folder = environment.XDG_CONFIG_HOME ?? ''
  return join(folder === '' ? join(homedir(), '.config') : folder, 'verdigraph', 'contexts.json')
}

/** Reads the contexts; an empty list if the file does not exist. Throws UsageError for a file that is not valid. */
export function readContexts(path = contextsPath()): Contexts {
  if (!existsSync(path)) return { current: null, contexts: {} }
  let content: unknown
  try {
    content = JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError([`${path}: ${error instanceof Error ? error.message : 'invalid JSON'}`])
  }
  const read = validate(contextsFile, content, 'contexts')
  if (!read.ok) throw new UsageError(read.error.map((issue) => `${path}: ${issue}`))
  const isShared = (statSync(path).mode & OTHERS) !== 0
  if (isShared && Object.values(read.value.contexts).some(holdsSecret)) {
    printNotice(`warning: other users can read ${path}, which has secrets; run chmod 600 ${path}`)
  }
  return read.value
}

/** Writes the contexts: the old file stays until the new one is complete. */
export function writeContexts(contexts: Contexts, path = contextsPath()): void {
  mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE })
  const next = `${path}.${process.pid}.tmp`
  writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: FILE_MODE })
  renameSync(next, path)
}

/** The context of that name. Throws UsageError if it does not exist. */
export function contextNamed(name: string, { contexts }: Contexts): AskContext {
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined
  if (found !== undefined) return found
  const names = Object.keys(contexts)
  const known = names.length === 0 ? `; \`${ownCommand(['context', 'set', name])}\` creates it` : ''
  throw new UsageError([`no context is named \`${name}\`${suggestion(name, names) || known}`])
}

/** Throws UsageError for a name that a shell would need quotes for. */
export function checkContextName(name: string): void {
  if (NAME.test(name)) return
  throw new UsageError([
    `the name of a context has letters, digits, dots, hyphens and underscores, at most 64, found \`${name}\``,
  ])
}

/** Whether a text is a reference to a secret, and not the secret. */
export function isSecretReference(text: string): boolean {
  return /^\$\{env:[A-Za-z_][A-Za-z0-9_]*\}$|^secret:\/\/[A-Za-z0-9][A-Za-z0-9._/-]*$/.test(text)
}

/** Whether the context has a secret itself, not by reference. */
function holdsSecret({ key, token }: AskContext): boolean {
  return [key, token].some((secret) => secret !== undefined && !isSecretReference(secret))
}

/** The secret that a member of a context stands for. Throws UsageError for a reference without a value. */
export function secretOf(name: string, member: 'key' | 'token', text: string): string {
  if (!isSecretReference(text)) return text
  const resolved = resolveSecret(text, defaultSecretLookup())
  if (resolved.ok && resolved.value !== '') return resolved.value
  throw new UsageError([`the context \`${name}\`: the ${member} is ${text}, which is not set`])
}
