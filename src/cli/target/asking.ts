// Opens a graph for a command. Every error of a command that asks has the exit code 2, so that 1 only means "denied".
import { CliError } from '../output/cli-error.ts'
import { exitCodes } from '../output/exit-codes.ts'
import { openTarget, type Target, type TargetFlags } from './target.ts'

/** Opens the graph for the time of `ask`. Rejects with CliError with the exit code 2 for every error. */
export async function asking<T>(flags: TargetFlags, ask: (target: Target) => Promise<T>): Promise<T> {
  return withErrorCode(async () => {
    await using target = await openTarget(flags)
    return await ask(target)
  })
}

/** Runs a part of a command. An error ends it with the exit code 2. */
export async function withErrorCode<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw new CliError(errorLinesOf(error), exitCodes.usage.code)
  }
}

/** The lines of an error of a command. */
export function errorLinesOf(error: unknown): readonly string[] {
  if (error instanceof CliError) return error.lines.map(withHint)
  if (!(error instanceof Error)) return [String(error)]
  // A bug: its place is needed to report it.
  return [isSystemError(error) ? error.message : (error.stack ?? error.message)]
}

/** The service names the parameter, and the command knows the option. */
function withHint(line: string): string {
  const name = /^missing or wrong input params, '(.*)'$/.exec(line)?.[1]
  return name === undefined ? line : `the policies read $${name}: pass --param ${name}=VALUE`
}

function isSystemError(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException
  return typeof code === 'string' && typeof syscall === 'string'
}
