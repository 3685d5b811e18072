// Waits for what a commit brings about: in a data folder of this process or of others.
import { CommitWaiter } from '../../src/store/process/commit-waiter.ts'

const TIMEOUT_MS = 60_000

/**
 * Resolves when the condition holds, which is checked after each commit on the data folder. Throws after a minute. `what`: for the
 * message.
 */
export async function untilCommitted(
  dataDir: string,
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  if (await new CommitWaiter(dataDir).until(condition, TIMEOUT_MS)) return
  throw new Error(`within a minute no commit on ${dataDir} has brought about: ${what}`)
}
