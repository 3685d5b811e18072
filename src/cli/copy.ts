// The command `copy`: the graph of a project, from a data folder to a database server or back.
import { readFileSync } from 'node:fs'
import { hasBoltScheme, parseBoltUrl } from '../kernel/bolt-address.ts'
import type { Settings } from '../settings.ts'
import type { CopyResult } from '../transfer/servers/copy.ts'
import { CliError, UsageError } from './cli-error.ts'
import { type Flags, settingsFrom } from './flag-settings.ts'
import { printLine, printNotice } from './print.ts'
import { progressLine } from './progress.ts'
import { recorded } from './record-operation.ts'

/** The options of `copy`. */
export interface CopyFlags {
  readonly from: string
  readonly to: string
  readonly project?: string
  readonly passwordFile?: string
  readonly compare: boolean
  /** After an equal copy or comparison, the project is connected to the database. */
  readonly switch: boolean
  readonly json: boolean
}

/** Runs `copy`. Rejects with OperationalError if it fails, with CliError if the graphs differ. */
export async function copy(flags: Flags & CopyFlags): Promise<void> {
  const { from, to, project, compare: isComparison } = flags
  const isFromServer = from.includes('://')
  if (isFromServer === to.includes('://'))
    throw new UsageError(['--from and --to: expected one data folder and one URL such as `bolt://host:7687/database`'])
  const [url, dataDir, option] = isFromServer ? ([from, to, '--from'] as const) : ([to, from, '--to'] as const)
  const place = parseBoltUrl(url)
  if (!place.ok && hasBoltScheme(url) && url.includes('@'))
    throw new UsageError([
      `${option}: put the credentials into NEO4J_USERNAME and NEO4J_PASSWORD, or --password-file, and not into the URL`,
    ])
  if (!place.ok) throw new UsageError([`${option}: ${place.error}`])
  if (flags.switch && isFromServer)
    throw new UsageError(['--switch: only a project of a data folder can be connected to a database server'])
  const settings = settingsFrom({ ...flags, data: dataDir })
  const progress = progressLine(`opening ${dataDir}`)
  try {
    const run = async (): Promise<CopyResult> => {
      const { copyGraph } = await import('../transfer/servers/copy.ts')
      const result = await copyGraph({
        dataDir: settings.dataDir,
        url,
        direction: isFromServer ? 'to-folder' : 'to-server',
        ...(project === undefined ? {} : { project }),
        ...credentialsFrom(flags),
        isComparison,
        ...(flags.switch
          ? {
              async onEqual(projectId: string) {
                const { switchToServer } = await import('./switch-project.ts')
                await switchToServer(settings.dataDir, projectId, place.value, credentialsFrom(flags))
              },
            }
          : {}),
        progress: (done, total, what) => progress.show(done, total, what),
      })
      progress.end()
      report(result, flags)
      return result
    }
    const asked = { from, to, ...(project === undefined ? {} : { project }), ...(flags.switch ? { switch: true } : {}) }
    if (isComparison && !flags.switch) await run()
    else await recordedCopy(settings, asked, run)
  } finally {
    progress.end()
  }
}

async function recordedCopy(settings: Settings, asked: object, run: () => Promise<CopyResult>): Promise<void> {
  await recorded(settings, 'svc.audit.operations.copy', asked, run, ({ comparison: { nodes, relationships } }) => ({
    nodes,
    relationships,
  }))
}

function credentialsFrom({ passwordFile }: CopyFlags): { username: string | null; password: string | null } {
  const { NEO4J_USERNAME: username = 'neo4j', NEO4J_PASSWORD } = process.env
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

function report(result: CopyResult, { from, to, compare: isComparison, switch: isSwitch, json }: CopyFlags): void {
  const { comparison, written, copyS, compareS, isResumed, restartHint } = result
  const { nodes, relationships, hash, differences } = comparison
  const isEqual = differences.length === 0
  const rate = (elements: number, seconds: number): number => Math.round(elements / Math.max(seconds, 0.001))
  const copyRate = rate(written.nodes + written.relationships, copyS)
  const compareRate = rate(nodes + relationships, compareS)
  if (json) {
    const rates = { copied_per_second: copyRate, compared_per_second: compareRate }
    const seconds = { copy_s: round(copyS), compare_s: round(compareS) }
    printLine(
      JSON.stringify({
        nodes,
        relationships,
        written,
        resumed: isResumed,
        equal: isEqual,
        ...(isSwitch ? { switched: isEqual } : {}),
        hash,
        ...rates,
        ...seconds,
        differences,
      }),
    )
  } else {
    if (isResumed) printNotice('an interrupted copy was continued')
    if (!isComparison)
      printNotice(
        `copied ${written.nodes} nodes and ${written.relationships} relationships in ${round(copyS)} s: ${copyRate} per second`,
      )
    printNotice(
      `compared ${nodes} nodes and ${relationships} relationships in ${round(compareS)} s: ${compareRate} per second`,
    )
    if (isEqual) printLine(`equal: ${nodes} nodes and ${relationships} relationships, hash ${hash}`)
    if (isEqual && isSwitch) printLine('the project is connected to the database from its next start on')
  }
  if (isEqual) return
  throw new CliError([
    `${from} and ${to} differ:`,
    ...differences.map((difference) => `  ${difference}`),
    ...(restartHint === null ? [] : [`the copy stays unfinished. ${restartHint}`]),
  ])
}

function round(seconds: number): number {
  return Math.round(seconds * 10) / 10
}
