// The state of the sealing in memory that the processes of a data folder share: one process seals, and any of them shows its metrics.
import { join } from 'node:path'
import {
  AUDIT_ALIVE_FILE,
  AUDIT_SEALED_FILE,
  AUDIT_SIGNATURE_DUE_FILE,
  AUDIT_SIGNATURE_FAILURES_FILE,
  AUDIT_UNSEALED_FILE,
} from '../../kernel/folder/data-folder.ts'
import type { AuditTotals } from '../../ops/service-metrics.ts'
import { openSharedCounter } from '../../store/process/shared-counter.ts'

/** The reports of the process that seals. */
interface SealingReports {
  /** `unsealed`: records that wait. `sealed`: entries in all logs; null: unchanged. `isFailing`: something cannot be sealed. */
  sealed(unsealed: number, sealed: number | null, isFailing: boolean): void
  signatureFailed(): void
  /** `sinceMs`: since when a signature is overdue; null: none is. */
  signatureOverdue(sinceMs: number | null): void
}

/** Returns the reports of the process that seals. */
export function sealingReports(dataDir: string): SealingReports {
  const state = sharedState(dataDir)
  return {
    sealed(unsealed, sealed, isFailing) {
      state.unsealed.store(unsealed)
      if (sealed !== null) state.sealed.store(sealed % 2 ** 32)
      if (!isFailing) state.alive.store(Math.floor(Date.now() / 1000))
    },
    signatureFailed: () => state.signatureFailures.increment(),
    signatureOverdue: (sinceMs) => state.signatureDue.store(sinceMs === null ? 0 : Math.floor(sinceMs / 1000)),
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
