// The end of a process that a service has started: its last line belongs to the log of the service, which is JSON.

import { openProcessLog } from '../../app/process-log.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { fileProblemOf } from '../../kernel/folder/file-issue.ts'
import { systemClock } from '../../kernel/time/clock.ts'
import { type ChildKind, childKinds } from '../../processes/child-kinds.ts'
import { defaultSettings, type Settings } from '../../settings.ts'

/** Returns a function that logs why a process of a kind ends, by the settings of its task. */
export function logFailureOf(kind: ChildKind): (failure: unknown, task: { readonly settings: unknown } | null) => void {
  return (failure, task) => {
    const settings = (task?.settings ?? defaultSettings) as Settings
    logFailure(settings, `${childKinds[kind].label} failed`, failure)
  }
}

/** Logs why a process ends. An error that the operator can mend has a reason; another one has a stack. */
export function logFailure(settings: Settings, message: string, failure: unknown, about: object = {}): void {
  const log = openProcessLog(settings, systemClock)
  const problem = failure instanceof OperationalError ? failure.message : fileProblemOf(failure)
  const cause =
    problem !== null
      ? { reason: problem }
      : failure instanceof Error
        ? { reason: failure.message, stack: failure.stack }
        : { reason: String(failure) }
  log({ level: 'error', message, ...about, ...cause })
}
