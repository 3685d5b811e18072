// The command `trust run`: runs a pass of a trust score profile. If the folder is served, the background process of the service runs
// it, and the command waits for its end.

import { openConfiguration, openRepository } from '../../app/configuration.ts'
import type { App } from '../../app.ts'
import type { ConfigRepository } from '../../config/repository.ts'
import { openSharedConfiguration, type SharedConfiguration } from '../../config/shared/shared-configuration.ts'
import { operatingSystemUser } from '../../events/recorders/operating-system-user.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { mintGid } from '../../kernel/ids.ts'
import { systemClock, timestamp } from '../../kernel/time/clock.ts'
import type { Settings } from '../../settings.ts'
import { isFolderLocked } from '../../store/process/folder-lock.ts'
import { type RunRequest, runOf } from '../../trust/run-state.ts'
import { trustScoreProfilesKind } from '../../trust/trust-score-profile.ts'
import { type PassResult, requestRun } from '../../trust/trust-scoring.ts'
import { recorded } from '../folder/record-operation.ts'
import { CliError } from '../output/cli-error.ts'
import { printJson, printLine, printNotice } from '../output/print.ts'
import { progressLine } from '../output/progress.ts'

/** Pause between two looks at the progress of the service, in milliseconds. */
const POLL_MS = 100
/** How long the service may take to begin the pass. It runs one pass at a time. */
const START_TIMEOUT_MS = 60_000

/** Runs `trust run`. `profileId`: of the profile. Rejects with CliError if there is no such profile, or the pass fails. */
export async function runTrustPass(settings: Settings, profileId: string, json: boolean): Promise<void> {
  const result = await recorded(
    settings,
    'svc.audit.operations.trust.run',
    { profile: profileId },
    () => passOf(settings, profileId),
    ({ runId }) => ({ runId }),
  )
  if (json) printJson(result)
  else {
    const { nodesScored, scoresWritten, scoresRemoved } = result
    printLine(`${nodesScored} nodes scored, ${scoresWritten} scores written, ${scoresRemoved} removed`)
  }
}

async function passOf(settings: Settings, profileId: string): Promise<PassResult> {
  const { dataDir } = settings
  const user = operatingSystemUser()
  const by = user.type === 'operating-system-user' ? user.name || user.id : ''
  const served = (): Promise<PassResult | null> =>
    withDocuments(settings, async (documents) => {
      if (documents.get(trustScoreProfilesKind, profileId) === null)
        throw new CliError([`${dataDir} has no trust score profile \`${profileId}\``])
      if (!isFolderLocked(dataDir)) return null
      const nowMs = systemClock.now()
      const request: RunRequest = { id: mintGid(nowMs), time: timestamp(nowMs), by }
      const requestId = await requestRun(documents, profileId, request)
      return waitForService(documents, profileId, requestId)
    })
  const result = await served()
  if (result !== null) return result
  const { createApp } = await import('../../app.ts')
  let app: App
  try {
    app = await createApp({ ...settings, lanes: 0 })
  } catch (failure) {
    // A service has just started.
    const late = failure instanceof OperationalError ? await served() : null
    if (late === null) throw failure
    return late
  }
  try {
    await app.scoreTrustOf(profileId, by)
  } finally {
    await app.close()
  }
  return withDocuments(settings, async (documents) => resultOf(documents, profileId))
}

async function withDocuments<T>(settings: Settings, work: (documents: ConfigRepository) => Promise<T>): Promise<T> {
  const { dataDir } = settings
  const collections = openConfiguration(dataDir, { sync: true })
  let shared: SharedConfiguration | null = null
  try {
    shared = await openSharedConfiguration(collections, settings, printNotice, null)
    // The profile may have been created through another instance just now.
    await shared?.catchUp()
    return await work(openRepository(shared ?? collections, dataDir))
  } finally {
    await shared?.close()
    await collections.close()
  }
}

/** `requestId`: null: the profile was deleted. */
async function waitForService(
  documents: ConfigRepository,
  profileId: string,
  requestId: string | null,
): Promise<PassResult> {
  const progress = progressLine('waiting for the service')
  let waitingSinceMs = performance.now()
  try {
    for (;;) {
      await Bun.sleep(POLL_MS)
      documents.catchUp()
      const fields = documents.get(trustScoreProfilesKind, profileId)?.fields
      if (fields === undefined) throw new CliError([`the profile ${profileId} was deleted`])
      const isPending = (fields.requested_run as RunRequest | undefined)?.id === requestId
      const run = runOf(fields)
      if (run !== null) {
        progress.show(run.nodesScored, run.nodesTotal, run.phase)
        waitingSinceMs = performance.now()
      } else if (!isPending) return resultOf(documents, profileId)
      else if (performance.now() - waitingSinceMs > START_TIMEOUT_MS)
        throw new CliError(['the service has not begun the pass within a minute; it will run it later'])
      if (!isPending && typeof fields.last_error === 'string' && fields.last_error !== '')
        throw new CliError([`the pass failed: ${fields.last_error}; the service will repeat it`])
    }
  } finally {
    progress.end()
  }
}

function resultOf(documents: ConfigRepository, profileId: string): PassResult {
  const fields = documents.get(trustScoreProfilesKind, profileId)?.fields ?? {}
  const { last_error: error = '', last_result: result } = fields
  if (error !== '') throw new CliError([`the pass failed: ${String(error)}`])
  // Folders of earlier versions may have several profiles of a type, of which the first one scores its nodes.
  if (result === undefined) throw new CliError(['no pass has run: another profile scores the nodes of this type'])
  return result as PassResult
}
