// Whether it was for want of room that a change could not be brought to disk. LMDB tells of it by any of several codes, so
// where it does not say so itself the system is asked: how much room its disk has, how long the file may become, and whether
// this user may have more.
import { closeSync, ftruncateSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { constants } from 'node:os'

/** With less room than that, a failed commit is told as one that had none. */
const FREE_MIN_BYTES = 64 * 2 ** 20
/** What the failed commit wrote of itself keeps its room: of a quota that it used up, there is not much left. */
const PROBE_BYTES = 2 ** 20

/** What was lacking at a commit, for the operator; null when it was something else. */
export function diskFullReason(failure: unknown, folder: string, file: string): string | null {
  const told = diskFullReasonOf(failure)
  if (told !== null) return told
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
    // Without taking room: only its length counts.
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

/** By the names of the system's codes, and by their numbers, which are what LMDB has of them. */
const reasonsByCode = new Map<unknown, string>([
  ...['ENOSPC', ENOSPC].map((code) => [code, 'the disk is full'] as const),
  ...['EDQUOT', EDQUOT].map((code) => [code, 'this user has used up what the disk grants it'] as const),
  ...['EFBIG', EFBIG].map((code) => [code, 'a file may not become as long (`ulimit -f`)'] as const),
])

/** What a write to a file lacked; null when it was no room. */
export function diskFullReasonOf(failure: unknown): string | null {
  return reasonsByCode.get((failure as { code?: unknown } | null)?.code) ?? null
}
