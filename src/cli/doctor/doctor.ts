// The command `doctor`: checks whether a service can work on a data folder, also while it is served. It only reads.

import {
  accessSync,
  constants,
  type Dirent,
  existsSync,
  readdirSync,
  readFileSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { issueAdminToken } from '../../app/configuration.ts'
import { readBackupRecord } from '../../backup/backup-record.ts'
import { scheduledJobs } from '../../backup/backup-schedule.ts'
import type { DocumentFields, StoredDocument } from '../../config/kind.ts'
import { ConfigRepository } from '../../config/repository.ts'
import { configurationOf, eventSinksKind } from '../../events/event-sink.ts'
import { agentCredentialsKind } from '../../identity/agent-key.ts'
import { findAdmin } from '../../identity/bootstrap.ts'
import { masterKeyVariable } from '../../identity/master-key.ts'
import { serviceAccountCredentialsKind } from '../../identity/service-account.ts'
import { OperationalError } from '../../kernel/errors.ts'
import {
  AUDIT_ALIVE_FILE,
  CHECKED_LOCK_FILE,
  CONFIGURATION_FOLDER,
  DATA_FILE,
  MASTER_KEY_FILE,
  NEXT_MASTER_KEY_FILE,
  SERVER_LOCK_FILE,
} from '../../kernel/folder/data-folder.ts'
import { entityMatchingPipelinesKind } from '../../matching/entity-matching-pipeline.ts'
import { readCertificate } from '../../ops/certificate.ts'
import { memoryLimit } from '../../processes/own-memory.ts'
import type { Settings } from '../../settings.ts'
import { type Collections, openCollections } from '../../store/documents/collections.ts'
import { copyStateOf } from '../../store/documents/document-copy.ts'
import { COMMAND_LOCK_TIMEOUT_MS } from '../../store/lmdb/open-lock.ts'
import { isFolderLocked, lockFileNames } from '../../store/process/folder-lock.ts'
import { folderPermissionWarning } from '../../store/process/folder-permissions.ts'
import { interruptedImportMessage } from '../../transfer/files/import-markers.ts'
import { lastDueMs, periodMsOf } from '../../trust/schedule.ts'
import { type TrustScoreSchedule, trustScoreProfilesKind } from '../../trust/trust-score-profile.ts'
import { parseAllowList } from '../../upstream/allow-list.ts'
import { createDestinations } from '../../upstream/destinations.ts'
import { readQuestionFile } from '../ask/question-file.ts'
import { readLayouts } from '../folder/folder-layouts.ts'
import { lostLogFindings } from '../folder/lost-audit-logs.ts'
import { colours } from '../output/colours.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { printJson, printLines } from '../output/print.ts'
import { columnLines } from '../output/table.ts'
import {
  checkCertificate,
  checkClock,
  checkDisk,
  checkExpiry,
  checkLimits,
  checkSettings,
  type ExpiringKey,
  type Finding,
  failed,
  type ProcessLimits,
  passed,
  warned,
} from './doctor-checks.ts'
import { checkOwners, checkPlaces } from './doctor-places.ts'
import { checkPort } from './doctor-port.ts'
import { checkProcesses } from './doctor-processes.ts'
import { checkShipping } from './doctor-shipping.ts'

/** A scheduled run takes some time, and another job may work. */
const OVERDUE_WARNING_S = 3600

/** Runs `doctor`, and sets exit code 1 if a check failed. */
export async function doctor(settings: Settings, json: boolean): Promise<void> {
  const findings = await examine(settings, Date.now())
  const isSound = findings.every(({ status }) => status !== 'failed')
  if (json) printJson({ sound: isSound, findings })
  else {
    const rows = findings.flatMap(({ check, status, found, mend }) => [
      [`${signs[status]()} ${check}`, found],
      ...(mend === null ? [] : [['', `→ ${mend}`]]),
    ])
    printLines(columnLines(rows))
  }
  if (!isSound) process.exitCode = exitCodes.failure.code
}

const signs: Readonly<Record<Finding['status'], () => string>> = {
  ok: () => colours.green('✓'),
  warning: () => colours.yellow('!'),
  failed: () => colours.red('✗'),
}

async function examine(settings: Settings, nowMs: number): Promise<readonly Finding[]> {
  const { dataDir } = settings
  const stat = readStat(dataDir)
  const isServed = stat !== 'closed' && stat?.isDirectory() === true && readServed(dataDir)
  const machine = [
    ...checkPort(settings, isServed),
    ...(await checkPlaces(settings)),
    ...checkLimits(readLimits(), settings),
    ...checkFiles(settings, nowMs),
    ...checkSettings(settings),
  ]
  if (stat === 'closed') {
    const mend = 'run doctor as the user of the service, or let this user enter the folders above'
    return [failed('folder', `${dataDir} cannot be reached by this user`, mend), ...machine]
  }
  if (stat !== undefined && !stat.isDirectory()) {
    return [failed('folder', `${dataDir} is a file`, 'name a folder with `--data`'), ...machine]
  }
  if (stat === undefined) {
    const parent = existingParent(dataDir)
    const missing = canWrite(parent)
      ? warned('folder', `${dataDir} does not exist`, 'the first start creates it; check `--data` if you expect one')
      : failed('folder', `${dataDir} does not exist, and ${parent} is not writable`, 'create it, or choose another one')
    return [missing, ...diskOf(parent, 0), checkClock(nowMs, null), ...machine]
  }
  const files = walk(dataDir)
  if (files === null) {
    const mend = 'run doctor as the user of the service, or give the folder to it: `chown -R USER`'
    return [failed('folder', `${dataDir}, or a folder in it, cannot be read by this user`, mend), ...machine]
  }
  const used = files.some(({ name }) => !lockFileNames.has(name))
  const folder = used
    ? passed('folder', `${dataDir}, ${isServed ? 'served by a process' : 'not served'}`)
    : warned('folder', `${dataDir} is empty`, 'the first start fills it; check `--data` if you expect data')
  const found = [
    folder,
    ...rightsOf(dataDir, files),
    ...diskOf(
      dataDir,
      files.reduce((sum, { bytes }) => sum + bytes, 0),
    ),
    checkClock(
      nowMs,
      files.reduce<number | null>((newest, { changedMs }) => Math.max(newest ?? 0, changedMs), null),
    ),
  ]
  found.push(...backupsOf(settings, isServed, nowMs), ...(isServed ? await checkShipping(settings, nowMs) : []))
  if (isServed) found.push(...checkProcesses(dataDir, nowMs))
  const imported = interruptedImportMessage(dataDir)
  if (imported !== null) found.push(failed('import', imported, 'finish the import, or restore a backup'))
  const layouts = await layoutsOf(dataDir)
  found.push(...layouts)
  const isReadable = existsSync(join(dataDir, CONFIGURATION_FOLDER, DATA_FILE)) && layouts.every(isSoundLayout)
  if (isReadable) {
    found.push(...(await configurationOfFolder(settings, isServed, nowMs)))
    found.push(...(await lostLogsOf(dataDir)))
  }
  return [...found, ...machine]
}

/** Undefined: the folder does not exist. `closed`: this user may not see whether it does. */
function readStat(folder: string): Stats | undefined | 'closed' {
  try {
    return statSync(folder, { throwIfNoEntry: false })
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'EACCES') return 'closed'
    throw failure
  }
}

const isSoundLayout = ({ status }: Finding): boolean => status !== 'failed'

interface FolderFile {
  readonly path: string
  readonly name: string
  readonly bytes: number
  readonly changedMs: number
  readonly isOwn: boolean
}

/** The files below a folder, without those that disappear during the walk; null: this user may not read a folder. */
function walk(folder: string): FolderFile[] | null {
  const user = process.getuid?.()
  let entries: Dirent[]
  try {
    entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'EACCES') return null
    throw failure
  }
  return entries.flatMap((entry) => {
    if (!entry.isFile()) return []
    const path = join(entry.parentPath, entry.name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat === undefined) return []
    const isOwn = user === undefined || user === 0 || stat.uid === user
    return [{ path, name: entry.name, bytes: stat.blocks * 512, changedMs: stat.mtimeMs, isOwn }]
  })
}

function readServed(dataDir: string): boolean {
  try {
    // Reading the lock would create its file.
    return existsSync(join(dataDir, SERVER_LOCK_FILE)) && isFolderLocked(dataDir)
  } catch {
    return false
  }
}

function rightsOf(dataDir: string, files: readonly FolderFile[]): Finding[] {
  const check = 'rights'
  const findings: Finding[] = []
  const keyFile = join(dataDir, MASTER_KEY_FILE)
  if (((statSync(keyFile, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0)
    findings.push(
      warned(check, `other users may access ${keyFile}, if they may enter the folder`, `\`chmod 600 '${keyFile}'\``),
    )
  const warning = folderPermissionWarning(dataDir)
  if (warning !== null) findings.push(warned(check, ...(warning.split(': run ') as [string, string])))
  if (!canWrite(dataDir)) {
    const mend = 'give the folder to the user of the service: `chown -R USER`, or mount the file system writable'
    findings.push(failed(check, `${dataDir} is not writable for this user`, mend))
  }
  const closed = files.filter(({ path }) => !canWrite(path))
  const foreign = files.filter(({ isOwn }) => !isOwn)
  const [first] = closed.length > 0 ? closed : foreign
  if (first !== undefined && canWrite(dataDir)) {
    const count = Math.max(closed.length, foreign.length)
    const found = `${count} files belong to another user or are not writable, for example ${first.path}`
    findings.push(
      (closed.length > 0 ? failed : warned)(check, found, `\`chown -R USER ${dataDir}\` for the user of the service`),
    )
  }
  const locks = files.flatMap(({ path, name }) => (name === CHECKED_LOCK_FILE && !isOpenForAll(path) ? [path] : []))
  if (locks.length > 0) {
    const found = `${locks.length} locks cannot be opened by all users of their databases, so pages are checked again at each opening, for example ${locks[0]}`
    findings.push(warned(check, found, 'remove them: the next opening makes new ones'))
  }
  return findings.length === 0 ? [passed(check, 'only this user may access the folder')] : findings
}

/** Whether each user who may write the database next to a lock may open the lock. */
function isOpenForAll(lock: string): boolean {
  const [own, data] = [lock, join(dirname(lock), DATA_FILE)].map((path) => statSync(path, { throwIfNoEntry: false }))
  if (own === undefined || data === undefined) return true
  const rights = data.mode & 0o666
  return own.uid === data.uid && (own.gid === data.gid || (rights & 0o060) === 0) && (own.mode & rights) === rights
}

function diskOf(folder: string, storeBytes: number): Finding[] {
  const { bavail, bsize, files, ffree } = statfsSync(folder)
  return [checkDisk(bavail * bsize, storeBytes, files === 0 ? null : ffree)]
}

/** Files that the settings name outside of the data folder. */
function checkFiles(settings: Settings, nowMs: number): Finding[] {
  const { tlsCertificate, tlsKey, decisionLog, upstreamAllow, drillQuestions } = settings
  const findings: Finding[] = checkSecretFiles(settings)
  if (tlsCertificate !== '') {
    try {
      const { cert } = readCertificate({ certificate: tlsCertificate, key: tlsKey })
      findings.push(checkCertificate(cert, tlsCertificate, nowMs))
    } catch (failure) {
      findings.push(failed('certificate', messageOf(failure), 'correct `tls_certificate` and `tls_key`'))
    }
  }
  if (decisionLog !== 'off') {
    const target = existsSync(decisionLog) ? decisionLog : dirname(decisionLog)
    const isWritable = existsSync(target) && canWrite(target)
    findings.push(
      isWritable
        ? passed('decision log', decisionLog)
        : failed('decision log', `${decisionLog} cannot be written`, 'create its folder, or correct `decision_log`'),
    )
  }
  if (drillQuestions !== '') {
    const read = readQuestionFile(drillQuestions)
    findings.push(
      read.ok
        ? passed('files', `${drillQuestions} can be read`)
        : failed('files', `drill_questions: ${read.error.join('; ')}`, 'correct the file, or `drill_questions`'),
    )
  }
  const allowed = parseAllowList(upstreamAllow)
  if (!allowed.ok) findings.push(failed('settings', `upstream_allow: ${allowed.error}`, 'correct the setting'))
  return findings
}

/** Files with a token or a private key. A mounted secret has a token that others in the container may read; it opens `/metrics` only. */
function checkSecretFiles({ metricsTokenFile, backupIdentity }: Settings): Finding[] {
  const check = 'files'
  const files = [
    { setting: 'metrics_token_file', path: metricsTokenFile, isPrivateKey: false },
    { setting: 'backup_identity', path: backupIdentity, isPrivateKey: true },
  ]
  return files.flatMap(({ setting, path, isPrivateKey }) => {
    if (path === '') return []
    const mend = `write the file, or correct \`${setting}\``
    try {
      accessSync(path, constants.R_OK)
      const { size, mode } = statSync(path)
      if (size === 0) return [failed(check, `${path} is empty`, mend)]
      if (!isPrivateKey || (mode & 0o004) === 0) return []
      return [warned(check, `all users may read the private key ${path}`, `\`chmod o= '${path}'\``)]
    } catch {
      return [failed(check, `${path} cannot be read`, mend)]
    }
  })
}

async function layoutsOf(dataDir: string): Promise<Finding[]> {
  const check = 'layout'
  const layouts = await readLayouts(dataDir)
  const mends = {
    older: 'stop the service, make a backup and run `verdigraph migrate`',
    newer: 'use the program that wrote the folder, or a later one; or restore a backup of the earlier version',
    unknown: 'check that this is a data folder of the service',
    interrupted: 'stop the service and run `verdigraph migrate`',
    unreadable: 'run `verdigraph verify`; if it finds damage, restore a backup',
  }
  const findings = layouts.flatMap(({ state, folder, message }) =>
    state === 'current' ? [] : [failed(check, `${folder}: ${message}`, mends[state])],
  )
  if (findings.length > 0 || layouts.length === 0) return findings
  return [passed(check, `${layouts.length} databases of the present version`)]
}

async function configurationOfFolder(settings: Settings, isServed: boolean, nowMs: number): Promise<Finding[]> {
  const { dataDir } = settings
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), {
    readOnly: true,
    lockTimeoutMs: COMMAND_LOCK_TIMEOUT_MS,
  })
  try {
    const documents = new ConfigRepository(collections)
    return [
      ...sharingOf(settings, collections),
      await masterKeyOf(settings),
      ...(await checkOwners(settings, findAdmin(documents).organizationId)),
      ...checkExpiry('agent keys', keysOf(documents.all(agentCredentialsKind)), nowMs),
      ...checkExpiry('account keys', keysOf(documents.all(serviceAccountCredentialsKind)), nowMs),
      ...sinksOf(settings, documents.all(eventSinksKind)),
      ...schedulesOf(documents.all(trustScoreProfilesKind), isServed, nowMs),
      ...pipelinesOf(documents.all(entityMatchingPipelinesKind)),
      ...(isServed ? sealingOf(settings, nowMs) : []),
    ]
  } finally {
    await collections.close()
  }
}

/** Whether the folder has the configuration that the settings expect: its own, or a copy of a shared one. */
function sharingOf({ configStore }: Settings, collections: Collections): Finding[] {
  const check = 'configuration'
  const copy = collections.read(copyStateOf)
  const mend = 'set `config_store`, or start with an empty data folder'
  if (configStore === '') {
    if (copy === null) return []
    return [failed(check, 'a copy of a configuration that several instances share, without `config_store`', mend)]
  }
  if (copy !== null) return [passed(check, `a copy of the one in ${configStore}, at change ${copy.version}`)]
  const own = `of this folder; the next start moves it to ${configStore}`
  return [warned(check, own, 'start with an empty data folder if that server has a configuration')]
}

/** A token of the administrator needs a secret, which only the right key opens. */
async function masterKeyOf(settings: Settings): Promise<Finding> {
  const check = 'master key'
  try {
    await issueAdminToken(settings, 120)
  } catch (failure) {
    const mend = `restore ${MASTER_KEY_FILE} from its backup, or set ${masterKeyVariable}; without it the secrets are lost`
    return failed(check, messageOf(failure), mend)
  }
  if (existsSync(join(settings.dataDir, NEXT_MASTER_KEY_FILE))) {
    const mend = 'stop the service and run `verdigraph rotate-master-key` to finish it'
    return warned(check, 'a rotation of the master key was interrupted', mend)
  }
  return passed(check, 'opens the secrets of the folder')
}

function keysOf(documents: readonly StoredDocument[]): ExpiringKey[] {
  return documents.flatMap(({ id, name, fields }) => {
    const { expire_time, display_name } = fields
    const title = typeof display_name === 'string' ? display_name : name
    return typeof expire_time === 'string' ? [{ id, name: title, expireTime: expire_time }] : []
  })
}

/** The brokers and topics of sinks must be addresses that the settings allow. */
function sinksOf({ upstreamAllow }: Settings, sinks: readonly StoredDocument[]): Finding[] {
  const allowed = parseAllowList(upstreamAllow)
  if (sinks.length === 0 || !allowed.ok) return []
  const { hostError } = createDestinations(allowed.value)
  const findings = sinks.flatMap(({ id, fields }) =>
    Object.entries(fields.providers as Readonly<Record<string, DocumentFields>>).flatMap(([name, provider]) =>
      addressesOf(provider).flatMap(({ host, isSecure }) => {
        const error = hostError(host, isSecure)
        if (error === null) return []
        const mend = 'add the host to `upstream_allow`, or correct the provider'
        return [failed('sinks', `the provider ${name} of ${id} cannot be called: ${error}`, mend)]
      }),
    ),
  )
  return findings.length > 0 ? findings : [passed('sinks', `${sinks.length} event sinks`)]
}

/** The addresses that a provider names in its configuration; those in its secrets are not read. */
function addressesOf(provider: DocumentFields): { readonly host: string; readonly isSecure: boolean }[] {
  const { config } = configurationOf(provider)
  const brokers = (Array.isArray(config.brokers) ? config.brokers : []) as readonly string[]
  const topic = typeof config.topic_endpoint === 'string' ? URL.parse(config.topic_endpoint) : null
  return [
    ...brokers.map((broker) => ({
      host: broker
        .replace(/:\d+$/, '')
        .replace(/^\[|\]$/g, '')
        .toLowerCase(),
      isSecure: config.disable_tls !== true,
    })),
    ...(topic === null
      ? []
      : [{ host: topic.hostname.replace(/^\[|\]$/g, ''), isSecure: topic.protocol === 'https:' }]),
  ]
}

/** Scheduled backups and drills: the last failure, and runs that are due. */
function backupsOf(settings: Settings, isServed: boolean, nowMs: number): Finding[] {
  const check = 'backups'
  try {
    const jobs = scheduledJobs(settings, nowMs)
    const findings = jobs.flatMap(({ job, overdueS, state }) => {
      const error = state?.last_run?.error ?? null
      if (error !== null)
        return [failed(check, `the last scheduled ${job} failed: ${error}`, 'mend it; the service repeats the run')]
      if (!isServed || overdueS < OVERDUE_WARNING_S) return []
      const mend = 'see the log of the service, which runs the schedules'
      return [warned(check, `a scheduled ${job} is due for ${overdueS} s and was not made`, mend)]
    })
    if (findings.length > 0 || jobs.length === 0) return findings
    const { newest, proven, kept } = readBackupRecord(settings.dataDir)
    const made = newest === null ? 'none was made yet' : `${kept} kept, the newest of ${newest.made_at}`
    const drilled = proven === null ? '' : `; a drill has proven that of ${proven.made_at}`
    return [passed(check, `${made}${drilled}`)]
  } catch (failure) {
    return [failed(check, messageOf(failure), 'correct the setting')]
  }
}

/** A served folder runs its schedules: a pass that is more than a period late, or whose last attempt failed, is reported. */
function schedulesOf(profiles: readonly StoredDocument[], isServed: boolean, nowMs: number): Finding[] {
  if (profiles.length === 0) return []
  const check = 'schedules'
  const findings = profiles.flatMap(({ id, name, create_time, fields }) => {
    const schedule = fields.schedule as TrustScoreSchedule
    const lastError = fields.last_error
    if (typeof lastError === 'string' && lastError !== '')
      return [warned(check, `the last pass of ${name} (${id}) failed: ${lastError}`, 'see the log of the service')]
    const last = Date.parse((fields.last_run_start_time as string | undefined) ?? create_time)
    const isLate = last < lastDueMs(schedule, id, nowMs) && nowMs - last > 2 * periodMsOf(schedule)
    if (!isServed || !isLate) return []
    const mend = 'see the log of the service: its background process runs the schedules'
    return [
      warned(check, `the pass of ${name} (${id}) is late, the last one began ${new Date(last).toISOString()}`, mend),
    ]
  })
  return findings.length > 0 ? findings : [passed(check, `${profiles.length} trust score profiles`)]
}

/** The last run of each pipeline, and its last suggestion of property mappings. */
function pipelinesOf(pipelines: readonly StoredDocument[]): Finding[] {
  if (pipelines.length === 0) return []
  const check = 'matching'
  const findings = pipelines.flatMap(({ id, name, fields }) => {
    const pipeline = `${name} (${id})`
    const parts = [
      [fields.entity_matching_status, fields.entity_matching_message, 'run'],
      [fields.property_mapping_status, fields.property_mapping_message, 'suggestion of property mappings'],
    ]
    return parts.flatMap(([status, message, part]) => {
      if (status !== 'ERROR') return []
      const mend = `correct the cause; the service repeats it, or ask for another one: \`verdigraph match run ${id}\` or the routes of the pipeline`
      return [warned(check, `the last ${part} of ${pipeline} failed: ${message}`, mend)]
    })
  })
  return findings.length > 0 ? findings : [passed(check, `${pipelines.length} entity matching pipelines`)]
}

/** Longer without sealing is a fault of the background process. */
const SEAL_AGE_MAX_S = 900

function sealingOf({ dataDir, audit }: Settings, nowMs: number): Finding[] {
  const path = join(dataDir, AUDIT_ALIVE_FILE)
  if (audit === 'off' || !existsSync(path)) return []
  const bytes = readFileSync(path)
  if (bytes.length < 4) return []
  const sealedS = bytes.readUInt32LE(0)
  // It was never sealed.
  if (sealedS === 0) return []
  const ageS = Math.round(nowMs / 1000) - sealedS
  const found = `audit records were sealed ${Math.max(0, ageS)} s ago`
  const mend = 'see the log of the background process; the runbook Audit records are not sealed has more'
  return [ageS > SEAL_AGE_MAX_S ? failed('audit log', found, mend) : passed('audit log', found)]
}

/** Whether the audit logs have everything that the configuration knows. */
async function lostLogsOf(dataDir: string): Promise<Finding[]> {
  const mend =
    'find out who removed it, and restore the folder `audit` of the newest backup next to this one for an investigation; the log itself names the gap; then record the result with `verdigraph audit acknowledge-loss`'
  try {
    const { findings, acknowledged } = await lostLogFindings(dataDir)
    return [
      ...findings.map((finding) => failed('audit log', finding, mend)),
      ...acknowledged.map((finding) => passed('audit log', finding)),
    ]
  } catch (failure) {
    if (!(failure instanceof OperationalError)) throw failure
    return [failed('audit log', failure.message, 'run `verdigraph verify`, which names what is damaged')]
  }
}

function readLimits(): ProcessLimits {
  const text = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  const soft = (name: string): number | null => {
    const value = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(text)?.[1]
    return value === undefined || value === 'unlimited' ? null : Number(value)
  }
  return {
    openFiles: soft('Max open files'),
    fileBytes: soft('Max file size'),
    addressSpaceBytes: soft('Max address space'),
    processes: soft('Max processes'),
    memoryBytes: memoryLimit(),
  }
}

function existingParent(path: string): string {
  const parent = dirname(path)
  return existsSync(parent) || parent === path ? parent : existingParent(parent)
}

function canWrite(path: string): boolean {
  try {
    accessSync(path, constants.W_OK)
    return true
  } catch {
    return false
  }
}

function messageOf(failure: unknown): string {
  return failure instanceof Error ? failure.message : String(failure)
}
