// The routes of the operator: figures of the service, its settings, and backups (docs/decisions/0055-operator-endpoints.md). They are about
// the whole data folder, so only accounts of the organization of the service may call them.
import { z } from 'zod'
import type { ServiceError } from '../../kernel/errors.ts'
import type { ServiceAccountCaller } from '../../kernel/request/caller.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { failWhenRevoked } from '../revocable-stream.ts'
import {
  type ByteStream,
  errorStatuses,
  type RequestContext,
  type Route,
  type RouteResponse,
  type Tag,
} from '../route.ts'
import { serviceAccountOf } from './callers.ts'

const tag: Tag = {
  name: 'Operator',
  description: 'Figures, settings and backups of the whole service, for its operator.',
}

/** Since the start of the process. */
const count = z.number()
const laneFigures = z
  .object({
    ready: count,
    running: count,
    waiting: count.describe('requests in the queue'),
    killed: count,
    answered: count,
  })
  .meta({ id: 'LaneFigures' })
const workerFigures = z
  .object({
    worker: z.int().describe('1 if there is one process only'),
    is_answering: z.boolean().describe('false: it did not answer in time, and has no figures'),
    figures: z
      .object({
        start_time: z.string(),
        cpu_seconds: count,
        resident_bytes: count.describe('including mapped pages of the store'),
        granted: count,
        denied: count,
        searches: count,
        questions_refused: count,
        policy_faults: count,
        captured_items: count,
        requests: count,
        server_errors: count.describe('answers with a status from 500'),
        evaluation_times: z.array(count).describe('evaluations in each bucket of `duration_bounds_s`, and above them'),
        lanes: laneFigures.nullable().describe('null: the process has no lanes'),
        graphs_open: count,
        cache_bytes: count.describe('the memory caches of the open graphs'),
      })
      .meta({ id: 'ProcessFigures' })
      .nullable(),
  })
  .meta({ id: 'WorkerFigures' })
const statusSchema = z
  .object({
    time: z.string(),
    version: z.string(),
    duration_bounds_s: z.array(z.number()).describe('the upper bounds of the buckets, in seconds'),
    cache_bytes_max: count.describe('of one graph in one process'),
    workers: z.array(workerFigures).describe('all of them, whichever answers'),
    connections: z
      .array(
        z
          .object({
            kind: z.enum(['resolver', 'token-introspect']),
            id: z.string(),
            succeeded: count,
            failed: count,
            last_success_time: z.string().nullable(),
            last_failure_time: z.string().nullable(),
            last_failure: z.string().nullable(),
          })
          .meta({ id: 'ConnectionHealth' }),
      )
      .describe(
        'calls to resolvers and verifications of tokens since the start; a configuration that was not used is absent',
      ),
    storage: z
      .object({
        bytes: count.describe('all files of the data folder'),
        environments: z
          .array(
            z
              .object({
                kind: z.enum(['graph', 'configuration', 'events', 'audit']),
                project_id: z.string().describe('empty: it belongs to all projects'),
                path: z.string(),
                bytes: count,
              })
              .meta({ id: 'EnvironmentSize' }),
          )
          .describe('the largest ones, sorted by size'),
        environments_total: count,
      })
      .meta({ id: 'StorageFigures' }),
  })
  .meta({ id: 'ServiceStatus' })
/** The answer of the status. */
export type StatusAnswer = z.infer<typeof statusSchema>

const settingsSchema = z
  .object({
    settings: z.array(
      z
        .object({
          name: z.string(),
          section: z.string(),
          description: z.string(),
          value: z.union([z.string(), z.number()]).nullable().describe('null: it is a secret'),
          default: z.union([z.string(), z.number()]),
          origin: z
            .enum(['default', 'file', 'environment', 'flag', 'program'])
            .describe('`program`: set by the program that started the service'),
          source: z.string().nullable().describe('the flag, the variable, or the file; null: none'),
          is_secret: z.boolean(),
          is_set: z.boolean().describe('whether the value differs from the default'),
        })
        .meta({ id: 'ListedSetting' }),
    ),
  })
  .meta({ id: 'SettingList' })
/** The answer with the settings. */
export type SettingsAnswer = z.infer<typeof settingsSchema>

const backupSchema = z
  .object({
    name: z.string(),
    bytes: count.describe('0: there is no file yet'),
    is_encrypted: z.boolean().describe('for the setting `backup_recipients`; false: or there is no file yet'),
    state: z.enum(['running', 'complete', 'failed']),
    start_time: z.string(),
    end_time: z.string().nullable(),
    requested_by: z.string().describe('the service account; empty: the file was not made by this service'),
    projects: z.array(z.string()).nullable().describe('null: not known'),
    progress: z.number().describe('the share of the current job that is done, 0 to 1'),
    error: z.string().nullable(),
    verification: z
      .object({
        state: z.enum(['running', 'sound', 'damaged', 'failed']),
        start_time: z.string(),
        end_time: z.string().nullable(),
        error: z.string().nullable().describe('the first damage, or why the verification failed; null: none'),
      })
      .meta({ id: 'BackupVerification' })
      .nullable()
      .describe('the last one; null: it was never verified'),
  })
  .meta({ id: 'Backup' })
/** A backup in an answer. */
export type BackupAnswer = z.infer<typeof backupSchema>
const scheduledRunSchema = z
  .object({
    name: z.string().describe('the backup; empty: it failed before it had a name'),
    start_time: z.string(),
    end_time: z.string().nullable().describe('null: it is running, or its process ended early'),
    error: z.string().nullable().describe('null: it succeeded, or has not ended'),
  })
  .meta({ id: 'ScheduledRun' })
const backupScheduleSchema = z
  .object({
    place: z.string().describe('`file:///…` or `s3://bucket/prefix`'),
    jobs: z.array(
      z
        .object({
          job: z.enum(['backup', 'drill']),
          schedule: z.string().describe('the cron pattern, in UTC'),
          next_time: z.string().nullable(),
          overdue_seconds: count.describe('time since a run is due and not done; 0: none is due'),
          failed_runs: count.describe('since the last one that succeeded'),
          last_run: scheduledRunSchema.nullable(),
        })
        .meta({ id: 'ScheduledBackupJob' }),
    ),
    kept: count.describe('scheduled backups in the place after the last run'),
    newest: z
      .object({
        name: z.string(),
        made_at: z.string(),
        bytes: count.describe('as it is stored'),
        seconds: z.number().describe('how long the run took'),
        projects: count,
        verification: z
          .enum(['sound', 'stored', 'damaged', 'off'])
          .describe(
            '`sound`: read back, unpacked and verified; `stored`: the stored bytes are those that were written; `off`: not verified',
          ),
      })
      .meta({ id: 'NewestBackup' })
      .nullable(),
    proven: z
      .object({ name: z.string(), made_at: z.string(), proven_at: z.string() })
      .meta({ id: 'ProvenBackup' })
      .nullable()
      .describe('the newest backup that a scheduled drill has restored'),
  })
  .meta({ id: 'BackupSchedule' })
const shippingSchema = z
  .object({
    place: z.string().describe('`file:///…` or `s3://bucket/prefix`'),
    interval_ms: count,
    newest_moment: z
      .string()
      .nullable()
      .describe('the newest moment that can be restored; null: the first base was not shipped'),
    generation_time: z.string().nullable().describe('when all data was last shipped'),
    lag_seconds: count.nullable().describe('the age of `newest_moment`'),
    is_late: z.boolean().describe('true: nothing was shipped for a minute and two intervals'),
    objects: count.describe('shipped in the lifetime of the data folder, modulo 2^32'),
    bytes: count.describe('of these objects'),
    failures: count.describe('failed attempts, whose reasons are in the log'),
  })
  .meta({ id: 'Shipping' })
const backupListSchema = z
  .object({
    is_enabled: z.boolean().describe('false: the setting `backup_folder` names no folder'),
    backups: z.array(backupSchema).describe('those of `backup_folder`, the newest first'),
    schedule: backupScheduleSchema
      .nullable()
      .describe('scheduled backups and drills; null: the settings have no schedule'),
    shipping: shippingSchema.nullable().describe('of changes; null: the setting `ship_to` is empty'),
  })
  .meta({ id: 'BackupList' })
const createBackupSchema = z
  .strictObject({ project_id: z.string().optional().describe('absent: all projects') })
  .meta({ id: 'BackupCreate' })

/** The state of the shipping of changes in an answer. */
export type ShippingAnswer = z.infer<typeof shippingSchema>

/** Collaborators of the routes. */
export interface OperatorDeps {
  /** The only organization whose accounts may call them. */
  readonly organizationId: string
  /** Null: the setting `metrics_access` is `off`. */
  readonly status: (() => Promise<StatusAnswer>) | null
  settings(): SettingsAnswer
  readonly backups: {
    list(): z.infer<typeof backupListSchema>
    create(caller: ServiceAccountCaller, projectId: string | null): Promise<Result<BackupAnswer, ServiceError>>
    verify(caller: ServiceAccountCaller, name: string): Promise<Result<BackupAnswer, ServiceError>>
    read(name: string): Result<ByteStream & { readonly fileName: string }, ServiceError>
    delete(name: string): Promise<Result<null, ServiceError>>
  }
}

const foreignAccount: ServiceError = {
  kind: 'forbidden',
  message: 'the service account is not of the organization that operates the service',
}
const viewer: ServiceError = {
  kind: 'forbidden',
  message: 'the role `all_viewer` of the service account does not include settings and backups of the service',
}

type Checked = Result<ServiceAccountCaller, ServiceError>

/** Builds the routes. */
export function operatorRoutes(deps: OperatorDeps): Route[] {
  const reader = (context: RequestContext): Checked => {
    const caller = serviceAccountOf(context)
    return caller.organizationId === deps.organizationId ? ok(caller) : err(foreignAccount)
  }
  const operator = (context: RequestContext): Checked => {
    const caller = reader(context)
    return !caller.ok || caller.value.role === 'all_editor' ? caller : err(viewer)
  }
  return [...figureRoutes(deps, reader, operator), ...backupRoutes(deps, operator)]
}

const common = { tag, auth: { kind: 'service-account' }, request: null } as const

function figureRoutes(
  { status, settings }: OperatorDeps,
  reader: (context: RequestContext) => Checked,
  operator: (context: RequestContext) => Checked,
): Route[] {
  const statusRoute = (read: () => Promise<StatusAnswer>): Route => ({
    ...common,
    method: 'GET',
    path: '/operations/v1/status',
    operationId: 'readServiceStatus',
    summary: 'Read the figures of all workers and the sizes of the databases',
    description:
      'Counts since the start of each process: subtract two answers to get the counts of the time between them. Available unless the setting `metrics_access` is `off`. Any role may read it.',
    audit: 'none',
    query: z.strictObject({}),
    responses: { 200: statusSchema, ...errorStatuses(403, 422) },
    async handle(context) {
      const caller = reader(context)
      return caller.ok ? ok({ status: 200, body: await read() }) : caller
    },
  })
  return [
    ...(status === null ? [] : [statusRoute(status)]),
    {
      ...common,
      method: 'GET',
      path: '/operations/v1/settings',
      operationId: 'listSettings',
      summary: 'List the settings of the service with their origin',
      description: 'Secrets have no value in the answer. The role `all_editor` is required.',
      query: z.strictObject({}),
      responses: { 200: settingsSchema, ...errorStatuses(403, 422) },
      handle(context) {
        const caller = operator(context)
        return caller.ok ? ok({ status: 200, body: settings() }) : caller
      },
    },
  ]
}

function backupRoutes({ backups }: OperatorDeps, operator: (context: RequestContext) => Checked): Route[] {
  const path = '/operations/v1/backups'
  const one = { path: `${path}/{name}`, pathParameters: { name: 'the name of the backup, without the extension' } }
  const nameOf = (context: RequestContext): string => context.pathParameters.name ?? ''
  const answer = (status: number, result: Result<object, ServiceError>): Result<RouteResponse, ServiceError> =>
    result.ok ? ok({ status, body: result.value }) : result
  return [
    {
      ...common,
      method: 'GET',
      path,
      operationId: 'listBackups',
      summary: 'List the backups',
      query: z.strictObject({}),
      responses: { 200: backupListSchema, ...errorStatuses(403, 422) },
      handle(context) {
        const caller = operator(context)
        return caller.ok ? ok({ status: 200, body: backups.list() }) : caller
      },
    },
    {
      ...common,
      method: 'POST',
      path,
      operationId: 'createBackup',
      summary: 'Start a backup',
      description:
        'A consistent copy of all databases, made by another process while the service answers. One job works at a time. The file does not contain the master key. The setting `backup_folder` must name a folder, and the role `all_editor` is required.',
      request: createBackupSchema,
      example: {},
      responses: { 202: backupSchema, ...errorStatuses(400, 403, 404, 409, 413, 415, 422) },
      async handle(context, body) {
        const caller = operator(context)
        if (!caller.ok) return caller
        const { project_id = null } = body as z.infer<typeof createBackupSchema>
        return answer(202, await backups.create(caller.value, project_id))
      },
    },
    {
      ...common,
      ...one,
      method: 'GET',
      operationId: 'downloadBackup',
      summary: 'Download a backup',
      description:
        'The file that `verdigraph restore` reads. It contains the data of all its projects. It is sent in chunks, and `bytes` of the backup is its length. The connection is closed early if the credentials are revoked while it is sent.',
      mediaType: 'application/octet-stream',
      responses: { 200: z.string(), ...errorStatuses(403, 404, 409) },
      responseHeaders: {
        'Content-Disposition': 'the name of the file',
        'X-Content-Type-Options': 'nosniff',
      },
      handle(context) {
        const caller = operator(context)
        if (!caller.ok) return caller
        const file = backups.read(nameOf(context))
        if (!file.ok) return file
        const headers = {
          'content-type': 'application/octet-stream',
          // The name has letters, digits, `-`, `_` and the extension only.
          'content-disposition': `attachment; filename="${file.value.fileName}"`,
          'x-content-type-options': 'nosniff',
        }
        const { bytes, open } = file.value
        const openAllowed = () => failWhenRevoked(open(), () => context.isStillAuthenticated())
        return ok({ status: 200, bytes: { bytes, open: openAllowed }, headers })
      },
    },
    {
      ...common,
      method: 'POST',
      path: `${one.path}/verify`,
      pathParameters: one.pathParameters,
      operationId: 'verifyBackup',
      summary: 'Start the verification of a backup',
      description:
        'Unpacks the backup next to it, compares it with its manifest, reads every database, and removes the copy. The result is in the backup.',
      responses: { 202: backupSchema, ...errorStatuses(403, 404, 409) },
      async handle(context) {
        const caller = operator(context)
        return caller.ok ? answer(202, await backups.verify(caller.value, nameOf(context))) : caller
      },
    },
    {
      ...common,
      ...one,
      method: 'DELETE',
      operationId: 'deleteBackup',
      summary: 'Delete a backup',
      responses: { 204: null, ...errorStatuses(403, 404, 409) },
      async handle(context) {
        const caller = operator(context)
        if (!caller.ok) return caller
        const deleted = await backups.delete(nameOf(context))
        return deleted.ok ? ok({ status: 204 }) : deleted
      },
    },
  ]
}
