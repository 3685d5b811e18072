// Builds the sealing of the audit logs. The background process seals; a process without one seals on demand.

import { join } from 'node:path'
import { auditSigningsKind, openSigningKey, type SigningKeyDeps, verifierKeysOf } from '../audit/audit-signing.ts'
import { createAuditReads } from '../audit/read/audit-reads.ts'
import type { AuditReads } from '../audit/read/read-operations.ts'
import { AuditSealer } from '../audit/seal/audit-sealer.ts'
import { CustomerSignatures } from '../audit/seal/customer-signatures.ts'
import { PlatformKeys } from '../audit/seal/platform-keys.ts'
import { organizationsKind, projectsKind } from '../config/kind.ts'
import type { Provisioner } from '../config/provisioning.ts'
import { openSecret } from '../config/secrets.ts'
import { operationEvent } from '../events/operation-record.ts'
import { operatingSystemUser } from '../events/recorders/operating-system-user.ts'
import { noContext } from '../events/routes.ts'
import { OperationalError } from '../kernel/errors.ts'
import { AUDIT_STREAM } from '../kernel/folder/audit-stream.ts'
import {
  AUDIT_ALIVE_FILE,
  AUDIT_COMMIT_FILE,
  AUDIT_FOLDER,
  AUDIT_INDEX_FOLDER,
  AUDIT_LOGS_FOLDER,
  AUDIT_SEALED_FILE,
  AUDIT_SIGNATURE_DUE_FILE,
  AUDIT_SIGNATURE_FAILURES_FILE,
  AUDIT_UNSEALED_FILE,
  CONFIGURATION_COMMIT_FILE,
  EVENTS_COMMIT_FILE,
  GRAPHS_COMMIT_FILE,
} from '../kernel/folder/data-folder.ts'
import { backoffMs } from '../kernel/time/backoff.ts'
import type { AuditTotals } from '../ops/service-metrics.ts'
import { AuditHeads } from '../store/audit/audit-heads.ts'
import { AuditIndex } from '../store/audit/audit-index.ts'
import { openWhenUnwritten } from '../store/lmdb/open-file.ts'
import { LeaderElection } from '../store/process/leader-election.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { listProjectFolders, projectFolderName } from '../store/tenancy/project-folders.ts'
import type { EventRecording } from './events.ts'
import type { Platform } from './platform.ts'

/** The task of the election: one process seals. */
const TASK = 'audit-sealing'
/** How long the deletion of a project waits until its records are sealed. After that the sealer deletes its graphs. */
const DELETION_WAIT_MS = 3000
const DELETION_POLL_MS = 50
/** Delay before a failed start of the sealing is repeated. It doubles up to the maximum. */
const startRetryDelay = { minMs: 1000, maxMs: 32_000 }

/** Opens the index of the audit logs of a data folder, and creates it if necessary. Rejects with OperationalError. */
export function openAuditIndex(dataDir: string, sync: boolean): Promise<AuditIndex> {
  const path = join(dataDir, AUDIT_FOLDER, AUDIT_INDEX_FOLDER)
  const commitCounter = openSharedCounter(join(dataDir, AUDIT_COMMIT_FILE))
  return openWhenUnwritten(path, () => new AuditIndex(path, { sync, commitCounter }))
}

/** The collaborators of the clients of customers' keys. */
export function signingKeyClients({ sealer, upstream }: Platform): Omit<SigningKeyDeps, 'isFailing'> {
  return {
    upstream,
    openSecret: (document, path) => openSecret(document, path, sealer),
    environment: process.env,
  }
}

/** The audit logs of this process. */
export class AuditTrail {
  private readonly platform: Platform
  private readonly events: EventRecording
  private readonly sync: boolean
  private readonly elections: LeaderElection
  private opening: Promise<AuditIndex> | null = null
  private sealing: Promise<AuditSealer> | null = null
  private sealer: AuditSealer | null = null
  private startTimer: ReturnType<typeof setTimeout> | null = null
  private isClosing = false

  /** `sync`: false: commits are not flushed to disk. */
  constructor(platform: Platform, events: EventRecording, sync: boolean) {
    this.platform = platform
    this.events = events
    this.sync = sync
    this.elections = new LeaderElection(platform.settings.dataDir)
  }

  /** Opens the index when it is first needed. Rejects with OperationalError. */
  index(): Promise<AuditIndex> {
    this.opening ??= openAuditIndex(this.platform.settings.dataDir, this.sync).catch((failure: unknown) => {
      this.opening = null
      throw failure
    })
    return this.opening
  }

  /** Seals from now on, as soon as no other process does. */
  start(): void {
    this.elections.campaign(TASK, () => this.startSealer(1))
  }

  /** Tries again until it succeeds: the disk may be full, which is no reason to seal nothing until the next start. */
  private startSealer(attempt: number): void {
    const retryMs = backoffMs(startRetryDelay, attempt)
    this.createSealer().then(
      (sealer) => {
        if (!this.isClosing) sealer.start()
      },
      (failure: unknown) => {
        if (this.isClosing) return
        // Reported again only when the delay is at its maximum.
        if (attempt === 1 || retryMs === startRetryDelay.maxMs)
          this.platform.report(`audit records cannot be sealed: ${String(failure)}`)
        this.startTimer = setTimeout(() => this.startSealer(attempt + 1), retryMs)
      },
    )
  }

  /**
   * Seals everything that was recorded before the call. Rejects with OperationalError if another process seals, and with the error
   * if something cannot be sealed. `isTrimmed`: false: the sealed records stay in the outboxes until later.
   */
  async sealAll(isTrimmed = true): Promise<void> {
    await this.events.activity.settled()
    if (this.sealing === null) {
      let isLeading = false
      this.elections.campaign(TASK, () => {
        isLeading = true
      })
      if (!isLeading) throw new OperationalError('another process seals the audit logs of this data folder')
      this.sealing = this.createSealer()
    }
    await (await this.sealing).sealAll(isTrimmed)
  }

  /**
   * Deletes the graphs of a project, after their records are sealed. If they cannot be sealed soon, the process that seals deletes
   * them later. `isSealedHere`: no other process seals.
   */
  async deleteGraphs(projectId: string, isSealedHere: boolean): Promise<void> {
    const { catalog, report } = this.platform
    if (isSealedHere) {
      try {
        await this.sealAll(false)
      } catch (failure) {
        report(`the graphs of the deleted project ${projectId} are left until they are sealed: ${String(failure)}`)
        return
      }
    } else {
      const endMs = performance.now() + DELETION_WAIT_MS
      while (!(await this.isSealed(projectId))) {
        if (performance.now() >= endMs) return
        await new Promise((resolve) => setTimeout(resolve, DELETION_POLL_MS))
      }
    }
    await catalog.delete(projectId)
  }

  /** Whether all records of the graphs of a project are sealed. */
  private async isSealed(projectId: string): Promise<boolean> {
    const cursors = (await this.index()).cursors(projectFolderName(projectId))
    return this.platform.catalog.withOutboxes(projectId, async (graphs) =>
      graphs.every(({ part, outbox }) => {
        const status = outbox.status(AUDIT_STREAM)
        const cursor = cursors.get(`graph/${part}`)
        return status === null || status.next === 1 || (cursor?.origin === status.origin && cursor.next >= status.next)
      }),
    )
  }

  /** Waits for the sealing in progress and closes the index. */
  async close(): Promise<void> {
    this.isClosing = true
    if (this.startTimer !== null) clearTimeout(this.startTimer)
    await this.sealing?.catch(() => undefined)
    await this.sealer?.close()
    this.elections.close()
    await (await this.opening?.catch(() => undefined))?.close()
  }

  /** Removes readers of killed processes. */
  clearStaleReaders(): void {
    this.opening?.then((index) => index.clearStaleReaders()).catch(() => undefined)
  }

  private async createSealer(): Promise<AuditSealer> {
    const index = await this.index()
    const { settings, clock, documents, collections, catalog, sealer, log } = this.platform
    const { dataDir } = settings
    const { openFolderIfPresent } = this.events
    const counters = [GRAPHS_COMMIT_FILE, CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE].map((file) =>
      openSharedCounter(join(dataDir, file)),
    )
    const state = sharedState(dataDir)
    const indexCounter = openSharedCounter(join(dataDir, AUDIT_COMMIT_FILE))
    const configurationCounter = openSharedCounter(join(dataDir, CONFIGURATION_COMMIT_FILE))
    let counted = Number.NaN
    const created = new AuditSealer({
      index,
      heads: new AuditHeads(collections),
      keys: new PlatformKeys(index, sealer, clock),
      sealer,
      folder: join(dataDir, AUDIT_FOLDER, AUDIT_LOGS_FOLDER),
      origin: settings.auditOrigin,
      clock,
      signatures: new CustomerSignatures({
        index,
        clock,
        intervalMs: settings.auditSignatureIntervalS * 1000,
        commits: () => indexCounter.load() + configurationCounter.load(),
        configurations: () => documents.all(auditSigningsKind),
        pastRevision: (id, revision) => documents.pastRevision(auditSigningsKind, id, revision),
        openKey: (document, { provider }) => openSigningKey(document, provider, signingKeyClients(this.platform)),
        logId: projectFolderName,
        onFailure: () => state.signatureFailures.increment(),
        onOverdue: (sinceMs) => state.signatureDue.store(sinceMs === null ? 0 : Math.floor(sinceMs / 1000)),
        log,
      }),
      configuration: collections.outbox,
      activity: openFolderIfPresent,
      catchUp: () => documents.catchUp(),
      commits: () => counters.reduce((sum, counter) => sum + counter.load(), 0),
      indexCommits: () => indexCounter.load(),
      projects: () => documents.all(projectsKind).map(({ id }) => id),
      projectFolders: () => listProjectFolders(dataDir),
      isOrganization: (id) => documents.get(organizationsKind, id) !== null,
      logId: projectFolderName,
      graphFiles: (projectId) => catalog.graphFiles(projectId),
      withGraphs: (projectId, work) => catalog.withOutboxes(projectId, work),
      deleteGraphs: (projectId) => catalog.delete(projectId),
      onRotated: (kid) => this.recordRotation(kid),
      rotationDays: settings.auditKeyRotationDays,
      retentionDays: settings.auditRetentionDays,
      onState(unsealed, isFailing) {
        state.unsealed.store(unsealed)
        const commits = indexCounter.load()
        if (commits !== counted) state.sealed.store(index.sealedEntries() % 2 ** 32)
        counted = commits
        if (!isFailing) state.alive.store(Math.floor(Date.now() / 1000))
      },
      log,
    })
    this.sealer = created
    return created
  }

  /** The record of a rotation by schedule; that of the command is its own. */
  private recordRotation(keyId: string): void {
    const { clock, organizationId } = this.platform
    const { sinks, activity } = this.events
    const type = 'svc.audit.operations.auditkey.rotate'
    const routes = sinks.routesOfOrganization(organizationId)
    const providers = routes?.ofType(type)?.match(noContext) ?? 0
    if (routes === null || providers === 0) return
    const ready = operationEvent(type, operatingSystemUser(), { outcome: 'ok', keyId }, clock.now())
    activity.record({ routes, type, providers, encode: () => ready })
  }
}

/** Builds the reads of auditors. */
export function createAuditReadsOf(
  { settings, documents, organizationId, onInternalError }: Platform,
  trail: AuditTrail,
): AuditReads {
  return createAuditReads({
    index: () => trail.index(),
    folder: join(settings.dataDir, AUDIT_FOLDER, AUDIT_LOGS_FOLDER),
    publicUrl: settings.publicUrl.replace(/\/+$/, ''),
    documents,
    organizationId,
    logId: projectFolderName,
    customerKeys: (projectId) => verifierKeysOf(documents, projectId),
    onFailure: onInternalError,
  })
}

function sharedState(dataDir: string) {
  const open = (file: string) => openSharedCounter(join(dataDir, file))
  return {
    alive: open(AUDIT_ALIVE_FILE),
    unsealed: open(AUDIT_UNSEALED_FILE),
    sealed: open(AUDIT_SEALED_FILE),
    signatureDue: open(AUDIT_SIGNATURE_DUE_FILE),
    signatureFailures: open(AUDIT_SIGNATURE_FAILURES_FILE),
  }
}

/** Returns a function that reads the state of the sealing, which any process of the folder may do. */
export function auditTotals(dataDir: string): () => AuditTotals {
  const { alive, unsealed, sealed, signatureDue, signatureFailures } = sharedState(dataDir)
  const startedS = Date.now() / 1000
  return () => ({
    unsealed: unsealed.load(),
    sealed: sealed.load(),
    // Before the first time, since the start of this process.
    ageS: Math.max(0, Date.now() / 1000 - (alive.load() || startedS)),
    signatureOverdueS: signatureDue.load() === 0 ? 0 : Math.max(0, Date.now() / 1000 - signatureDue.load()),
    signatureFailures: signatureFailures.load(),
  })
}

/** The provisioner of the catalog, which deletes graphs after their records are sealed. */
export function sealingProvisioner(
  catalog: Provisioner,
  deleteGraphs: (projectId: string) => Promise<void>,
): Provisioner {
  return {
    create: (projectId, layout) => catalog.create(projectId, layout),
    delete: deleteGraphs,
    completeProxies: (projectId) => catalog.completeProxies(projectId),
    replayIntents: (projectId) => catalog.replayIntents(projectId),
    openAll: (projectId) => catalog.openAll(projectId),
    holdsData: (projectId, constituent) => catalog.holdsData(projectId, constituent),
  }
}
