// The commands `context set`, `use`, `list`, `show` and `delete`.
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { UsageError } from '../output/cli-error.ts'
import { colours } from '../output/colours.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { tableLines } from '../output/table.ts'
import { withErrorCode } from './asking.ts'
import {
  type AskContext,
  type Contexts,
  checkContextName,
  contextNamed,
  contextsPath,
  isSecretReference,
  readContexts,
  writeContexts,
} from './contexts.ts'

/** The options of `context set`. An empty value removes a member. */
export interface ContextFlags {
  readonly url?: string
  readonly data?: string
  readonly folder?: string
  readonly graph?: string
  readonly project?: string
  /** A reference to the key of an application agent. */
  readonly key?: string
  readonly keyStdin: boolean
  /** A reference to the token of a service account. */
  readonly token?: string
  readonly tokenStdin: boolean
  readonly use: boolean
}

/** Runs `context set`. The first context becomes the current one. */
export async function setContext(name: string, flags: ContextFlags): Promise<void> {
  await withErrorCode(async () => {
    checkContextName(name)
    const contexts = readContexts()
    const before: AskContext = contexts.contexts[name] ?? {}
    const next = checked(name, withoutEmpty({ ...before, ...membersFrom(flags) }))
    const current = flags.use || contexts.current === null ? name : contexts.current
    writeContexts({ current, contexts: { ...contexts.contexts, [name]: next } })
    printNotice(
      `the context ${name} is stored in ${contextsPath()}${current === name ? ', and is the current one' : ''}`,
    )
  })
}

function membersFrom(flags: ContextFlags): AskContext {
  const { url, data, folder, graph, project, keyStdin, tokenStdin } = flags
  if (keyStdin && tokenStdin) throw new UsageError(['expected either --key-stdin or --token-stdin'])
  const key = keyStdin ? secretFromInput('--key-stdin') : referenceIn('key', flags.key)
  const token = tokenStdin ? secretFromInput('--token-stdin') : referenceIn('token', flags.token)
  const path = (text: string): string => (text === '' ? '' : resolve(text))
  return {
    ...(url !== undefined && { url }),
    ...(data !== undefined && { data: path(data) }),
    ...(folder !== undefined && { folder: path(folder) }),
    ...(graph !== undefined && { graph: path(graph) }),
    ...(project !== undefined && { project }),
    ...(key !== undefined && { key }),
    ...(token !== undefined && { token }),
  }
}

/** Other users of the machine can see the arguments of a process. */
function referenceIn(member: 'key' | 'token', text: string | undefined): string | undefined {
  if (text === undefined || text === '' || isSecretReference(text)) return text
  throw new UsageError([
    `--${member}: expected a reference, such as \${env:NAME} or secret://NAME; --${member}-stdin reads the ${member} itself from the standard input`,
  ])
}

function secretFromInput(option: string): string {
  const secret = readFileSync(0, 'utf8').trim()
  if (secret !== '') return secret
  throw new UsageError([`${option}: the standard input is empty`])
}

function withoutEmpty(context: AskContext): AskContext {
  return Object.fromEntries(Object.entries(context).filter(([, value]) => value !== ''))
}

function checked(name: string, context: AskContext): AskContext {
  const { url, data, folder, graph } = context
  if (url !== undefined && (folder !== undefined || graph !== undefined)) {
    throw new UsageError([
      `the context \`${name}\` has a URL and a project folder or graph: remove one with an empty value`,
    ])
  }
  if (data !== undefined && graph !== undefined) {
    throw new UsageError([`the context \`${name}\` has a data folder and a graph: remove one with an empty value`])
  }
  if (url !== undefined && !/^https?:\/\//.test(url)) {
    throw new UsageError([`--url: expected a URL with http or https, found \`${url}\``])
  }
  if (url !== undefined && hasUserInfo(url)) {
    throw new UsageError([
      '--url: expected a URL without a user name and a password; --key-stdin and --token-stdin store a credential',
    ])
  }
  if ([url, data, folder, graph].every((place) => place === undefined)) {
    throw new UsageError([`the context \`${name}\` names no graph: pass --url, --data, --folder or --graph`])
  }
  return context
}

/** Lists print the URL of a context, so that it must not contain a secret. */
function hasUserInfo(url: string): boolean {
  const parsed = URL.parse(url)
  return parsed !== null && (parsed.username !== '' || parsed.password !== '')
}

/** Runs `context use`. */
export async function useContext(name: string): Promise<void> {
  await withErrorCode(async () => {
    const contexts = readContexts()
    contextNamed(name, contexts)
    writeContexts({ ...contexts, current: name })
    printNotice(`the current context is ${name}`)
  })
}

/** Runs `context delete`. */
export async function deleteContext(name: string): Promise<void> {
  await withErrorCode(async () => {
    const contexts = readContexts()
    contextNamed(name, contexts)
    const { [name]: _, ...others } = contexts.contexts
    writeContexts({ current: contexts.current === name ? null : contexts.current, contexts: others })
    printNotice(`the context ${name} is deleted`)
  })
}

/** Runs `context list`. Secrets are not shown. */
export async function listContexts({ json }: { readonly json: boolean }): Promise<void> {
  await withErrorCode(async () => {
    const { current, contexts } = readContexts()
    const all = Object.entries(contexts).sort(([a], [b]) => (a < b ? -1 : 1))
    if (json) {
      printJson({ current, contexts: Object.fromEntries(all.map(([name, one]) => [name, shown(one)])) })
    } else if (all.length === 0) printNotice('no contexts; `context set` creates one')
    else {
      const rows = all.map(([name, one]) => [name === current ? colours.green('*') : '', name, ...cellsOf(one)])
      for (const line of tableLines(['', 'NAME', 'GRAPH', 'PROJECT', 'KEY', 'TOKEN'], rows)) printLine(line)
    }
  })
}

/** Runs `context show`. `name`: undefined: the current one. Secrets are not shown. */
export async function showContext(name: string | undefined, { json }: { readonly json: boolean }): Promise<void> {
  await withErrorCode(async () => {
    const contexts: Contexts = readContexts()
    const chosen = name ?? contexts.current
    if (chosen === null) throw new UsageError(['no context is the current one; `context use` chooses one'])
    const context = shown(contextNamed(chosen, contexts))
    if (json) printJson({ name: chosen, ...context })
    else {
      printLine(colours.bold(chosen))
      for (const [member, value] of Object.entries(context)) printLine(`  ${member}: ${value}`)
    }
  })
}

function cellsOf(context: AskContext): readonly string[] {
  const { url, data, folder, graph, project = '' } = context
  const { key = '', token = '' } = shown(context)
  return [[url, data, folder, graph].filter((place) => place !== undefined).join(' + '), project, key, token]
}

/** A stored secret is not printed. */
function shown(context: AskContext): AskContext {
  const hidden = (secret: string): string => (isSecretReference(secret) ? secret : '(stored)')
  const { key, token } = context
  return {
    ...context,
    ...(key !== undefined && { key: hidden(key) }),
    ...(token !== undefined && { token: hidden(token) }),
  }
}
