// The command `copy`: the graphs of a project, from a data folder to database servers or back.
import { readFileSync } from 'node:fs'
import { serverUrls } from '../../config/db-connection.ts'
import { hasBoltScheme, parseBoltUrl } from '../../kernel/bolt-address.ts'
import { OperationalError } from '../../kernel/errors.ts'
import type { CopyResult, DatabaseCopy } from '../../transfer/servers/copy.ts'
import { CliError, UsageError } from '../output/cli-error.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'
import { type Flags, settingsFrom } from '../settings/flag-settings.ts'
import { type FiledConnection, readConnectionFile, type ServerCredentials } from './connection-file.ts'
import { recorded } from './record-operation.ts'

/** The options of `copy`. */
export interface CopyFlags {
  readonly from?: string
  readonly to?: string
  /** A file with the connection, instead of a URL. */
  readonly connection?: string
  readonly project?: string
  readonly passwordFile?: string
  /** As `Type=property`. */
  readonly key: readonly string[]
  readonly compare: boolean
  /** After an equal copy or comparison, the project is connected to the database. */
  readonly switch: boolean
  readonly json: boolean
}

/** The source and the target of a copy. */
interface CopyPlaces extends FiledConnection {
  readonly dataDir: string
  /** As the operator has named them. */
  readonly from: string
  readonly to: string
  readonly isFromServer: boolean
}

/** Runs `copy`. Rejects with OperationalError if it fails, with CliError if the graphs differ. */
export async function copy(flags: Flags & CopyFlags): Promise<void> {
  const { project, compare: isComparison } = flags
  const places = flags.connection === undefined ? urlPlaces(flags) : connectionPlaces(flags, flags.connection)
  const { dataDir, isFromServer, fields, from, to } = places
  if (flags.switch && isFromServer)
    throw new UsageError(['--switch: only a project of a data folder can be connected to a database server'])
  const keys = keysFrom(flags)
  if (keys.size > 0 && !isFromServer)
    throw new UsageError(['--key: nodes of a data folder have external ids: expected a copy from a database server'])
  const credentials = credentialsFrom(flags, places)
  const settings = settingsFrom({ ...flags, data: dataDir })
  const progress = progressLine(`opening ${dataDir}`)
  const run = async (): Promise<CopyResult> => {
    const { copyGraph } = await import('../../transfer/servers/copy.ts')
    let copied: string | null = null
    const result = await copyGraph({
      dataDir: settings.dataDir,
      connection: fields,
      direction: isFromServer ? 'to-folder' : 'to-server',
      ...(project === undefined ? {} : { project }),
      ...credentials,
      keys,
      isComparison,
      async onEqual(projectId) {
        copied = projectId
        if (!flags.switch) return
        const { switchToServer } = await import('./switch-project.ts')
        await switchToServer(settings.dataDir, projectId, fields, credentials).catch((failure: unknown) => {
          const { message } = failure as Error
          throw new OperationalError(
            `the graphs are equal, but the project is not connected: ${message}. Connect it with \`--compare --switch\``,
          )
        })
      },
      progress: (done, total, what) => progress.show(done, total, what),
    })
    progress.end()
    report(result, places, flags)
    if (isFromServer && !isComparison && copied !== null) {
      const { modelDataWarnings } = await import('./imported-names.ts')
      for (const warning of await modelDataWarnings(settings, copied)) printNotice(`warning: ${warning}`)
    }
    return result
  }
  const servers =
    flags.connection === undefined ? {} : { servers: [...new Set(serverUrls(fields).map(({ url }) => url))] }
  const asked = {
    from,
    to,
    ...servers,
    ...(project === undefined ? {} : { project }),
    ...(keys.size > 0 ? { keys: flags.key } : {}),
    ...(flags.switch ? { switch: true } : {}),
  }
  try {
    if (isComparison && !flags.switch) await run()
    else await recorded(settings, 'svc.audit.operations.copy', asked, run, ({ counts }) => counts)
  } finally {
    progress.end()
  }
}

/** One of the places is a URL. */
function urlPlaces({ from, to }: CopyFlags): CopyPlaces {
  if (from === undefined || to === undefined || from.includes('://') === to.includes('://'))
    throw new UsageError([
      '--from and --to: expected one data folder and one URL such as `bolt://host:7687/database`; or one data folder, and --connection',
    ])
  const isFromServer = from.includes('://')
  const [url, dataDir, option] = isFromServer ? ([from, to, '--from'] as const) : ([to, from, '--to'] as const)
  const place = parseBoltUrl(url)
  if (!place.ok && hasBoltScheme(url) && url.includes('@'))
    throw new UsageError([
      `${option}: put the credentials into NEO4J_USERNAME and NEO4J_PASSWORD, or --password-file, and not into the URL`,
    ])
  if (!place.ok) throw new UsageError([`${option}: ${place.error}`])
  const { database } = place.value
  const db_connection = { url: place.value.url, ...(database === null ? {} : { name: database }) }
  return { dataDir, from, to, isFromServer, fields: { db_connection }, credentials: null }
}

/** The databases are those of a file. */
function connectionPlaces({ from, to }: CopyFlags, file: string): CopyPlaces {
  const dataDir = from ?? to
  if (dataDir === undefined || (from !== undefined && to !== undefined) || dataDir.includes('://'))
    throw new UsageError(['--connection: expected one data folder, with --from or --to, and no URL'])
  return { dataDir, from: from ?? file, to: to ?? file, isFromServer: from === undefined, ...readConnectionFile(file) }
}

/** The properties of `--key` by label. */
function keysFrom({ key }: CopyFlags): ReadonlyMap<string, string> {
  const keys = new Map<string, string>()
  for (const text of key) {
    const [, label, property] = /^([^=]+)=(.+)$/su.exec(text) ?? []
    if (label === undefined || property === undefined)
      throw new UsageError([`--key: expected \`Type=property\`, such as \`Person=email\`, found \`${text}\``])
    if (keys.has(label)) throw new UsageError([`--key: \`${label}\` is given twice`])
    keys.set(label, property)
  }
  return keys
}

function credentialsFrom({ passwordFile }: CopyFlags, { credentials }: CopyPlaces): ServerCredentials {
  const { NEO4J_USERNAME: username = 'neo4j', NEO4J_PASSWORD } = process.env
  if (credentials !== null) {
    if (passwordFile === undefined) return credentials
    throw new UsageError(['--password-file: the file of --connection has a password'])
  }
  if (passwordFile === undefined) {
    // A server without authentication accepts any credentials.
    return NEO4J_PASSWORD === undefined ? { username: null, password: null } : { username, password: NEO4J_PASSWORD }
  }
  try {
    return { username, password: readFileSync(passwordFile, 'utf8').replace(/\r?\n$/, '') }
  } catch (error) {
    throw new UsageError([`--password-file: ${error instanceof Error ? error.message : String(error)}`])
  }
}

function report(result: CopyResult, places: CopyPlaces, flags: CopyFlags): void {
  const { databases, isEqual, hash } = result
  const { nodes, relationships } = result.counts
  const isOne = databases.length === 1
  if (flags.json) {
    const switched = flags.switch ? { switched: isEqual } : {}
    const [only] = databases
    const printed = isOne
      ? jsonOf(only!, switched)
      : {
          nodes,
          relationships,
          equal: isEqual,
          ...switched,
          hash,
          databases: databases.map((one) => ({ name: one.name, place: one.place, ...jsonOf(one, {}) })),
        }
    printJson(printed)
  } else {
    if (databases.some(({ isResumed }) => isResumed)) printNotice('an interrupted copy was continued')
    for (const one of databases) {
      notice(one, isOne ? '' : `${one.name}: `, flags)
      if (!isOne && isEqualCopy(one)) printLine(`${one.name}: ${equalText(one.comparison)}`)
    }
    if (isEqual)
      printLine(`${equalText({ nodes, relationships, hash })}${isOne ? '' : ` in ${databases.length} databases`}`)
    if (isEqual && flags.switch)
      printLine(`the project is connected to the database${isOne ? '' : 's'} from its next start on`)
  }
  if (isEqual) return
  const different = databases.filter((one) => !isEqualCopy(one))
  const hints = different.flatMap(({ restartHint }) => restartHint ?? [])
  throw new CliError([
    `${places.from} and ${places.to} differ:`,
    ...different.flatMap(({ name, comparison }) =>
      comparison.differences.map((difference) => `  ${isOne ? '' : `${name}: `}${difference}`),
    ),
    ...(hints.length === 0 ? [] : [`the copy stays unfinished. ${[...new Set(hints)].join('; ')}`]),
  ])
}

function isEqualCopy({ comparison }: DatabaseCopy): boolean {
  return comparison.differences.length === 0
}

function equalText({
  nodes,
  relationships,
  hash,
}: Pick<DatabaseCopy['comparison'], 'nodes' | 'relationships' | 'hash'>) {
  return `equal: ${nodes} nodes and ${relationships} relationships, hash ${hash}`
}

function ratesOf({ comparison: { nodes, relationships }, written, copyS, compareS }: DatabaseCopy) {
  const rate = (elements: number, seconds: number): number => Math.round(elements / Math.max(seconds, 0.001))
  return {
    copied_per_second: rate(written.nodes + written.relationships, copyS),
    compared_per_second: rate(nodes + relationships, compareS),
  }
}

function jsonOf(copied: DatabaseCopy, switched: object): object {
  const { comparison, written, copyS, compareS, isResumed } = copied
  const { nodes, relationships, hash, differences } = comparison
  return {
    nodes,
    relationships,
    written,
    resumed: isResumed,
    equal: isEqualCopy(copied),
    ...switched,
    hash,
    ...ratesOf(copied),
    copy_s: round(copyS),
    compare_s: round(compareS),
    differences,
  }
}

function notice(copied: DatabaseCopy, prefix: string, { compare: isComparison }: CopyFlags): void {
  const { comparison, written, copyS, compareS } = copied
  const rates = ratesOf(copied)
  if (!isComparison)
    printNotice(
      `${prefix}copied ${written.nodes} nodes and ${written.relationships} relationships in ${round(copyS)} s: ${rates.copied_per_second} per second`,
    )
  printNotice(
    `${prefix}compared ${comparison.nodes} nodes and ${comparison.relationships} relationships in ${round(compareS)} s: ${rates.compared_per_second} per second`,
  )
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10
}
