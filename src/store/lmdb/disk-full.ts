// Determines whether a commit failed for lack of disk space. LMDB reports this with several error codes. If the code is
// ambiguous, the system is queried: free space of the disk, file size limit, and quota of this user.
import { closeSync, ftruncateSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { constants } from 'node:os'

/** With less free space than this, a failed commit is attributed to a full disk. */
const FREE_MIN_BYTES = 64 * 2 ** 20
/** The failed commit keeps the space of what it wrote, so little of an exhausted quota is left. */
const PROBE_BYTES = 2 ** 20

/**
 * Returns why the commit of `file` in `folder` could not be written, or null if disk space was not the reason. Writes and
 * removes a probe file of 1 MiB next to `file`.
 */
export function diskFullReason(failure: unknown, folder: string, file: string): string | null {
  const reason = diskFullReasonOf(failure)
  if (reason !== null) return reason
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize < FREE_MIN_BYTES ? 'the disk is full' : probeQuota(file)
  } catch {
    return null
  }
}

function probeQuota(file: string): string | null {
  const path = `${file}.${process.pid}.probe`
  const probe = openSync(path, 'w', 0o600)
  try {
    // Extends the length without allocating space.
    ftruncateSync(probe, statSync(file).size + FREE_MIN_BYTES)
    const bytes = new Uint8Array(PROBE_BYTES)
    for (let at = 0; at < bytes.length; ) at += writeSync(probe, bytes, at)
    return null
  } catch (failure) {
    return diskFullReasonOf(failure)
  } finally {
    closeSync(probe)
    rmSync(path, { force: true })
  }
}

const { ENOSPC, EDQUOT, EFBIG } = constants.errno

/** By name of the error code, and by errno, which LMDB reports. */
const reasonsByCode = new Map<unknown, string>([
  ...['ENOSPC', ENOSPC].map((code) => [code, 'the disk is full'] as const),
  ...['EDQUOT', EDQUOT].map((code) => [code, 'the disk quota of this user is exhausted'] as const),
  ...['EFBIG', EFBIG].map((code) => [code, 'the file size limit is reached (`ulimit -f`)'] as const),
])

/** Returns the reason if the error of a write means a lack of disk space, or null. */
export function diskFullReasonOf(failure: unknown): string | null {
  return reasonsByCode.get((failure as { code?: unknown } | null)?.code) ?? null
}
