// Builds the audit logs: their sealing, the signatures of customers' keys, and the reads of auditors.

import { join } from 'node:path'
import { auditSigningsKind, openSigningKey, type SigningKeyDeps, verifierKeysOf } from '../audit/audit-signing.ts'
import { createAuditReads } from '../audit/read/audit-reads.ts'
import type { AuditReads } from '../audit/read/read-operations.ts'
import { AuditSealer } from '../audit/seal/audit-sealer.ts'
import { AuditTrail } from '../audit/seal/audit-trail.ts'
import { CustomerSignatures } from '../audit/seal/customer-signatures.ts'
import { PlatformKeys } from '../audit/seal/platform-keys.ts'
import { sealingReports } from '../audit/seal/sealing-state.ts'
import { organizationsKind, projectsKind } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { operationEvent } from '../events/operation-record.ts'
import { operatingSystemUser } from '../events/recorders/operating-system-user.ts'
import { noContext } from '../events/sink-routes.ts'
import {
  AUDIT_COMMIT_FILE,
  AUDIT_FOLDER,
  AUDIT_LOGS_FOLDER,
  CONFIGURATION_COMMIT_FILE,
  EVENTS_COMMIT_FILE,
  GRAPHS_COMMIT_FILE,
} from '../kernel/folder/data-folder.ts'
import { AuditHeads } from '../store/audit/audit-heads.ts'
import type { AuditIndex } from '../store/audit/audit-index.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { listProjectFolders, projectFolderName } from '../store/tenancy/project-folders.ts'
import type { EventRecording } from './events.ts'
import type { Platform } from './open-store.ts'

/** The collaborators of the clients of customers' keys. */
function signingKeyClients({
  process: { upstream },
  configuration: { sealer },
}: Platform): Omit<SigningKeyDeps, 'isFailing'> {
  return {
    upstream,
    openSecret: (document, path) => openSecret(document, path, sealer),
    environment: process.env,
  }
}

/** The collaborators of the trial of a signing key. */
export function signingKeyDeps(platform: Platform, audit: AuditTrail): SigningKeyDeps {
  return {
    ...signingKeyClients(platform),
    async isFailing(id) {
      if (platform.process.settings.audit !== 'on') return false
      const state = (await audit.index()).keyState(id)
      return state !== null && state.error !== ''
    },
  }
}

/** Builds the audit logs of this process. `sync`: false: commits are not flushed to disk. */
export function createAuditTrail(platform: Platform, events: EventRecording, sync: boolean): AuditTrail {
  const {
    process: { settings },
    reports: { report },
    graphs: { catalog },
  } = platform
  return new AuditTrail({
    dataDir: settings.dataDir,
    sync,
    report,
    catalog,
    signal: platform.process.signal,
    settled: () => events.activity.settled(),
    createSealer: (index) => createSealer(platform, events, index),
  })
}

function createSealer(platform: Platform, events: EventRecording, index: AuditIndex): AuditSealer {
  const {
    process: { settings, clock },
    reports: { log },
    configuration: { documents, collections, sealer },
    graphs: { catalog },
  } = platform
  const { dataDir } = settings
  const { openFolderIfPresent } = events
  const counters = [GRAPHS_COMMIT_FILE, CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE].map((file) =>
    openSharedCounter(join(dataDir, file)),
  )
  const reports = sealingReports(dataDir)
  const indexCounter = openSharedCounter(join(dataDir, AUDIT_COMMIT_FILE))
  const configurationCounter = openSharedCounter(join(dataDir, CONFIGURATION_COMMIT_FILE))
  let counted = Number.NaN
  return new AuditSealer({
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
      openKey: (document, { provider }) => openSigningKey(document, provider, signingKeyClients(platform)),
      logId: projectFolderName,
      onFailure: reports.signatureFailed,
      onOverdue: reports.signatureOverdue,
      log,
    }),
    signal: platform.process.signal,
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
    onRotated: (kid) => recordRotation(platform, events, kid),
    rotationDays: settings.auditKeyRotationDays,
    retentionDays: settings.auditRetentionDays,
    onState(unsealed, isFailing) {
      const commits = indexCounter.load()
      reports.sealed(unsealed, commits === counted ? null : index.sealedEntries(), isFailing)
      counted = commits
    },
    log,
  })
}

/** The record of a rotation by schedule; that of the command is its own. */
function recordRotation(
  { process: { clock }, configuration: { organizationId } }: Platform,
  { sinks, activity }: EventRecording,
  keyId: string,
): void {
  const type = 'svc.audit.operations.auditkey.rotate'
  const routes = sinks.routesOfOrganization(organizationId)
  const providers = routes?.ofType(type)?.match(noContext) ?? 0
  if (routes === null || providers === 0) return
  const ready = operationEvent(type, operatingSystemUser(), { outcome: 'ok', keyId }, clock.now())
  activity.record({ routes, type, providers, encode: () => ready })
}

/** Builds the reads of auditors. */
export function createAuditReadsOf(
  { process: { settings }, reports: { onInternalError }, configuration: { documents, organizationId } }: Platform,
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
